package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tamtam/tam/words"
)

type statusCount struct {
	Status Status
	Count  int
	Href   string
	On     bool
	Class  string
}

type switchRow struct {
	Name, Href string
	Error      string
	Read       time.Time
	Counts     []statusCount
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

// classes maps statuses to classes of the style sheet.
var classes = map[Status]string{words.Failed: "bad", words.Unknown: "unknown", words.Pending: "inexact",
	words.Unapplied: "inexact", words.InPart: "inexact", words.Active: "good", words.Inactive: "off"}

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
	r.Counts = statusesOf(s, func(w Status) string {
		return q.Link("/switch", "name", s.Name, "status", string(w))
	})
	if s.Error != "" {
		r.Class = "inexact"
		return r
	}
	for _, w := range words.Statuses() {
		if w == words.Active {
			break
		}
		if i := slices.IndexFunc(s.Objects, func(o Object) bool { return string(o.Status) == w }); i >= 0 {
			r.Worst, r.Class = &s.Objects[i], classes[Status(w)]
			break
		}
	}
	return r
}

// statusesOf returns the number of a switch's objects by status, without statuses that no object has.
func statusesOf(s *Switch, href func(Status) string) (list []statusCount) {
	n := map[Status]int{}
	for _, o := range s.Objects {
		n[o.Status]++
	}
	for _, word := range words.Statuses() {
		if w := Status(word); n[w] > 0 {
			list = append(list, statusCount{Status: w, Count: n[w], Href: href(w), Class: classes[w]})
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
	Counts  []statusCount
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
	d := &switchData{Name: s.Name, Error: s.Error, Read: s.Read, Known: true, Chosen: q.get("status"),
		All: q.With("status", ""), Drops: q.Link("/drops", "switch", s.Name)}
	d.Counts = statusesOf(s, func(w Status) string { return q.With("status", string(w)) })
	for i := range d.Counts {
		d.Counts[i].On = string(d.Counts[i].Status) == d.Chosen
	}
	if d.Chosen != "" && classes[Status(d.Chosen)] == "" {
		return nil, wrong("status=%.40q: want one of %s", d.Chosen, strings.Join(words.Statuses(), ", "))
	}
	var objects []objectRow
	for _, o := range s.Objects {
		if d.Chosen == "" || string(o.Status) == d.Chosen {
			objects = append(objects, objectRow{o, classes[o.Status]})
		}
	}
	slices.SortStableFunc(objects, func(a, b objectRow) int {
		all := words.Statuses()
		return cmp.Or(slices.Index(all, string(a.Status))-slices.Index(all, string(b.Status)), natural(a.Name, b.Name))
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
