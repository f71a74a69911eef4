package drift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Finding is an object that differs.
type Finding struct {
	Key  string // as the stage lists it
	What string // how it differs, in words: "is missing"
	Sum  uint64 // of what is there and of what should be: another one if either has changed
	Busy bool   // something about it is in flight: it does not count
	// Late says that nothing is wrong with the object but that it waits: the daemon is not ready, and nothing is healed.
	// Other daemons, one of which it may wait for, heal what is theirs meanwhile.
	Late bool
}

// A Stage is what is compared with what.
type Stage struct {
	Name  string // where the objects are: "APPL_DB"
	After string // the daemon whose word this is, that has to look first; "": it is this daemon's
	// List lists the objects that there are and those that should be.
	List func(ctx context.Context) ([]string, error)
	// Look returns those of some objects that differ.
	Look func(ctx context.Context, keys []string) ([]Finding, error)
	// Heal makes them what they should be; nil: nobody can.
	Heal func(ctx context.Context, drifted []Finding) error
}

// How much is done at a time.
const (
	Period    = 250 * time.Millisecond // between two calls of [Watch.Work]
	usual     = 125                    // objects per call: 500 per second
	hurried   = 2000                   // in the first pass of a life: nobody is ready before
	mostOpen  = 4096                   // differences that are remembered; others are found by the next pass
	twice     = time.Second            // between two looks at one difference, and between two passes
	mostShown = 3
)

// A Watch walks through stages. Only its State may be asked for from any goroutine.
type Watch struct {
	stages []*Stage
	// Author says how many passes another daemon has ended, in its present life, and whether nothing differs there; -1 if
	// that is not known. It is set before the first Work; nil: it never is.
	Author func(ctx context.Context, daemon string) (passes int, well bool)

	open  map[place]*difference
	began time.Time // the pass under way; zero: none
	ended time.Time // the last one
	at    int       // stage of the pass
	left  []string  // its objects; nil: they are not listed yet
	count int       // objects of the pass

	mu    sync.Mutex
	state State
}

// A place is an object of a stage.
type place struct {
	stage *Stage
	key   string
}

// A difference is one that is under observation.
type difference struct {
	Finding
	first, last time.Time
	seen        int
	author      int  // passes that its author had ended when it was first asked; -1: it was not
	told        bool // it counts
	healed      bool // something was done about it
}

// NewWatch returns a watch that has looked at nothing yet.
func NewWatch() *Watch { return &Watch{open: map[place]*difference{}} }

// Add adds a stage. It is done before the first Work.
func (w *Watch) Add(s Stage) { w.stages = append(w.stages, &s) }

// Work looks again at what differed, heals what is due, and looks at the next objects. It is called once per [Period].
func (w *Watch) Work(ctx context.Context, now time.Time) error {
	defer w.publish()
	if err := w.again(ctx, now); err != nil {
		return err
	}
	most := usual
	if w.state.Passes == 0 {
		most = hurried
	}
	return w.walk(ctx, now, most)
}

// Pass looks at everything once, whatever the time.
func (w *Watch) Pass(ctx context.Context, now time.Time) error {
	defer w.publish()
	w.began, w.at, w.left, w.count = now, 0, nil, 0
	for !w.began.IsZero() {
		if err := w.walk(ctx, now, hurried); err != nil {
			return err
		}
	}
	return w.again(ctx, now)
}

// walk looks at the next objects of the pass, at most so many.
func (w *Watch) walk(ctx context.Context, now time.Time, most int) error {
	if w.began.IsZero() {
		if now.Sub(w.ended) < twice {
			return nil
		}
		w.began, w.at, w.left, w.count = now, 0, nil, 0
	}
	for most > 0 {
		if w.at == len(w.stages) {
			w.finish(now)
			return nil
		}
		s := w.stages[w.at]
		if w.left == nil {
			list, err := s.List(ctx)
			if err != nil {
				return err
			}
			w.left = append(list[:0:0], list...)
		}
		n := min(most, len(w.left))
		if n > 0 {
			found, err := s.Look(ctx, w.left[:n])
			if err != nil {
				return err
			}
			author := -1
			if len(found) > 0 {
				author, _ = w.author(ctx, s)
			}
			for _, f := range found {
				if at := (place{s, f.Key}); w.open[at] == nil && len(w.open) < mostOpen {
					w.open[at] = &difference{Finding: f, first: now, last: now, seen: 1, author: author}
				}
			}
		}
		w.left, w.count, most = w.left[n:], w.count+n, most-n
		if len(w.left) == 0 {
			w.at, w.left = w.at+1, nil
		}
	}
	return nil
}

// finish ends a pass.
func (w *Watch) finish(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Passes++
	w.state.Began, w.state.Ended, w.state.Objects = w.began, now, w.count
	w.began, w.ended, w.at, w.left = time.Time{}, now, 0, nil
}

// again looks again at what differed a while ago.
func (w *Watch) again(ctx context.Context, now time.Time) error {
	for _, s := range w.stages {
		var keys []string
		for at, d := range w.open {
			if at.stage == s && now.Sub(d.last) >= twice {
				keys = append(keys, at.key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.Sort(keys)
		found, err := s.Look(ctx, keys)
		if err != nil {
			return err
		}
		if err := w.compare(ctx, now, s, keys, found); err != nil {
			return err
		}
	}
	return nil
}

// compare notes what became of differences.
func (w *Watch) compare(ctx context.Context, now time.Time, s *Stage, keys []string, found []Finding) error {
	still := make(map[string]Finding, len(found))
	for _, f := range found {
		still[f.Key] = f
	}
	var due []*difference
	passes, well := w.author(ctx, s)
	for _, key := range keys {
		d := w.open[place{s, key}]
		f, differs := still[key]
		switch {
		case !differs:
			w.over(d)
			delete(w.open, place{s, key})
		case f.Busy || f.Sum != d.Sum || d.Busy:
			d.Finding, d.last, d.seen = f, now, 1
			if d.author = passes; !d.told {
				d.first = now
			}
		default:
			d.Finding, d.last = f, now
			d.seen++
			w.tell(d)
			if s.Heal == nil || d.Late || d.seen&(d.seen-1) != 0 { // ever more rarely, where it does not help
				break
			}
			if s.After != "" && !d.left(passes, well) {
				d.seen-- // it is tried again at the next look
				break
			}
			due = append(due, d)
		}
	}
	return heal(ctx, s, due)
}

// heal heals what is this daemon's to heal.
func heal(ctx context.Context, s *Stage, due []*difference) error {
	var list []Finding
	for _, d := range due {
		d.healed = true
		list = append(list, d.Finding)
	}
	if len(list) == 0 {
		return nil
	}
	return s.Heal(ctx, list)
}

// author asks how far the author of a stage is.
func (w *Watch) author(ctx context.Context, s *Stage) (passes int, well bool) {
	if w.Author == nil || s.After == "" {
		return -1, false
	}
	return w.Author(ctx, s.After)
}

// left reports whether the difference's author has looked at everything since it was seen, and left it: one pass was
// under way then, so that has ended, and another. Clocks are not asked: two daemons may not agree on the time of day.
func (d *difference) left(passes int, well bool) bool {
	if d.author < 0 || passes < d.author {
		d.author = passes // or its author has begun anew
		return false
	}
	return well && passes >= d.author+2
}

// tell counts a difference as drift, once.
func (w *Watch) tell(d *difference) {
	if !d.told && !d.Late {
		w.mu.Lock()
		w.state.Drift++
		w.mu.Unlock()
	}
	d.told = true
}

// over counts what was healed.
func (w *Watch) over(d *difference) {
	if d.told && d.healed {
		w.mu.Lock()
		w.state.Healed++
		w.mu.Unlock()
	}
}

// publish makes the state as it is now the one that is told.
func (w *Watch) publish() {
	var told []string
	var since time.Time
	open, due := 0, 0
	for at, d := range w.open {
		if !d.Late {
			open++
		}
		if !d.told {
			continue
		}
		if d.healed {
			due++
		}
		told = append(told, at.stage.Name+" "+at.key+" "+d.What)
		if since.IsZero() || d.first.Before(since) {
			since = d.first
		}
	}
	slices.Sort(told)
	reason := strings.Join(told[:min(len(told), mostShown)], "; ")
	if more := len(told) - mostShown; more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Reason, w.state.Since, w.state.Open, w.state.Due = reason, since, open, due
}

// State returns how it stands.
func (w *Watch) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}
