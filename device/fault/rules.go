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

// mostInjected is the largest number of simultaneous faults.
const mostInjected = 64

// stays is how long a fault remains visible after its end, since it may have been short.
const stays = 10 * time.Second

// An Injected is a fault that is in force, or ended recently.
type Injected struct {
	ID string
	At string // the daemon; "" for rules without a daemon
	Fault
	From, Until time.Time
	Hits        int    // number of calls or messages that were affected
	Over        string // reason why the fault ended; "" means that it is in force
}

// Rules holds the faults in force in a process. It is safe for concurrent use.
type Rules struct {
	at  string
	now func() time.Time

	mu   sync.Mutex
	last int // last assigned id
	list []*rule
}

// A rule is one injected fault.
type rule struct {
	Injected
	seen int       // number of calls or messages that matched
	gone time.Time // time at which it ended
	// undo reverses the effect of the fault; nil means that there is nothing to undo. The fault is in force until undo
	// succeeds.
	undo func(context.Context) error
	why  string // reason why the fault must end; "" means that it stays
}

// NewRules returns Rules without faults. now is the clock.
func NewRules(now func() time.Time) *Rules { return &Rules{now: now} }

// Add puts a fault of SAI or of notifications in force; the other kinds require a [Controller].
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

// next returns a rule for a fault that could be put in force now.
func (r *Rules) next(f Fault) (*rule, error) {
	f, err := Parse(f.Row())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
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

// expire ends expired faults, and removes those that ended long ago.
func (r *Rules) expire() {
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

// List returns the faults that are in force, and those that ended recently.
func (r *Rules) List() (all []Injected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	for _, n := range r.list {
		all = append(all, n.Injected)
	}
	return all
}

// Clear ends all faults and returns how many were in force.
func (r *Rules) Clear() (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	for _, n := range r.list {
		if n.Over == "" {
			n.why = "cleared"
			count++
		}
	}
	r.expire()
	return count
}

// undo reverses the effects of faults that must end. After a failure, the next call tries again.
func (r *Rules) undo(ctx context.Context) (err error) {
	r.mu.Lock()
	r.expire()
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

// meets returns the faults that affect a call or a message, and counts the match in each of them.
func (r *Rules) meets(does func(Fault) bool) (met []Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return nil
	}
	r.expire()
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

// SAI returns next behind a layer that injects the faults. The delays of all matching faults add up. A call fails if
// one matching fault makes it fail.
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

// Notified returns how often a chip's notification must be passed on. A fault's Of is its name in sairedis.
func (r *Rules) Notified(n sai.Notification) int {
	name := ""
	switch n.(type) {
	case sai.PortState:
		name = "port_state_change"
	case sai.FDBEvent:
		name = "fdb_event"
	case sai.TelTypeConfigChange:
		name = "tam_tel_type_config_change"
	case sai.ShutdownRequest:
		name = "switch_shutdown_request"
	}
	return r.times(func(of string) bool { return of == name })
}

// Delivered returns how often a message published by Redis must be delivered. A fault's Of is a part of the channel's
// name.
func (r *Rules) Delivered(channel string) int {
	return r.times(func(of string) bool { return strings.Contains(channel, of) })
}

// times returns how often a message must be delivered. It returns 0 if any matching fault loses it.
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

// words returns a text about the faults in force, and when the first began. The text is "" if there are none.
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
