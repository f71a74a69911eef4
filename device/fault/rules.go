package fault

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tamtam/sai"
)

// mostInjected is how many faults there may be at once.
const mostInjected = 64

// stays is how long a fault is still told when it is over: it may have been short.
const stays = 10 * time.Second

// An Injected is a fault that is in force, or was just now.
type Injected struct {
	ID string
	At string // the daemon; "" of rules that are no daemon's
	Fault
	From, Until time.Time
	Hits        int    // how often it has met a call or a message
	Over        string // why it is over; "": it is in force
}

// Rules are the faults in force in a process. They are safe for concurrent use.
type Rules struct {
	at  string
	now func() time.Time

	mu   sync.Mutex
	last int // id
	list []*rule
}

// A rule is one of them.
type rule struct {
	Injected
	seen int       // calls or messages that it was asked about
	gone time.Time // when it was over
	// undo takes back what was done when it began; nil: there is nothing. Until that is done the fault is in force.
	undo func(context.Context) error
	why  string // it is to end: the reason
}

// NewRules returns none.
func NewRules(now func() time.Time) *Rules { return &Rules{now: now} }

// Add puts a fault of SAI or of notifications in force; the others need a [Desk].
func (r *Rules) Add(f Fault) (Injected, error) {
	n, err := r.next(f)
	if err != nil {
		return Injected{}, err
	}
	switch n.Kind {
	case SAIFail, SAIDelay, NotificationsLose, NotificationsDouble:
		r.put(n)
		return n.Injected, nil
	}
	return Injected{}, fmt.Errorf("fault %s: a desk does that", n.Kind)
}

// next is a fault that could be put in force now.
func (r *Rules) next(f Fault) (*rule, error) {
	f, err := Parse(f.Row())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	there := 0
	for _, n := range r.list {
		switch {
		case n.Over != "":
			continue
		case f.Kind == ClockStep && n.Kind == ClockStep && n.Of == f.Of,
			n.Kind == f.Kind && strings.HasPrefix(string(f.Kind), "redis-"):
			return nil, fmt.Errorf("fault %s: there is one already: %s, until %s", f.Kind, n.Fault, clock(n.Until))
		}
		there++
	}
	if there >= mostInjected {
		return nil, fmt.Errorf("fault %s: there are %d already, which is the most", f.Kind, there)
	}
	r.last++
	from := r.now()
	return &rule{Injected: Injected{
		ID: strconv.Itoa(r.last), At: r.at, Fault: f, From: from, Until: from.Add(f.For),
	}}, nil
}

func (r *Rules) put(n *rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, n)
}

// settle ends those whose time is over, and forgets those that have been over for long.
func (r *Rules) settle() {
	now := r.now()
	for _, n := range r.list {
		if n.Over == "" && n.why == "" && !now.Before(n.Until) {
			n.why = "its time is over"
		}
		if n.Over == "" && n.why != "" && n.undo == nil {
			n.Over, n.gone = n.why, now
		}
	}
	r.list = slices.DeleteFunc(r.list, func(n *rule) bool { return n.Over != "" && now.Sub(n.gone) > stays })
}

// List returns the faults that are in force, and those that were just now.
func (r *Rules) List() (all []Injected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	for _, n := range r.list {
		all = append(all, n.Injected)
	}
	return all
}

// Clear ends all faults and returns how many were in force.
func (r *Rules) Clear() (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	for _, n := range r.list {
		if n.Over == "" {
			n.why = "cleared"
			count++
		}
	}
	r.settle()
	return count
}

// undo takes back what those that are to end have done. What does not succeed is tried again.
func (r *Rules) undo(ctx context.Context) (err error) {
	r.mu.Lock()
	r.settle()
	var due []*rule
	for _, n := range r.list {
		if n.Over == "" && n.why != "" {
			due = append(due, n)
		}
	}
	r.mu.Unlock()
	for _, n := range due {
		if failed := n.undo(ctx); failed != nil {
			err = fmt.Errorf("fault %s: taking it back: %w", n.Kind, failed)
			continue
		}
		r.mu.Lock()
		n.undo = nil
		r.mu.Unlock()
	}
	return err
}

// meets returns the faults that meet a call or a message, and counts it.
func (r *Rules) meets(does func(Fault) bool) (met []Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return nil
	}
	r.settle()
	for _, n := range r.list {
		if n.Over != "" || !does(n.Fault) {
			continue
		}
		if n.seen++; n.seen%max(n.Every, 1) != 0 {
			continue
		}
		met = append(met, n.Fault)
		if n.Hits++; n.Hits == n.Count {
			n.why = fmt.Sprintf("it was to come %d times", n.Count)
		}
	}
	return met
}

// SAI returns an API in front of next whose calls meet the faults: all that are late make a call later, one of those
// that fail makes it fail.
func (r *Rules) SAI(next sai.API) sai.API { return &sai.Gate{API: next, Refuse: r.refuse} }

func (r *Rules) refuse(ctx context.Context, op sai.Op, t sai.ObjectType) (err error) {
	met := r.meets(func(f Fault) bool {
		return (f.Kind == SAIFail || f.Kind == SAIDelay) && (f.Op == 0 || f.Op == op) && (f.Type == 0 || f.Type == t)
	})
	late := time.Duration(0)
	for _, f := range met {
		late += f.Delay
		if f.Kind == SAIFail {
			err = &sai.CallError{Op: opWord(op), Type: t, Status: f.Status, Reason: "a fault on purpose"}
		}
	}
	if late > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(late, MostDelay)):
		}
	}
	return err
}

// Notified says how often a notification of a chip is to be passed on. A fault's Of is its name in sairedis.
func (r *Rules) Notified(n sai.Notification) int {
	name := ""
	switch n.(type) {
	case sai.PortState:
		name = "port_state_change"
	case sai.FDBEvent:
		name = "fdb_event"
	case sai.ShutdownRequest:
		name = "switch_shutdown_request"
	}
	return r.times(func(of string) bool { return of == name })
}

// Delivered says how often a message that Redis publishes is to be delivered. A fault's Of is a part of the channel's
// name.
func (r *Rules) Delivered(channel string) int {
	return r.times(func(of string) bool { return strings.Contains(channel, of) })
}

// times is how often what is meant is to come: not at all, where one fault has it lost.
func (r *Rules) times(meant func(of string) bool) int {
	met := r.meets(func(f Fault) bool {
		return (f.Kind == NotificationsLose || f.Kind == NotificationsDouble) && (f.Of == "" || meant(f.Of))
	})
	n := 1
	for _, f := range met {
		if f.Kind == NotificationsLose {
			return 0
		}
		n = 2
	}
	return n
}

// words tells of the faults in force, and since when the first is; "": none is.
func words(list []Injected) (text string, since time.Time) {
	var all []string
	for _, n := range list {
		if n.Over != "" {
			continue
		}
		all = append(all, fmt.Sprintf("%s, until %s", n.Fault, clock(n.Until)))
		if since.IsZero() || n.From.Before(since) {
			since = n.From
		}
	}
	if all == nil {
		return "", time.Time{}
	}
	const shown = 3
	text = "faults are injected on purpose: " + strings.Join(all[:min(len(all), shown)], "; ")
	if more := len(all) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text, since
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
