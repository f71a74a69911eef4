package switchpage

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"tamtam/collectord/page"
	"tamtam/schema"
	"tamtam/swss"
)

// statistics are counters of ports, by what the page calls them.
var statistics = map[string]string{
	"in bytes": "SAI_PORT_STAT_IF_IN_OCTETS", "out bytes": "SAI_PORT_STAT_IF_OUT_OCTETS",
	"in discards": "SAI_PORT_STAT_IF_IN_DISCARDS", "out discards": "SAI_PORT_STAT_IF_OUT_DISCARDS",
	"in errors": "SAI_PORT_STAT_IF_IN_ERRORS", "out errors": "SAI_PORT_STAT_IF_OUT_ERRORS",
}

// ports are those of the switch, with what was counted at them, and those that are configured and were refused: of
// these nothing is known but what is wanted.
func (t *tables) ports() (list []page.Port) {
	rows, names := t.dump(swss.ConfigDB, schema.CfgPort), t.hash(swss.CountersDB, schema.CountersPortNameMap)
	if t.err != nil {
		return nil
	}
	for _, row := range rows {
		delete(row, "speed") // it is none of a port that is not there
		delete(row, schema.FieldOperStatus)
	}
	maps.Copy(rows, t.dump(swss.ApplDB, schema.AppPort))
	var keys []string
	for _, name := range sortedKeys(rows) {
		if !strings.HasPrefix(name, "Ethernet") { // SONiC's marks that all are there
			continue
		}
		p := page.Port{Name: name, Oper: rows[name][schema.FieldOperStatus], Admin: rows[name]["admin_status"]}
		if mbps, err := strconv.ParseInt(rows[name]["speed"], 10, 64); err == nil {
			p.Mbps = mbps
		}
		list = append(list, p)
		keys = append(keys, schema.CountersTable+":"+names[name])
	}
	if t.err != nil || len(list) == 0 {
		return list
	}
	t.err = t.redis.DB(swss.CountersDB).ReadRows(t.ctx, keys, func(i int, row swss.FieldValues, _ int64) {
		list[i].Counters = counters(row)
	})
	return list
}

// counters are those of a row. What is not there is not known.
func counters(row swss.FieldValues) map[string]uint64 {
	c := map[string]uint64{}
	for name, stat := range statistics {
		if n, err := strconv.ParseUint(row[stat], 10, 64); err == nil {
			c[name] = n
		}
	}
	for name, way := range map[string]string{"in": "IN", "out": "OUT"} {
		sum, whole := uint64(0), true
		for _, kind := range []string{"UCAST", "MULTICAST", "BROADCAST"} {
			n, err := strconv.ParseUint(row["SAI_PORT_STAT_IF_"+way+"_"+kind+"_PKTS"], 10, 64)
			sum, whole = sum+n, whole && err == nil
		}
		if whole {
			c[name] = sum
		}
	}
	return c
}

// How loads are found: from two readings of the counters, which lie that long apart at most.
const (
	mostApart = 15 * time.Second
	overhead  = 8 + 12 // bytes of a frame on the wire beside what is counted: preamble and least gap
)

// loads remembers counters of ports.
type loads struct{ past []sample }

// A sample is the counters of all ports at a time.
type sample struct {
	at    time.Time
	ports map[string]map[string]uint64
}

// add tells ports their load since an earlier reading, and remembers this one. The switch polls its counters every now
// and then: so what is read is up to that old, and a difference is of a time that much longer or shorter.
func (l *loads) add(t *tables, now time.Time, ports []page.Port) {
	poll, known := t.polled()
	n := 0
	for n < len(l.past) && now.Sub(l.past[n].at) > mostApart {
		n++
	}
	l.past = append(l.past[:0], l.past[n:]...)
	if known && len(l.past) > 0 {
		base := l.past[0]
		for i := range ports {
			p, was := &ports[i], base.ports[ports[i].Name]
			p.In = loadOf(p, was, "in", now.Sub(base.at), poll)
			p.Out = loadOf(p, was, "out", now.Sub(base.at), poll)
		}
	}
	s := sample{now, map[string]map[string]uint64{}}
	for i := range ports {
		s.ports[ports[i].Name] = ports[i].Counters
	}
	l.past = append(l.past, s)
}

// polled is how old the counters of ports may be; false: they are not polled, or it cannot be read.
func (t *tables) polled() (time.Duration, bool) {
	row, ok := t.dump(swss.ConfigDB, schema.CfgFlexCounter)["PORT"]
	every := schema.DefaultPoll("PORT")
	if ok {
		f, err := schema.ParseFlexCounter("PORT", row)
		if err != nil || f.Given && !f.Enabled {
			return 0, false
		}
		if f.Interval > 0 {
			every = f.Interval
		}
	}
	return every + every/2, true // it is not to the millisecond
}

// loadOf is the load of a port over a time; nil: not known.
func loadOf(p *page.Port, was map[string]uint64, way string, over, poll time.Duration) *page.Load {
	var bits float64
	for name, each := range map[string]float64{way + " bytes": 8, way: 8 * overhead} {
		before, had := was[name]
		now, has := p.Counters[name]
		if !had || !has || now < before { // it began anew
			return nil
		}
		bits += each * float64(now-before)
	}
	if p.Mbps <= 0 || over <= 2*poll {
		return nil
	}
	share := func(d time.Duration) float64 { return min(1, bits/(float64(p.Mbps)*1e6*d.Seconds())) }
	return &page.Load{Low: share(over + poll), High: share(over - poll), Over: over}
}
