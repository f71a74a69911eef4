package web

import (
	"cmp"
	"slices"
	"time"
)

// standings lists all standings, the most urgent first.
var standings = []Standing{Failed, Suspect, NotKnown, Waiting, NotApplied, InPart, InForce, Off}

type standingCount struct {
	Standing Standing
	Count    int
	Href     string
	On       bool
	Class    string
}

type switchRow struct {
	Name, Href string
	Error      string
	Read       time.Time
	Counts     []standingCount
	Worst      *Object
	Up, Ports  int
	Untold     int // number of ports of unknown state
	Class      string
}

type switchesData struct {
	None bool // true if there is no source of switches
	Rows []switchRow
}

// switches returns the view of all switches and the outcome of their configuration.
func (p *Page) switches(q *request) (any, error) {
	list, err := p.allSwitches(q)
	if err != nil {
		return nil, err
	}
	d := &switchesData{None: p.cfg.Switches == nil}
	if list, err = pageOf(q, list); err != nil {
		return nil, err
	}
	for i := range list {
		d.Rows = append(d.Rows, switchRowOf(q, &list[i]))
	}
	return d, nil
}

func (p *Page) allSwitches(q *request) ([]Switch, error) {
	if p.cfg.Switches == nil {
		return nil, nil
	}
	list, err := p.cfg.Switches.Switches(q.ctx)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Switch) int { return natural(a.Name, b.Name) })
	return list, nil
}

// classes maps standings to classes of the style sheet.
var classes = map[Standing]string{Failed: "bad", Suspect: "inexact", NotKnown: "unknown", Waiting: "inexact",
	NotApplied: "inexact", InPart: "inexact", InForce: "good", Off: "off"}

func switchRowOf(q *request, s *Switch) switchRow {
	r := switchRow{
		Name: s.Name, Href: q.Link("/switch", "name", s.Name), Error: s.Error, Read: s.Read, Ports: len(s.Ports),
	}
	for _, port := range s.Ports {
		switch port.Oper {
		case "up":
			r.Up++
		case "":
			r.Untold++
		}
	}
	r.Counts = standingsOf(s, func(w Standing) string {
		return q.Link("/switch", "name", s.Name, "standing", string(w))
	})
	if s.Error != "" {
		r.Class = "inexact"
		return r
	}
	for _, w := range standings {
		if w == InForce || w == Off {
			break
		}
		if i := slices.IndexFunc(s.Objects, func(o Object) bool { return o.Standing == w }); i >= 0 {
			r.Worst, r.Class = &s.Objects[i], classes[w]
			break
		}
	}
	return r
}

// standingsOf returns the number of a switch's objects by standing, without standings that no object has.
func standingsOf(s *Switch, href func(Standing) string) (list []standingCount) {
	n := map[Standing]int{}
	for _, o := range s.Objects {
		n[o.Standing]++
	}
	for _, w := range standings {
		if n[w] > 0 {
			list = append(list, standingCount{Standing: w, Count: n[w], Href: href(w), Class: classes[w]})
		}
	}
	return list
}

type objectRow struct {
	Object
	Class string
}

// Texts returns the reason, if there is one, and then the parts that are not applied.
func (r objectRow) Texts() []string {
	if r.Reason == "" {
		return r.Unapplied
	}
	return append([]string{r.Reason}, r.Unapplied...)
}

type portRow struct {
	Port
	LoadIn, LoadOut string
	Class           string
}

type switchData struct {
	Name    string
	Error   string
	Read    time.Time
	Known   bool
	Counts  []standingCount
	Chosen  string
	All     string
	Objects []objectRow
	Ports   []portRow
	NoPorts int // number of further ports
	Columns []string
	Loads   bool // true if some port has a load
	Drops   string

	Stamping []StampingSession
	Stamped  []string // counters that have a column

	Own                bool // true if the alarms are known
	Alarms, PastAlarms []SwitchAlarm
}

// portColumns lists the counters of ports that are shown.
var portColumns = []string{"in", "out", "in bytes", "out bytes", "dropped", "in discards", "out discards", "in errors",
	"out errors"}

// oneSwitch returns the view of one switch.
func (p *Page) oneSwitch(q *request) (any, error) {
	list, err := p.allSwitches(q)
	if err != nil {
		return nil, err
	}
	name := q.get("name")
	i := slices.IndexFunc(list, func(s Switch) bool { return s.Name == name })
	if i < 0 {
		n, err := p.netOf(q)
		if err != nil || !slices.ContainsFunc(n.nodes, func(x Node) bool { return x.Name == name && x.isSwitch() }) {
			return nil, missing("switch %.100q: there is none of this name", name)
		}
		return &switchData{Name: name, Drops: q.Link("/drops", "switch", name)}, nil
	}
	s := &list[i]
	d := &switchData{Name: s.Name, Error: s.Error, Read: s.Read, Known: true, Chosen: q.get("standing"),
		All: q.With("standing", ""), Drops: q.Link("/drops", "switch", s.Name)}
	d.Counts = standingsOf(s, func(w Standing) string { return q.With("standing", string(w)) })
	for i := range d.Counts {
		d.Counts[i].On = string(d.Counts[i].Standing) == d.Chosen
	}
	if d.Chosen != "" && classes[Standing(d.Chosen)] == "" {
		return nil, wrong("standing=%.40q: want one of %v", d.Chosen, standings)
	}
	var objects []objectRow
	for _, o := range s.Objects {
		if d.Chosen == "" || string(o.Standing) == d.Chosen {
			objects = append(objects, objectRow{o, classes[o.Standing]})
		}
	}
	slices.SortStableFunc(objects, func(a, b objectRow) int {
		return cmp.Or(slices.Index(standings, a.Standing)-slices.Index(standings, b.Standing), natural(a.Name, b.Name))
	})
	if d.Objects, err = pageOf(q, objects); err != nil {
		return nil, err
	}
	q.pages.What = "Objects"
	d.ports(s)
	d.Loads = d.Loads || p.cfg.Own
	d.stamping(s)
	d.Own, d.Alarms, d.PastAlarms = p.cfg.Own, s.Alarms, s.PastAlarms
	return d, nil
}

func (d *switchData) stamping(s *Switch) {
	d.Stamping = s.Stamping
	d.Stamped = columnsOf(s.Stamped, func(yield func(map[string]uint64) bool) {
		for i := range s.Stamping {
			if !yield(s.Stamping[i].Counters) {
				return
			}
		}
	})
}

// mostPorts bounds the ports that are shown.
const mostPorts = 1024

func (d *switchData) ports(s *Switch) {
	for _, port := range s.Ports[:min(len(s.Ports), mostPorts)] {
		r := portRow{Port: port, LoadIn: port.In.String(), LoadOut: port.Out.String()}
		for _, name := range []string{"dropped", "in discards", "out discards", "in errors", "out errors"} {
			if port.Counters[name] > 0 {
				r.Class = "bad"
			}
		}
		d.Loads = d.Loads || port.In != nil || port.Out != nil
		d.Ports = append(d.Ports, r)
	}
	d.NoPorts = len(s.Ports) - len(d.Ports)
	d.Columns = columnsOf(portColumns, func(yield func(map[string]uint64) bool) {
		for i := range s.Ports {
			if !yield(s.Ports[i].Counters) {
				return
			}
		}
	})
	slices.SortStableFunc(d.Ports, func(a, b portRow) int { return natural(a.Name, b.Name) })
}

// Counter returns a counter of a port as text.
func (r portRow) Counter(name string) string {
	if v, ok := r.Counters[name]; ok {
		return countAny(v)
	}
	return notKnown
}
