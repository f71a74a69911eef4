package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/device"
	"tamtam/saisim/truth"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// AltMark is what alternate marking is measured on.
type AltMark struct {
	Paths []AltMarkPath `yaml:"paths"`
}

// An AltMarkPath is a way that a flow group takes: measurement points in the
// order in which its packets come to them. The first is the initiator.
type AltMarkPath struct {
	Name   string   `yaml:"name"`
	Points []string `yaml:"points"` // SWITCH:SESSION
}

// drainPeriods is after how many periods of the shortest interval the periods that
// switches published are joined.
const drainPeriods = schema.AltMarkHistory / 4

// A marking reads what switches publish of alternate marking, and knows what
// they should have.
type marking struct {
	paths []*markPath
	at    Time // of the next reading
	every Time
}

// A markPath is an AltMarkPath at work.
type markPath struct {
	name   string
	points []*markPoint
	truth  *markTruth
	join   *markJoin
}

// A markPoint is a measurement point: a session of a switch.
type markPoint struct {
	node    *node
	session schema.AltMarkSession
	watch   *markWatch

	fields  swss.FieldValues // as last read
	periods []published
}

// A published is a period as a switch has published it.
type published struct {
	altmark.Period
	at time.Time // by a true clock
}

func (p *markPoint) String() string { return p.node.s.Name + ":" + p.session.Name }

// makeAltMark finds the sessions of all points in the configuration.
func (l *Lab) makeAltMark(context.Context) error {
	if len(l.t.AltMark.Paths) == 0 {
		return nil
	}
	l.marking = &marking{every: forever}
	for i := range l.t.AltMark.Paths {
		p := &l.t.AltMark.Paths[i]
		path := &markPath{name: p.Name}
		for j, text := range p.Points {
			var marks uint8
			if j > 0 {
				first := path.points[0].session
				marks = first.Mark.DSCPBit() | first.Mark2.DSCPBit()
			}
			point, err := l.markPoint(text, marks)
			if err != nil {
				at := fmt.Sprintf("%s.points[%d]", item("altmark.paths", p.Name, i), j)
				return fmt.Errorf("%s%s: %q: %w", l.t.source.where(at), at, text, err)
			}
			path.points = append(path.points, point)
			l.marking.every = min(l.marking.every, drainPeriods*length(point.session.Interval))
		}
		var err error
		if path.join, err = newJoin(path); err != nil {
			return err // Validate has seen to it
		}
		path.truth = newMarkTruth(path, l.t.impairments())
		l.marking.paths = append(l.marking.paths, path)
	}
	l.marking.at = l.marking.every
	return nil
}

// length is that of an interval, exactly.
func length(n altmark.Interval) Time {
	if n < 0 {
		return Second >> -n
	}
	return Second << n
}

// markPoint finds the session of a point, SWITCH:SESSION. marks are the bits of the DSCP
// that packets may come with, or without.
func (l *Lab) markPoint(text string, marks uint8) (*markPoint, error) {
	name, session, _ := strings.Cut(text, ":")
	n := l.byName[name]
	config, err := l.config(n.s)
	if err != nil {
		return nil, err
	}
	fields, ok := config[schema.CfgTAMAltMark][session]
	if !ok {
		return nil, fmt.Errorf("the switch's configuration has no %s|%s; it has %s", schema.CfgTAMAltMark, session,
			few(device.SortedKeys(config[schema.CfgTAMAltMark])))
	}
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
	filter, err := truth.ParseFilter(unmarked(match, marks))
	if err != nil {
		return nil, fmt.Errorf("%s|%s: %w", schema.CfgACLRule, rule.Config(), err)
	}
	p.watch = &markWatch{filter: filter, interval: p.session.Interval, node: n}
	n.marks = append(n.marks, p.watch)
	n.points = append(n.points, p)
	n.sim.Settled = n.listen
	return p, nil
}

// unmarked is a rule's match without some bits of the DSCP: behind the initiator they say
// which period a packet is of, and not whether it is of the flow.
func unmarked(match map[string]string, marks uint8) map[string]string {
	dscp, ok := match["DSCP"]
	if !ok || marks == 0 {
		return match
	}
	value, text, masked := strings.Cut(dscp, "/")
	mask := uint64(0x3f)
	if masked {
		var err error
		if mask, err = strconv.ParseUint(strings.TrimSpace(text), 0, 8); err != nil {
			return match // for the parser of the filter to refuse
		}
	}
	match = maps.Clone(match)
	match["DSCP"] = fmt.Sprintf("%s/%d", strings.TrimSpace(value), mask&^uint64(marks))
	return match
}

// impairments are all that links ever have.
func (t *Topology) impairments() (all []*Impairment) {
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

// drain joins what all switches have published since the last time.
func (m *marking) drain() {
	for _, path := range m.paths {
		path.join.feed(path.points)
	}
}

// listen hears at once what a switch publishes: collectors know when a report came.
func (n *node) listen(ctx context.Context) error {
	for _, p := range n.points {
		if err := p.listen(ctx); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// listen reads the periods that are new, or not as they were, in their order.
func (p *markPoint) listen(ctx context.Context) error {
	table := swss.NewTable(p.node.sim.Redis.DB(swss.CountersDB), schema.CountersAltMarkPast)
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
		fresh = append(fresh, published{period, p.node.sim.Now()})
	}
	p.fields = fields
	sortPeriods(fresh)
	p.periods = append(p.periods, fresh...)
	return errors.Join(errs...)
}

// follow takes what all points have seen in a window that ended now.
func (m *marking) follow(now Time) {
	for _, path := range m.paths {
		path.truth.follow(now)
	}
	for _, path := range m.paths {
		for _, p := range path.points {
			p.watch.passed = p.watch.passed[:0]
		}
	}
}

func sortPeriods(list []published) {
	slices.SortFunc(list, func(a, b published) int { return cmp.Compare(a.Number, b.Number) })
}

func (v *validator) altMark() {
	seen := map[string]bool{}
	paths := v.t.AltMark.Paths
	v.want(len(paths) <= maxTraffic, "altmark.paths", len(paths), "at most %d paths", maxTraffic)
	for i := range paths {
		p := &paths[i]
		at := item("altmark.paths", p.Name, i)
		v.name(at, p.Name, seen)
		v.want(len(p.Points) >= 2 && len(p.Points) <= 16, at+".points", len(p.Points), "2 to 16 points, SWITCH:SESSION")
		on := map[string]bool{}
		for j, text := range p.Points {
			name, session, _ := strings.Cut(text, ":")
			where := fmt.Sprintf("%s.points[%d]", at, j)
			v.want(v.t.hasSwitch(name) && session != "", where, text, "SWITCH:SESSION, a switch of this file")
			v.want(!on[name], where, text, "a switch that has no other point of the path")
			on[name] = true
		}
	}
}
