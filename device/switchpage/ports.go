package switchpage

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// ports are those of the switch, with what was counted at them, and those that are configured and were refused: of
// these nothing is known but what is wanted.
func (t *tables) ports() (list []web.Port) {
	rows, names := t.Dump(swss.ConfigDB, schema.CfgPort), t.Row(swss.CountersDB, schema.CountersPortNameMap, "")
	if t.Err() != nil {
		return nil
	}
	for _, row := range rows {
		delete(row, "speed") // it is none of a port that is not there
		delete(row, schema.FieldOperStatus)
	}
	maps.Copy(rows, t.Dump(swss.ApplDB, schema.AppPort))
	var keys []string
	for _, name := range sortedKeys(rows) {
		if !strings.HasPrefix(name, "Ethernet") { // SONiC's marks that all are there
			continue
		}
		p := web.Port{Name: name, Oper: rows[name][schema.FieldOperStatus], Admin: rows[name]["admin_status"]}
		if mbps, err := strconv.ParseInt(rows[name]["speed"], 10, 64); err == nil {
			p.Mbps = mbps
		}
		list = append(list, p)
		keys = append(keys, names[name])
	}
	for i, row := range t.Rows(swss.CountersDB, schema.CountersTable, keys) {
		list[i].Counters = counters(row)
	}
	return list
}

// counters returns those of a row by their columns, such as "in bytes", and packets as "in". It leaves out unknown
// ones.
func counters(row swss.FieldValues) map[string]uint64 {
	c := map[string]uint64{}
	for _, s := range schema.PortStatistics() {
		if n, known := s.Count(row); known && s.Cast == "" {
			c[strings.TrimSuffix(s.Direction+" "+s.Name, " packets")] = n
		}
	}
	return c
}

// How loads are found: from two readings of the counters, which lie that long apart at most.
const (
	mostApart = 15 * time.Second
	overhead  = 8 + 12 // bytes of a frame on the wire beside what is counted: preamble and least gap
)

// loads remembers counters of ports, of the syncd that polls them.
type loads struct{ past []sample }

// A sample is the counters of all ports at a time.
type sample struct {
	at    time.Time
	old   time.Duration // how much older than that they may be
	by    string        // who polled them; "": nobody vouches for that
	ports map[string]web.Port
}

// add tells ports their load since an earlier reading, and remembers this one.
func (l *loads) add(s sample, ports []web.Port) {
	l.past = slices.DeleteFunc(l.past, func(was sample) bool { return was.by != s.by || s.at.Sub(was.at) > mostApart })
	if s.by == "" {
		return
	}
	if len(l.past) > 0 {
		base := &l.past[0]
		for i := range ports {
			p, was := &ports[i], base.ports[ports[i].Name]
			if was.Mbps != p.Mbps { // a part of it is of another rate
				continue
			}
			over := span{s.at.Sub(base.at), base.old, s.old}
			p.In, p.Out = loadOf(p, was.Counters, "in", over), loadOf(p, was.Counters, "out", over)
		}
	}
	s.ports = map[string]web.Port{}
	for _, p := range ports {
		s.ports[p.Name] = p
	}
	l.past = append(l.past, s)
}

// sample is one at now, without its counters, which are read after it. The switch polls its counters every now and
// then: so what is read is up to that old, and as much older as nothing was heard of syncd.
func (t *tables) sample(now time.Time) (s sample) {
	s.at = now
	every, why := t.polled()
	if why != "" {
		return s
	}
	syncd, silent, heard := t.heard("syncd")
	if !heard || syncd[schema.HealthState] != schema.HealthReady {
		return s
	}
	s.old = every + every/2 + silent // it is not to the millisecond
	s.by = syncd[schema.HealthOwner] + " " + syncd[schema.HealthSince]
	return s
}

// polled is how often the counters of ports are; or why they are not, or that is not known.
func (t *tables) polled() (every time.Duration, why string) {
	return polledBy(t.Dump(swss.ConfigDB, schema.CfgFlexCounter))
}

func polledBy(rows map[string]swss.FieldValues) (every time.Duration, why string) {
	every = schema.DefaultPoll("PORT")
	row, ok := rows["PORT"]
	if !ok {
		return every, ""
	}
	switch f, err := schema.ParseFlexCounter("PORT", row); {
	case err != nil:
		return 0, "how often the counters of ports are polled is not known: " + err.Error()
	case f.Given && !f.Enabled:
		return 0, "the counters of ports are not polled, by FLEX_COUNTER_TABLE|PORT: they are as they were read last"
	case f.Interval > 0:
		every = f.Interval
	}
	return every, ""
}

// A span is the time between two readings of counters, which were up to that old at its begin and at its end.
type span struct{ length, first, last time.Duration }

// loadOf is the load of a port over a time; nil: not known.
func loadOf(p *web.Port, was map[string]uint64, way string, over span) *web.Load {
	var bits float64
	for name, each := range map[string]float64{way + " bytes": 8, way: 8 * overhead} {
		before, had := was[name]
		now, has := p.Counters[name]
		if !had || !has || now < before { // it began anew
			return nil
		}
		bits += each * float64(now-before)
	}
	if p.Mbps <= 0 || over.length <= over.first+over.last {
		return nil
	}
	share := func(d time.Duration) float64 { return min(1, bits/(float64(p.Mbps)*1e6*d.Seconds())) }
	return &web.Load{Low: share(over.length + over.first), High: share(over.length - over.last), Over: over.length}
}
