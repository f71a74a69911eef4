package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/internal/grace"
	"tamtam/tam/altmark"
)

// A Marking reads the alternate-marking reports of one target. While the target cannot be read, its sender's watermark
// does not advance. When the target can be read again, it sends the reports of that time that it has kept.
type Marking struct {
	Target   string
	Sessions map[string][]string // groups of a dial.File by session; a session is joined in each of its groups
	To       *Sender
	Report   func(dial.Event) // called for connection changes and unreadable reports; may be nil
}

// Markings returns the Markings of a file, without senders.
func Markings(f dial.File) []*Marking {
	of := map[string]*Marking{}
	groups := f.Groups()
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		for target, sessions := range groups[name].Sessions() {
			m := of[target]
			if m == nil {
				m = &Marking{Target: target, Sessions: map[string][]string{}}
				of[target] = m
			}
			for _, s := range sessions {
				m.Sessions[s] = append(m.Sessions[s], name)
			}
		}
	}
	var all []*Marking
	for _, target := range slices.Sorted(maps.Keys(of)) {
		all = append(all, of[target])
	}
	return all
}

// Groups returns the groups of all sessions, sorted.
func (m *Marking) Groups() []string {
	var all []string
	for _, groups := range m.Sessions {
		all = append(all, groups...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Source returns a name for the target as a source of the log, shortened to its end if it is long.
func (m *Marking) Source() string {
	const most = event.MaxSource - 1 - 13 // the start time follows
	name := strings.TrimPrefix(m.Target, "unix:")
	return name[max(0, len(name)-most):]
}

// Read reads the target until ctx ends, and then returns nil. If there are several targets, announce all senders before
// reading the first.
func (m *Marking) Read(ctx context.Context, o dial.Options) error {
	r := &markingReader{Marking: m, settings: map[string]altmark.Session{}, waiting: map[string][]dial.Report{},
		sent: map[string][]dial.Report{}}
	return watching(ctx, m.To, m.Target, r.apply, func(ctx context.Context, apply func(dial.Event)) error {
		return dial.Watch(ctx, m.Target, slices.Sorted(maps.Keys(m.Sessions)), o, apply)
	})
}

// watching watches a target for a sender until ctx ends, or an event of it cannot be sent.
func watching[E any](
	ctx context.Context, to *Sender, target string, apply func(context.Context, E) error,
	watch func(context.Context, func(E)) error,
) error {
	to.Hold(true)
	none := func() error { return nil }
	return stepping(ctx, none, []*Sender{to}, func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		accepting, done := grace.After(ctx, acceptTimeout)
		defer done()
		var failed error
		var once sync.Once
		err := watch(ctx, func(e E) {
			if err := apply(accepting, e); err != nil {
				once.Do(func() { failed = err })
				stop()
			}
		})
		if err != nil {
			err = fmt.Errorf("target %s: %w", target, err)
		}
		return errors.Join(err, failed)
	})
}

type markingReader struct {
	*Marking
	settings map[string]altmark.Session
	waiting  map[string][]dial.Report // reports of sessions with unknown settings
	sent     map[string][]dial.Report // the last ones: a target repeats them after each connection
}

// Bounds of a session's reports.
const (
	reportsWaiting = 64
	reportsSent    = 64
)

// wrongClock is the maximum offset of a target's clock from this host's. Periods by a clock that is farther off would
// hold the windows of all others, or close them.
const wrongClock = time.Hour

func (r *markingReader) apply(ctx context.Context, e dial.Event) error {
	if r.Report != nil && e.Kind != dial.Period {
		r.Report(e)
	}
	switch e.Kind {
	case dial.Settings:
		r.settings[e.Session] = e.Settings
		r.To.Disorder(r.disorder())
		waiting := r.waiting[e.Session]
		delete(r.waiting, e.Session)
		for _, one := range waiting {
			if err := r.period(ctx, one); err != nil {
				return err
			}
		}
	case dial.Period:
		return r.period(ctx, dial.Report{Target: r.Target, Session: e.Session, Period: e.Period, Arrived: e.Arrived})
	case dial.Synced:
		r.To.Hold(false)
	case dial.Lost:
		r.To.Hold(true)
	case dial.Bad:
		r.To.Lose(1, r.To.options.Now())
	}
	return nil
}

// disorder returns how much earlier a period may begin than another that is reported before it. The sessions' periods
// differ in length, and late frames change reports of the last periods.
func (r *markingReader) disorder() time.Duration {
	longest := time.Duration(0)
	for _, s := range r.settings {
		if s.Role != 0 {
			longest = max(longest, s.Interval.Duration())
		}
	}
	return DefaultDisorder + 4*longest
}

func (r *markingReader) period(ctx context.Context, one dial.Report) error {
	by := r.settings[one.Session]
	if by.Role == 0 {
		if len(r.waiting[one.Session]) == reportsWaiting {
			r.To.Lose(1, r.To.options.Now())
			return nil
		}
		r.waiting[one.Session] = append(r.waiting[one.Session], one)
		return nil
	}
	one.Settings = by
	if said(r.sent[one.Session], one) {
		return nil
	}
	if err := r.clock(one); err != nil {
		r.To.Lose(1, r.To.options.Now())
		if r.Report != nil {
			r.Report(dial.Event{Target: r.Target, Session: one.Session, Kind: dial.Bad, Err: err})
		}
		return nil
	}
	if n := len(r.sent[one.Session]); n == reportsSent {
		r.sent[one.Session] = slices.Delete(r.sent[one.Session], 0, 1)
	}
	r.sent[one.Session] = append(r.sent[one.Session], one)
	for _, group := range r.Sessions[one.Session] {
		p := event.PeriodOf(group, one)
		if err := r.To.Period(ctx, &p); err != nil {
			return err
		}
	}
	return nil
}

// clock returns an error if a report is by a clock that is far from this host's.
func (r *markingReader) clock(one dial.Report) error {
	most := wrongClock
	if one.Arrived.IsZero() { // it is old: a target keeps 16 of each session
		most += 17 * one.Settings.Interval.Duration()
	}
	apart := one.Period.ReadAt.Std().Sub(r.To.options.Now())
	if apart.Abs() <= most {
		return nil
	}
	return fmt.Errorf("period %d was read at %s by the switch's clock, %v from this host's: want less than %v",
		one.Period.Number, one.Period.ReadAt, apart.Round(time.Second), most)
}

// said reports whether a report is among others, regardless of arrival times.
func said(others []dial.Report, one dial.Report) bool {
	return slices.ContainsFunc(others, func(o dial.Report) bool {
		o.Arrived = one.Arrived
		return o == one
	})
}
