// Package marking is the study of alternate marking (RFC 9341). It compares the loss and delay that switches and the
// collector report for each period with the truth.
package marking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tamtam/device"
	"tamtam/lab"
	"tamtam/saisim/truth"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A Study is the field altmark of a topology's file.
type Study struct {
	AltMark Settings `yaml:"altmark"`
}

// Settings list the paths and graphs that are measured.
type Settings struct {
	Paths  []Path  `yaml:"paths"`
	Graphs []Graph `yaml:"graphs"`
}

// Name returns the name of the field.
func (s *Study) Name() string { return "altmark" }

// Asked reports whether the file has a path or a graph.
func (s *Study) Asked() bool { return len(s.AltMark.Paths)+len(s.AltMark.Graphs) > 0 }

// A Path is the path of a flow group: measurement points in the order in which packets pass them. The first is the
// initiator.
type Path struct {
	Name   string   `yaml:"name"`
	Points []string `yaml:"points"` // SWITCH:SESSION
	// Traffic names the traffic sources whose packets the truth counts. If it is empty, the truth counts the packets
	// that match the first point's flow group when they come to that point. The match is the one configured at the
	// start.
	Traffic []string `yaml:"traffic"`
}

// A Graph is the set of paths of a flow group whose packets each take one of several paths. The first point is an
// initiator.
type Graph struct {
	Name   string     `yaml:"name"`
	Points []string   `yaml:"points"` // SWITCH:SESSION
	Links  [][]string `yaml:"links"`  // each from the switch of one point to that of another
	// Traffic has the same meaning as that of a Path.
	Traffic []string `yaml:"traffic"`
}

// drainPeriods is the number of periods of the shortest interval after which published periods are
// joined.
const drainPeriods = schema.AltMarkHistory / 4

// A marking reads the results that switches publish, and collects the true ones.
type marking struct {
	paths    []*markPath
	switches map[string]*markSwitch // all of the lab, since mirror copies may come from anywhere
	every    lab.Time               // interval at which the collector reads
}

// A markSwitch is a switch with its measurement points.
type markSwitch struct {
	*lab.Tap
	mirrors mirrors
	points  []*markPoint
}

// A markPath is a Path or a Graph during a run.
type markPath struct {
	name     string
	points   []*markPoint
	begins   []int // indices of the points where packets enter
	ends     []int // indices of the points where packets leave
	segments []segment
	truth    *markTruth
	join     *markJoin
}

// A segment is a part of a path between two points, or of a graph between groups of points. It holds the indices of
// these points. behind holds the indices of the points that packets reach after them.
type segment struct{ from, to, behind []int }

// A markPoint is a measurement point: a session of a switch.
type markPoint struct {
	node    *markSwitch
	session schema.AltMarkSession
	watch   *markWatch
	sets    []lab.Time // times at which the switch's clock is set or lost, in order

	fields  swss.FieldValues // fields of the session's row, as last read
	periods []published
}

// published is a period as a switch has published it.
type published struct {
	altmark.Period
	at time.Time // time of the publication, by a true clock
}

// era returns how often the clock was set until some time of the run.
func (p *markPoint) era(at lab.Time) uint64 {
	n, _ := slices.BinarySearch(p.sets, at+1)
	return uint64(n)
}

// eras returns a number above the era of any first point.
func (path *markPath) eras() (n int) {
	for _, i := range path.begins {
		n = max(n, len(path.points[i].sets)+1)
	}
	return n
}

func (p *markPoint) String() string { return p.node.Name() + ":" + p.session.Name }

// Observe finds the sessions of all points in the configuration.
func (s *Study) Observe(l *lab.Lab) (lab.Observer, error) {
	m := &marking{switches: map[string]*markSwitch{}, every: math.MaxInt64}
	watchMirrors(l, func(tap *lab.Tap) *mirrors { // before the points' watches, which query it
		n := &markSwitch{Tap: tap}
		m.switches[tap.Name()] = n
		return &n.mirrors
	})
	for i, p := range s.AltMark.Paths {
		path := &markPath{name: p.Name}
		if err := m.observe(l, path, lab.Item("altmark.paths", p.Name, i), p.Points); err != nil {
			return nil, err
		}
		if err := path.joinPath(); err != nil {
			return nil, err // excluded by Validate
		}
		path.follows(l.Topology(), p.Traffic)
	}
	for i, g := range s.AltMark.Graphs {
		path, at := &markPath{name: g.Name}, lab.Item("altmark.graphs", g.Name, i)
		if err := m.observe(l, path, at, g.Points); err != nil {
			return nil, err
		}
		if err := path.joinGraph(g.Links); err != nil {
			return nil, fmt.Errorf("%s%s: %w", l.Topology().Where(at), at, err)
		}
		path.follows(l.Topology(), g.Traffic)
	}
	return m, nil
}

// follows makes the truth count the packets of some traffic sources. At later points it counts those that passed a
// first point.
func (path *markPath) follows(t *lab.Topology, traffic []string) {
	var numbers map[int]bool
	for i := range t.Traffic {
		if slices.Contains(traffic, t.Traffic[i].Name) {
			if numbers == nil {
				numbers = map[int]bool{}
			}
			numbers[i+1] = true
		}
	}
	for i, p := range path.points {
		if p.watch.flow.traffic = numbers; !slices.Contains(path.begins, i) {
			p.watch.flow = nil
		}
	}
}

// observe finds the points of a path.
func (m *marking) observe(l *lab.Lab, path *markPath, at string, points []string) error {
	t := l.Topology()
	for j, text := range points {
		point, err := m.point(l, text)
		if err != nil {
			at := fmt.Sprintf("%s.points[%d]", at, j)
			return fmt.Errorf("%s%s: %q: %w", t.Where(at), at, text, err)
		}
		path.points = append(path.points, point)
		m.every = min(m.every, drainPeriods*length(point.session.Interval))
	}
	path.truth = newMarkTruth(path, impairments(t))
	m.paths = append(m.paths, path)
	return nil
}

// Every returns the interval at which the collector reads.
func (m *marking) Every() lab.Time { return m.every }

// length returns the exact length of an interval.
func length(n altmark.Interval) lab.Time {
	if n < 0 {
		return lab.Second >> -n
	}
	return lab.Second << n
}

// point returns the session of a point, SWITCH:SESSION.
func (m *marking) point(l *lab.Lab, text string) (*markPoint, error) {
	name, session, _ := strings.Cut(text, ":")
	config, err := l.Config(name)
	if err != nil {
		return nil, err
	}
	fields, ok := config[schema.CfgTAMAltMark][session]
	if !ok {
		return nil, fmt.Errorf("the switch's configuration has no %s|%s; it has %s", schema.CfgTAMAltMark, session,
			lab.Summary(device.SortedKeys(config[schema.CfgTAMAltMark])))
	}
	n := m.switches[name]
	p := &markPoint{node: n}
	if p.session, err = schema.ParseAltMarkSession(session, fields); err != nil {
		return nil, err
	}
	group, err := schema.ParseFlowGroup(p.session.FlowGroup, config[schema.CfgTAMFlowGroup][p.session.FlowGroup])
	if err != nil {
		return nil, err
	}
	rule := group.Rule()
	match, ok := config[schema.CfgACLRule][rule.Config()]
	if !ok {
		return nil, fmt.Errorf("the configuration has no %s|%s for its flow group", schema.CfgACLRule, rule.Config())
	}
	filter, err := truth.ParseFilter(match)
	if err != nil {
		return nil, fmt.Errorf("%s|%s: %w", schema.CfgACLRule, rule.Config(), err)
	}
	p.watch = &markWatch{flow: &markFlow{filter: filter}, interval: p.session.Interval, node: n}
	n.Watch(p.watch)
	for _, e := range l.Topology().Events {
		if e.Switch == name && (e.Do == "step-clock" || e.What == "syncd") {
			p.sets = append(p.sets, e.At)
		}
	}
	slices.Sort(p.sets)
	n.points = append(n.points, p)
	n.Sim().AfterWork = n.listen
	return p, nil
}

// impairments returns all impairments that links have during the run.
func impairments(t *lab.Topology) (all []*lab.Impairment) {
	for i := range t.Links {
		all = append(all, &t.Links[i].Impairment)
	}
	for i := range t.Events {
		if m := t.Events[i].Impair; m != nil {
			all = append(all, m)
		}
	}
	return all
}

// Gather joins what all switches have published since the last call.
func (m *marking) Gather() {
	for _, path := range m.paths {
		path.join.feed(path.points)
	}
}

// listen collects the reports of the switch's points. It is called when the switch publishes, because collectors need
// the arrival time of each report.
func (n *markSwitch) listen(ctx context.Context) error {
	for _, p := range n.points {
		if err := p.listen(ctx); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// listen reads the periods that are new or have changed, in order.
func (p *markPoint) listen(ctx context.Context) error {
	table := swss.NewTable(p.node.Sim().Redis.DB(swss.CountersDB), schema.CountersAltMarkPast)
	fields, _, err := table.Get(ctx, p.session.Name)
	if err != nil {
		return err
	}
	var errs []error
	var fresh []published
	for field, value := range fields {
		if field == "NULL" || p.fields[field] == value {
			continue
		}
		period, err := schema.ParseAltMarkPeriod(p.session.Name, field, value)
		errs = append(errs, err)
		fresh = append(fresh, published{period, p.node.Sim().Now()})
	}
	p.fields = fields
	sortPeriods(fresh)
	p.periods = append(p.periods, fresh...)
	return errors.Join(errs...)
}

// Follow processes what all points have seen in the window that ends now.
func (m *marking) Follow(now lab.Time) {
	for _, path := range m.paths {
		path.truth.follow(now)
	}
	for _, path := range m.paths {
		for _, p := range path.points {
			p.watch.passed = p.watch.passed[:0]
		}
	}
	for _, n := range m.switches {
		n.mirrors.follow()
	}
}

func sortPeriods(list []published) {
	slices.SortFunc(list, func(a, b published) int { return cmp.Compare(a.Number, b.Number) })
}

// Validate records the errors of the settings.
func (s *Study) Validate(v *lab.Validator) {
	const maxPaths = 4096
	seen := map[string]bool{}
	paths, graphs := s.AltMark.Paths, s.AltMark.Graphs
	v.Want(len(paths) <= maxPaths, "altmark.paths", len(paths), "at most %d paths", maxPaths)
	v.Want(len(graphs) <= maxPaths, "altmark.graphs", len(graphs), "at most %d graphs", maxPaths)
	for i, p := range paths {
		at := lab.Item("altmark.paths", p.Name, i)
		v.Name(at, p.Name, seen)
		validatePoints(v, at, p.Points, 16)
		validateTraffic(v, at, p.Traffic)
	}
	for i, g := range graphs {
		at := lab.Item("altmark.graphs", g.Name, i)
		v.Name(at, g.Name, seen)
		validatePoints(v, at, g.Points, 256)
		validateTraffic(v, at, g.Traffic)
		for j, l := range g.Links {
			v.Want(len(l) == 2, fmt.Sprintf("%s.links[%d]", at, j), strings.Join(l, ", "), "two switches, [FROM, TO]")
		}
	}
}

func validateTraffic(v *lab.Validator, at string, names []string) {
	for j, name := range names {
		known := slices.ContainsFunc(v.Topology().Traffic, func(t lab.Traffic) bool { return t.Name == name })
		v.Want(known, fmt.Sprintf("%s.traffic[%d]", at, j), name, "the name of a traffic source of this file")
	}
}

func validatePoints(v *lab.Validator, at string, points []string, most int) {
	v.Want(len(points) >= 2 && len(points) <= most, at+".points", len(points), "2 to %d points, SWITCH:SESSION", most)
	on := map[string]bool{}
	for j, text := range points {
		name, session, _ := strings.Cut(text, ":")
		where := fmt.Sprintf("%s.points[%d]", at, j)
		v.Want(v.Topology().HasSwitch(name) && session != "", where, text, "SWITCH:SESSION, a switch of this file")
		v.Want(!on[name], where, text, "a switch that has no other point of the path")
		on[name] = true
	}
}
