package dial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/collector/marks"
	"tamtam/tam/altmark"
)

// A Report is a period of a session, with the settings with which it was measured: all that a join needs.
type Report struct {
	Target, Session string
	Settings        altmark.Session
	Period          altmark.Period
	Arrived         time.Time // see [Event]
}

// Start returns the beginning of the period in nanoseconds since 1970. It returns false if that is not between 1970 and
// 2116.
func (r Report) Start() (int64, bool) {
	const most = 1 << 62
	n := r.Settings.Interval
	if !n.Valid() || r.Period.Number > most/uint64(n.Duration()) {
		return 0, false
	}
	return n.Start(r.Period.Number).Std().UnixNano(), true
}

// Groups returns the parts of a file that are joined separately, by name: a graph, or a path with its opposite paths.
func (f File) Groups() map[string]File {
	of := map[string]string{} // maps a path to another path of its group, or to itself
	root := func(name string) string {
		for of[name] != name {
			name = of[name]
		}
		return name
	}
	for _, p := range f.Paths {
		of[p.Name] = p.Name
	}
	for _, p := range f.Paths {
		if p.Back != "" {
			a, b := root(p.Name), root(p.Back)
			of[max(a, b)] = min(a, b)
		}
	}
	groups := map[string]File{}
	for _, p := range f.Paths {
		g := groups[root(p.Name)]
		g.Paths = append(g.Paths, p)
		groups[root(p.Name)] = g
	}
	for _, g := range f.Graphs {
		groups[g.Name] = File{Graphs: []Graph{g}}
	}
	return groups
}

// Sessions returns the sessions of all points, keyed by target.
func (f File) Sessions() map[string][]string {
	of := map[string][]string{}
	add := func(points []Point) {
		for _, p := range points {
			if !slices.Contains(of[p.Target], p.Session) {
				of[p.Target] = append(of[p.Target], p.Session)
			}
		}
	}
	for _, p := range f.Paths {
		add(p.Points)
	}
	for _, g := range f.Graphs {
		add(g.all())
	}
	return of
}

// Wait returns the longest wait of the paths and graphs for a report, in periods.
func (f File) Wait() int {
	most := 0
	for _, p := range f.Paths {
		most = max(most, cmp.Or(p.Wait, marks.DefaultWait))
	}
	for _, g := range f.Graphs {
		most = max(most, cmp.Or(g.Wait, marks.DefaultWait))
	}
	return most
}

// Clusters numbers the segments of paths and graphs from 1 on, in the order of the packets. The whole path or graph has
// no number.
func (f File) Clusters() (map[marks.Segment]string, error) {
	names := map[marks.Segment]string{}
	for _, p := range f.Paths {
		for i := 1; i < len(p.Points) && len(p.Points) > 2; i++ {
			names[marks.Segment{Path: p.Name, From: p.Points[i-1].Switch, To: p.Points[i].Switch}] = strconv.Itoa(i)
		}
	}
	for _, g := range f.Graphs {
		mesh, err := marks.NewMesh(g.join())
		if err != nil {
			return nil, err
		}
		for i, c := range mesh.Clusters() {
			if ends := c.Ends(); ends != mesh.Whole() {
				names[marks.Segment{Path: g.Name, From: ends[0], To: ends[1]}] = strconv.Itoa(i + 1)
			}
		}
	}
	return names, nil
}

// Replay returns the last result for each period and segment that a [Join] gives for the same reports, by period,
// without jitter and window. Reports are processed in the order of their periods. Those of one period and session keep
// their order.
func (f File) Replay(reports []Report) ([]marks.Result, error) {
	j, err := NewJoin(f, time.Time{})
	if err != nil {
		return nil, err
	}
	clear(j.waiting)
	replays := map[*joined]*marks.Replay{}
	for _, p := range j.paths {
		switch am := p.am.(type) {
		case *marks.Joiner:
			replays[p] = marks.NewReplay(am)
		case *marks.Mesh:
			replays[p] = marks.NewMeshReplay(am)
		}
	}
	reports, err = byStart(reports)
	if err != nil || len(reports) == 0 {
		return nil, err
	}
	last := map[resultKey]marks.Result{}
	keep := func(results []marks.Result) {
		for _, r := range results {
			last[resultKey{r.Segment(), r.Period, r.Start}] = r
		}
	}
	settings := func(r Report) {
		keep(j.apply(Event{Target: r.Target, Session: r.Session, Kind: Settings, Settings: r.Settings}, time.Time{}))
	}
	j.begin(reports, settings)
	for len(reports) > 0 {
		n := sameStart(reports)
		for _, r := range reports[:n] { // before any report of the period, since settings reset all points
			settings(r)
		}
		keep(j.together(reports[:n], replays))
		reports = reports[n:]
	}
	for _, p := range j.paths {
		keep(j.both(p.am.Flush()))
	}
	return slices.SortedFunc(maps.Values(last), byPeriod), nil
}

// together processes the reports of one period, and returns only its final results.
func (j *Join) together(
	reports []Report, replays map[*joined]*marks.Replay,
) (out []marks.Result) {
	var numbers []uint64
	for _, r := range reports {
		for _, at := range j.users[[2]string{r.Target, r.Session}] {
			out = append(out, j.both(replays[at.path].Add(at.point, r.Period, r.Arrived))...)
		}
		if !slices.Contains(numbers, r.Period.Number) {
			numbers = append(numbers, r.Period.Number)
		}
	}
	for _, k := range numbers {
		for _, p := range j.paths {
			out = append(out, j.both(replays[p].Report(k))...)
		}
	}
	return out
}

type resultKey struct {
	marks.Segment
	period uint64
	start  altmark.Time
}

func byPeriod(a, b marks.Result) int {
	return cmp.Or(a.Start.Std().Compare(b.Start.Std()), cmp.Compare(a.Period, b.Period), cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// byStart returns reports in the order of their periods.
func byStart(reports []Report) ([]Report, error) {
	starts := make([]int64, len(reports))
	order := make([]int, len(reports))
	for i, r := range reports {
		at, ok := r.Start()
		if !ok {
			return nil, fmt.Errorf("target %s, session %s: period %d of 2^%d s: want one from 1970 to 2116", r.Target,
				r.Session, r.Period.Number, r.Settings.Interval)
		}
		starts[i], order[i] = at, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(starts[a], starts[b]) })
	sorted := make([]Report, len(order))
	for i, at := range order {
		sorted[i] = reports[at]
	}
	return sorted, nil
}

// sameStart returns the number of leading reports with the same period.
func sameStart(reports []Report) int {
	first, _ := reports[0].Start()
	n := 1
	for n < len(reports) {
		if at, _ := reports[n].Start(); at != first {
			break
		}
		n++
	}
	return n
}

// begin gives each session the settings of its first report. A session without a report has unknown settings, but its
// periods are assumed to be as long as those of the others.
func (j *Join) begin(reports []Report, settings func(Report)) {
	first := map[[2]string]Report{}
	for _, r := range reports {
		if _, ok := first[[2]string{r.Target, r.Session}]; !ok {
			first[[2]string{r.Target, r.Session}] = r
		}
	}
	for _, target := range slices.Sorted(maps.Keys(j.targets)) {
		for _, session := range j.targets[target] {
			r, ok := first[[2]string{target, session}]
			if !ok {
				r = Report{Target: target, Session: session, Settings: altmark.Session{Interval: reports[0].Settings.Interval}}
			}
			settings(r)
		}
	}
}
