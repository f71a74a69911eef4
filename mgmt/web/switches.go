package web

import (
	"cmp"
	"errors"
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

var switchColumns = columnsOf[switchRow]("").
	text("switch", func(r *switchRow) string { return r.Name }).
	number("objects", func(r *switchRow) (n float64, known bool) {
		for _, c := range r.Counts {
			n += float64(c.Count)
		}
		return n, r.Error == ""
	}).
	text("first", func(r *switchRow) string {
		if r.Worst == nil {
			return r.Error
		}
		return r.Worst.Name
	}).
	number("up", func(r *switchRow) (float64, bool) { return float64(r.Up), r.Error == "" }).
	number("read", func(r *switchRow) (float64, bool) { return float64(r.Read.UnixNano()), !r.Read.IsZero() })

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
	for i := range list {
		d.Rows = append(d.Rows, switchRowOf(q, &list[i]))
	}
	if err = switchColumns.sort(q, d.Rows); err == nil {
		d.Rows, err = pageOf(q, d.Rows)
	}
	return d, err
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
	if err := objectColumns.sort(q, objects); err != nil {
		return nil, err
	}
	if d.Objects, err = pageOf(q, objects); err != nil {
		return nil, err
	}
	q.pages.What = "Objects"
	d.ports(s)
	d.Loads = d.Loads || p.cfg.Own
	d.stamping(s)
	d.Own, d.Alarms, d.PastAlarms = p.cfg.Own, slices.Clone(s.Alarms), slices.Clone(s.PastAlarms)
	return d, errors.Join(d.portColumns().sort(q, d.Ports), d.stampingColumns().sort(q, d.Stamping),
		alarmColumns("alarm").sort(q, d.Alarms), alarmColumns("cleared").sort(q, d.PastAlarms))
}

var objectColumns = columnsOf[objectRow]("").
	text("object", func(r *objectRow) string { return r.Name }).
	count("status", func(r *objectRow) int64 { return int64(slices.Index(words.Statuses(), string(r.Status))) }).
	text("reason", func(r *objectRow) string { return strings.Join(r.Texts(), "; ") }).
	number("since", func(r *objectRow) (float64, bool) { return float64(r.Since.UnixNano()), !r.Since.IsZero() })

func (d *switchData) portColumns() *columns[portRow] {
	load := func(l *Load) (float64, bool) {
		if l == nil {
			return 0, false
		}
		return l.High, true
	}
	c := columnsOf[portRow]("port").
		text("name", func(r *portRow) string { return r.Name }).
		text("state", func(r *portRow) string { return r.Oper }).
		number("rate", func(r *portRow) (float64, bool) { return float64(r.Mbps), r.Mbps > 0 }).
		number("load-in", func(r *portRow) (float64, bool) { return load(r.In) }).
		number("load-out", func(r *portRow) (float64, bool) { return load(r.Out) })
	for _, name := range d.Columns {
		c.number(name, func(r *portRow) (float64, bool) { return counter(r.Counters, name) })
	}
	return c
}

func counter(all map[string]uint64, name string) (float64, bool) {
	n, known := all[name]
	return float64(n), known
}

func (d *switchData) stampingColumns() *columns[StampingSession] {
	c := columnsOf[StampingSession]("session").
		text("name", func(s *StampingSession) string { return s.Name }).
		text("confidence", func(s *StampingSession) string { return cmp.Or(s.Error, "exact") })
	for _, name := range d.Stamped {
		c.number(name, func(s *StampingSession) (float64, bool) { return counter(s.Counters, name) })
	}
	return c
}

func alarmColumns(table string) *columns[SwitchAlarm] {
	at := func(t time.Time) (float64, bool) { return float64(t.UnixNano()), !t.IsZero() }
	return columnsOf[SwitchAlarm](table).
		text("name", func(a *SwitchAlarm) string { return a.Resource + " " + a.Type }).
		text("severity", func(a *SwitchAlarm) string { return a.Severity }).
		text("objects", func(a *SwitchAlarm) string { return a.Count }).
		text("reason", func(a *SwitchAlarm) string { return a.Text }).
		number("raised", func(a *SwitchAlarm) (float64, bool) { return at(a.Raised) }).
		number("cleared", func(a *SwitchAlarm) (float64, bool) { return at(a.Cleared) })
}

func (d *switchData) stamping(s *Switch) {
	d.Stamping = slices.Clone(s.Stamping)
	d.Stamped = usedColumns(s.Stamped, func(yield func(map[string]uint64) bool) {
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
	d.Columns = usedColumns(portColumns, func(yield func(map[string]uint64) bool) {
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
