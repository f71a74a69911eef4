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

// ports returns the ports of the switch with their counters. It includes ports that are configured but were rejected,
// of which only the configuration is known.
func (t *tables) ports() (list []web.Port) {
	rows, names := t.Dump(swss.ConfigDB, schema.CfgPort), t.Row(swss.CountersDB, schema.CountersPortNameMap, "")
	if t.Err() != nil {
		return nil
	}
	for _, row := range rows {
		delete(row, "speed") // a port that does not exist has no speed
		delete(row, schema.FieldOperStatus)
	}
	maps.Copy(rows, t.Dump(swss.ApplDB, schema.AppPort))
	var keys []string
	for _, name := range sortedKeys(rows) {
		if !strings.HasPrefix(name, "Ethernet") { // markers of SONiC such as PortInitDone
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

// counters returns the counters of a row by their columns, such as "in bytes"; packets are called "in". It leaves out
// unknown counters.
func counters(row swss.FieldValues) map[string]uint64 {
	c := map[string]uint64{}
	for _, s := range schema.PortStatistics() {
		if n, known := s.Count(row); known && s.Cast == "" {
			c[strings.TrimSuffix(s.Direction+" "+s.Name, " packets")] = n
		}
	}
	return c
}

// A load is computed from two readings of the counters, at most mostApart apart.
const (
	mostApart = 15 * time.Second
	overhead  = 8 + 12 // bytes of a frame on the wire that are not counted: preamble and minimum gap
)

// loads remembers the counters of ports, as long as the same syncd polls them.
type loads struct{ past []sample }

// A sample holds the counters of all ports at one time.
type sample struct {
	at    time.Time
	old   time.Duration // maximum age of the counters at that time
	by    string        // the syncd that polled them; "" means that this is unknown
	ports map[string]web.Port
}

// add sets the ports' load since an earlier reading, and remembers this reading.
func (l *loads) add(s sample, ports []web.Port) {
	l.past = slices.DeleteFunc(l.past, func(was sample) bool { return was.by != s.by || s.at.Sub(was.at) > mostApart })
	if s.by == "" {
		return
	}
	if len(l.past) > 0 {
		base := &l.past[0]
		for i := range ports {
			p, was := &ports[i], base.ports[ports[i].Name]
			if was.Mbps != p.Mbps { // the speed has changed during the measurement
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

// sample returns a sample for now without its counters, which are read later. The switch polls its counters
// periodically, so they may be up to one period old, plus the time since syncd's last beat.
func (t *tables) sample(now time.Time) (s sample) {
	s.at = now
	every, why := t.polled()
	if why != "" {
		return s
	}
	syncd, silent, heard := t.received("syncd")
	if !heard || syncd[schema.HealthState] != schema.HealthReady {
		return s
	}
	s.old = every + every/2 + silent // timers are not accurate to the millisecond
	s.by = syncd[schema.HealthOwner] + " " + syncd[schema.HealthSince]
	return s
}

// polled returns the polling period of the ports' counters, or why it is unknown or they are not polled.
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
		return 0, "how often the counters of ports are polled is unknown: " + err.Error()
	case f.Given && !f.Enabled:
		return 0, "the counters of ports are not polled, by FLEX_COUNTER_TABLE|PORT: they are as they were read last"
	case f.Interval > 0:
		every = f.Interval
	}
	return every, ""
}

// A span is the time between two readings of counters, with the maximum age of the counters at its start and at its
// end.
type span struct{ length, first, last time.Duration }

// loadOf returns the load of a port over a time, nil if it is unknown.
func loadOf(p *web.Port, was map[string]uint64, direction string, over span) *web.Load {
	var bits float64
	for name, each := range map[string]float64{direction + " bytes": 8, direction: 8 * overhead} {
		before, had := was[name]
		now, has := p.Counters[name]
		if !had || !has || now < before { // the counter was reset
			return nil
		}
		bits += float64(each * float64(now-before))
	}
	if p.Mbps <= 0 || over.length <= over.first+over.last {
		return nil
	}
	share := func(d time.Duration) float64 { return min(1, bits/(float64(p.Mbps)*1e6*d.Seconds())) }
	return &web.Load{Low: share(over.length + over.first), High: share(over.length - over.last), Over: over.length}
}
