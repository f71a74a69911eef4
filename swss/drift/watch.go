package drift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/swss"
	"tamtam/swss/tick"
)

// A Finding is an object that differs.
type Finding struct {
	Key  string // the object's name in the stage's list
	What string // how the object differs, in words, such as "is missing"
	Sum  uint64 // digest of the actual and the expected state: it changes if either changes
	Busy bool   // true if the object is in flight, so that the difference does not count
	// Late means that the object is correct but waits for something, perhaps for another daemon. The daemon is then not
	// ready, and does not heal the object. Other daemons continue to heal their own objects.
	Late bool
}

// A Stage is one comparison.
type Stage struct {
	Name  string // where the objects are, such as "APPL_DB"
	After string // daemon that is the author of the expected state and must compare first; "" means this daemon
	// List lists the existing objects and the expected ones. keys returns the keys of a database.
	List func(ctx context.Context, keys Keys) ([]string, error)
	// Look returns the differences of some objects.
	Look func(ctx context.Context, keys []string) ([]Finding, error)
	// Heal brings objects to their expected state. nil means that they cannot be healed.
	Heal func(ctx context.Context, drifted []Finding) error
}

// Keys returns the keys of a database, with the names of their tables. The caller must not change the list.
type Keys func(ctx context.Context, db *swss.DB) ([]string, error)

// Bounds of the work.
const (
	period    = 250 * time.Millisecond // time between two calls of [Watch.Work] while there is work
	usual     = 125                    // number of objects per call: 500 per second
	hurried   = 2000                   // number of objects per call in the first pass, which delays readiness
	mostOpen  = 4096                   // maximum number of remembered differences; the next pass finds further ones
	twice     = time.Second            // time between two looks at one difference, and between two passes
	early     = period / 2             // a call may be early, since its time is that of a common tick
	mostShown = 3
)

// A Watch walks through stages. Only State may be called from any goroutine.
type Watch struct {
	stages []*Stage
	// Author returns the number of passes that another daemon has ended in its present run, and whether nothing
	// differs there. passes is -1 if that is unknown. It is set before the first Work; nil means always unknown.
	Author func(ctx context.Context, daemon string) (passes int, well bool)

	open  map[place]*difference
	began time.Time // start of the current pass; zero if none is under way
	ended time.Time // end of the last pass
	at    int       // index of the stage that the pass has reached
	left  []string  // objects of this stage that remain; nil if not listed yet
	count int       // number of objects of the pass so far
	// listed holds the keys of databases during a call.
	listed map[*swss.DB][]string

	mu    sync.Mutex
	state State
}

// A place is an object of a stage.
type place struct {
	stage *Stage
	key   string
}

// A difference is a difference under observation.
type difference struct {
	Finding
	first, last time.Time
	seen        int
	author      int  // number of passes that the author had ended when first asked; -1 if not asked yet
	reported    bool // true if the difference was counted as drift
	healed      bool // true if Heal was called for the difference
}

// NewWatch returns a watch that has looked at nothing yet.
func NewWatch() *Watch { return &Watch{open: map[place]*difference{}} }

// Add adds a stage. It must be called before the first Work.
func (w *Watch) Add(s Stage) { w.stages = append(w.stages, &s) }

// Next returns the time of the next call of Work. last is that of the last one.
func (w *Watch) Next(last time.Time) time.Time {
	if idle := w.began.IsZero() && len(w.open) == 0 && !w.ended.IsZero(); idle {
		last = w.ended.Add(twice - early)
	}
	return tick.Next(last, period)
}

// Work checks earlier differences again, heals those that are due, and checks the next objects. It is called at the
// times of [Watch.Next].
func (w *Watch) Work(ctx context.Context, now time.Time) error {
	defer w.publish()
	w.listed = map[*swss.DB][]string{}
	defer func() { w.listed = nil }()
	if err := w.again(ctx, now); err != nil {
		return err
	}
	most := usual
	if w.state.Passes == 0 {
		most = hurried
	}
	return w.walk(ctx, now, most)
}

// Pass looks at all objects once, regardless of the time.
func (w *Watch) Pass(ctx context.Context, now time.Time) error {
	defer w.publish()
	w.listed = map[*swss.DB][]string{}
	defer func() { w.listed = nil }()
	w.began, w.at, w.left, w.count = now, 0, nil, 0
	for !w.began.IsZero() {
		if err := w.walk(ctx, now, hurried); err != nil {
			return err
		}
	}
	return w.again(ctx, now)
}

// keys lists the keys of a database once for all stages that begin in one call.
func (w *Watch) keys(ctx context.Context, db *swss.DB) (list []string, err error) {
	list, listed := w.listed[db]
	if !listed {
		if list, err = db.AllKeys(ctx); err == nil {
			w.listed[db] = list
		}
	}
	return list, err
}

// walk looks at the next objects of the pass, at most most, and records those that differ. It begins a new pass when
// one is due.
func (w *Watch) walk(ctx context.Context, now time.Time, most int) error {
	if w.began.IsZero() {
		if now.Sub(w.ended) < twice-early {
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
			list, err := s.List(ctx, w.keys)
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

// again looks again at differences that were last seen a while ago.
func (w *Watch) again(ctx context.Context, now time.Time) error {
	for _, s := range w.stages {
		var keys []string
		for at, d := range w.open {
			if at.stage == s && now.Sub(d.last) >= twice-early {
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

// compare updates the differences of the given objects to those that were found now, and heals those that are due.
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
			if d.author = passes; !d.reported {
				d.first = now
			}
		default:
			d.Finding, d.last = f, now
			d.seen++
			w.report(d)
			if s.Heal == nil || d.Late || d.seen&(d.seen-1) != 0 { // if healing does not help, the interval doubles
				break
			}
			if s.After != "" && !d.left(passes, well) {
				d.seen-- // the next look tries again
				break
			}
			due = append(due, d)
		}
	}
	return heal(ctx, s, due)
}

// heal passes the differences that are due to the stage's Heal.
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

// author asks for the progress of the stage's author.
func (w *Watch) author(ctx context.Context, s *Stage) (passes int, well bool) {
	if w.Author == nil || s.After == "" {
		return -1, false
	}
	return w.Author(ctx, s.After)
}

// left reports whether the author has checked all its objects since the difference was seen, and has not removed it.
// That is so if two of its passes have ended since: the one then under way, and a whole one. Times are not compared,
// because the clocks of two daemons may differ.
func (d *difference) left(passes int, well bool) bool {
	if d.author < 0 || passes < d.author {
		d.author = passes // the author's passes count from this one if it has restarted
		return false
	}
	return well && passes >= d.author+2
}

// report counts a difference as drift, once.
func (w *Watch) report(d *difference) {
	if !d.reported && !d.Late {
		w.mu.Lock()
		w.state.Drift++
		w.mu.Unlock()
	}
	d.reported = true
}

// over counts a difference that was healed.
func (w *Watch) over(d *difference) {
	if d.reported && d.healed {
		w.mu.Lock()
		w.state.Healed++
		w.mu.Unlock()
	}
}

// publish updates the state that State returns.
func (w *Watch) publish() {
	var reported []string
	var since time.Time
	open, due := 0, 0
	for at, d := range w.open {
		if !d.Late {
			open++
		}
		if !d.reported {
			continue
		}
		if d.healed {
			due++
		}
		reported = append(reported, at.stage.Name+" "+at.key+" "+d.What)
		if since.IsZero() || d.first.Before(since) {
			since = d.first
		}
	}
	slices.Sort(reported)
	reason := strings.Join(reported[:min(len(reported), mostShown)], "; ")
	if more := len(reported) - mostShown; more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Reason, w.state.Since, w.state.Open, w.state.Due = reason, since, open, due
}

// State returns the current state.
func (w *Watch) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}
