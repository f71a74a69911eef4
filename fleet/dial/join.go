package dial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tamtam/collector/marks"
	"tamtam/tam/altmark"
)

// A Join passes events of targets to the paths and graphs that they concern. It has no clock: every event comes with
// its time.
type Join struct {
	paths   []*joined
	twoWays []*marks.TwoWay
	backs   [][2]*marks.Joiner     // pairs of opposite paths, one for each of twoWays
	users   map[[2]string][]pathAt // points of paths by target and session
	targets map[string][]string    // sessions by target

	// Events are held back until all targets have sent their history. Otherwise the history of one target would make
	// reports of other targets appear missing.
	waiting map[string]bool
	held    []Event
	since   time.Time
}

// maxStart is the maximum time for which the join waits for a target at the start.
const maxStart = 5 * time.Second

type altMarkJoin interface {
	Add(point int, p altmark.Period, arrived time.Time) []marks.Result
	Advance(k uint64) []marks.Result
	Flush() []marks.Result
	Settings(point int, s altmark.Session) []marks.Result
	Interval() altmark.Interval
	Notices() []string
	Stats() marks.Stats
}

type joined struct {
	name     string // path NAME or graph NAME
	am       altMarkJoin
	notified int    // number of notices that were returned
	last     uint64 // number of the last period with a report
	lastAt   time.Time
}

type pathAt struct {
	path  *joined
	point int
}

// NewJoin returns the joins of a file that [ReadFile] has read; an error contains the name of the path that cannot be
// joined.
func NewJoin(f File, now time.Time) (*Join, error) {
	j := &Join{
		users: map[[2]string][]pathAt{}, targets: map[string][]string{}, waiting: map[string]bool{}, since: now,
	}
	paths := map[string]*marks.Joiner{}
	for _, p := range f.Paths {
		am, err := marks.NewJoiner(p.join())
		if err != nil {
			return nil, err
		}
		paths[p.Name] = am
		j.add("path "+p.Name, am, p.Points)
	}
	for _, g := range f.Graphs {
		mesh, err := marks.NewMesh(g.join())
		if err != nil {
			return nil, err
		}
		all, points := g.all(), make([]Point, 0, len(g.Points)) // in the order of the mesh
		for _, at := range mesh.Points() {
			points = append(points, all[slices.IndexFunc(all, func(p Point) bool { return p.Switch == at.Switch })])
		}
		j.add("graph "+g.Name, mesh, points)
	}
	for _, p := range f.Paths {
		if p.Back == "" {
			continue
		}
		pair := [2]*marks.Joiner{paths[p.Name], paths[p.Back]}
		tw, err := marks.NewTwoWay(pair[0].Path(), pair[1].Path())
		if err != nil {
			return nil, err
		}
		j.twoWays, j.backs = append(j.twoWays, tw), append(j.backs, pair)
	}
	return j, nil
}

func (j *Join) add(name string, am altMarkJoin, points []Point) {
	path := &joined{name: name, am: am}
	j.paths = append(j.paths, path)
	for i, point := range points {
		key := [2]string{point.Target, point.Session}
		j.users[key] = append(j.users[key], pathAt{path, i})
		if !slices.Contains(j.targets[point.Target], point.Session) {
			j.targets[point.Target] = append(j.targets[point.Target], point.Session)
		}
		j.waiting[point.Target] = true
	}
}

// Apply processes an event and returns the results that follow from it.
func (j *Join) Apply(e Event, now time.Time) []marks.Result {
	if len(j.waiting) > 0 {
		if e.Kind == Synced {
			delete(j.waiting, e.Target)
		}
		j.held = append(j.held, e)
		return j.release(now)
	}
	return j.apply(e, now)
}

// Tick advances the time: overdue reports become missing.
func (j *Join) Tick(now time.Time) []marks.Result {
	out := j.release(now)
	for _, p := range j.paths {
		if p.lastAt.IsZero() {
			continue
		}
		interval := p.am.Interval().Duration()
		out = append(out, j.both(p.am.Advance(p.last+uint64(max(now.Sub(p.lastAt), 0)/interval)))...)
	}
	return out
}

// Notices returns the notices of paths that it has not returned before.
func (j *Join) Notices() (events []Event) {
	for _, p := range j.paths {
		all := p.am.Notices()
		for _, notice := range all[p.notified:] {
			events = append(events, Event{Target: p.name, Kind: Notice, Notice: notice})
		}
		p.notified = len(all)
	}
	return events
}

// release processes the events that were held back, settings first and the periods of all targets in order.
func (j *Join) release(now time.Time) (out []marks.Result) {
	if len(j.held) == 0 || len(j.waiting) > 0 && now.Sub(j.since) < maxStart {
		return nil
	}
	clear(j.waiting)
	held := ofLastSettings(j.held)
	j.held = nil
	slices.SortStableFunc(held, func(a, b Event) int {
		if a.Kind == Period && b.Kind == Period {
			return cmp.Compare(a.Period.Number, b.Period.Number)
		}
		return cmp.Compare(a.Kind, b.Kind)
	})
	for _, e := range held {
		out = append(out, j.apply(e, now)...)
	}
	return out
}

// ofLastSettings drops the periods that were measured with other settings than the session's last ones. The caller
// applies the last settings first, and with them the number of such a period would stand for another time.
func ofLastSettings(held []Event) (out []Event) {
	type session struct{ target, name string }
	from, last := map[session]int{}, map[session]altmark.Session{}
	for i, e := range held {
		s := session{e.Target, e.Session}
		if e.Kind != Settings {
			continue
		}
		if before, ok := last[s]; ok && before != e.Settings {
			from[s] = i
		}
		last[s] = e.Settings
	}
	for i, e := range held {
		if e.Kind != Period || i >= from[session{e.Target, e.Session}] {
			out = append(out, e)
		}
	}
	return out
}

func (j *Join) apply(e Event, now time.Time) (out []marks.Result) {
	for _, at := range j.users[[2]string{e.Target, e.Session}] {
		switch e.Kind {
		case Settings:
			out = append(out, j.both(at.path.am.Settings(at.point, e.Settings))...)
			for i, pair := range j.backs {
				j.twoWays[i].Settings(pair[0].Path(), pair[1].Path())
			}
		case Period:
			at.path.last, at.path.lastAt = e.Period.Number, now
			out = append(out, j.both(at.path.am.Add(at.point, e.Period, e.Arrived))...)
		}
	}
	return out
}

func (j *Join) both(results []marks.Result) []marks.Result {
	out := results
	for _, tw := range j.twoWays {
		for _, r := range results {
			if sum, ok := tw.Add(r); ok {
				out = append(out, sum)
			}
		}
	}
	return out
}

// tick is the interval at which Run checks for missing reports.
const tick = 100 * time.Millisecond

// Run watches all targets of a file and passes results to give as they come, until ctx ends, and then returns nil.
// Events other than reports are passed to tell. Both are called by one goroutine. Run returns an error if the file or
// the options are invalid, or if give returns one.
func Run(ctx context.Context, f File, o Options, report func(Event), give func([]marks.Result) error) error {
	j, err := NewJoin(f, time.Now())
	if err != nil {
		return err
	}
	if _, err := o.credentials(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	taken, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	watch := func(target string, sessions []string, report func(Event)) error {
		return Watch(ctx, target, sessions, o, report)
	}
	events, failed := j.watch(taken, watch)
	return j.run(events, failed, ticker.C, report, give)
}

// run joins events until there are no more: everything that targets have sent before they ended is joined.
func (j *Join) run(
	events <-chan Event, failed <-chan error, ticks <-chan time.Time, report func(Event),
	give func([]marks.Result) error,
) error {
	for {
		var results []marks.Result
		select {
		case err := <-failed:
			return err
		case e, more := <-events:
			if !more {
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
			if e.Kind != Period {
				report(e)
			}
			results = j.Apply(e, time.Now())
		case <-ticks:
			results = j.Tick(time.Now())
		}
		for _, e := range j.Notices() {
			report(e)
		}
		if len(results) == 0 {
			continue
		}
		if err := give(results); err != nil {
			return err
		}
	}
}

// watch runs a goroutine for each target. It returns a channel of the targets' events, which is closed when all have
// ended, and one of errors of the options. taken ends when the events are no longer read.
func (j *Join) watch(
	taken context.Context, watch func(target string, sessions []string, report func(Event)) error,
) (<-chan Event, <-chan error) {
	events := make(chan Event, 1024)
	failed := make(chan error, len(j.targets))
	var watching sync.WaitGroup
	for target, sessions := range j.targets {
		watching.Go(func() {
			err := watch(target, sessions, func(e Event) {
				select {
				case events <- e:
				case <-taken.Done():
				}
			})
			if err != nil {
				failed <- fmt.Errorf("target %s: %w", target, err)
			}
		})
	}
	go func() {
		watching.Wait()
		close(events)
	}()
	return events, failed
}
