// Package hftmetrics returns records of high-frequency telemetry as families of metrics: counters as counters, levels
// and watermarks as gauges.
//
// What belongs here: names, units and start times. Encoding and sending is that of the outputs.
package hftmetrics

import (
	"strconv"
	"strings"
	"time"

	"tamtam/collector/hftread"
	"tamtam/mgmt/metrics"
	"tamtam/tam/hft"
	"tamtam/tam/ipfix"
)

// A Starts holds the time since which each counter counts, as far as records show it.
type Starts struct {
	begun map[counter]begun
}

// A counter identifies a counter of an exporter.
type counter struct {
	exporter string
	domain   uint32
	hft.Statistic
}

// A begun is the last observation of a counter. Times are in nanoseconds since 1970.
type begun struct {
	start, seen int64
	count       uint64
}

// maxCounters is the maximum number of counters whose start is kept. Beyond, all count since their next record.
const maxCounters = 1 << 17

// labels of each family.
var labels = []string{"exporter", "object"}

// units holds UCUM's units for those of IPFIX.
var units = map[ipfix.Units]string{ipfix.Octets: "By", ipfix.Packets: "{packet}", ipfix.Nanoseconds: "ns"}

// Families returns the families of a record, in the order of its columns. A counter counts since its first record. If
// it is lower than before, it has restarted after the record before.
func (s *Starts) Families(exporter string, r *hftread.Record) (all []metrics.Family) {
	index := map[string]int{}
	for i := range r.Columns {
		c, n := &r.Columns[i], &r.Statistics[i]
		name := "hft_" + strings.ToLower(n.Type+"_"+n.Name)
		p := metrics.Point{Labels: []string{exporter, object(c)}, Value: float64(r.Values[i])}
		if n.Kind == hft.Counter {
			name += "_total"
			p.Count, p.Start = r.Values[i], s.start(counter{exporter, r.Domain, c.Statistic}, r.At, r.Values[i])
		}
		at, ok := index[name]
		if !ok {
			at = len(all)
			index[name] = at
			f := metrics.Family{Name: name, Help: n.SAI, Unit: units[hft.UnitsOf(n.SAI)], Labels: labels}
			if n.Kind == hft.Counter {
				f.Kind = metrics.Counter
			}
			all = append(all, f)
		}
		all[at].Points = append(all[at].Points, p)
	}
	return all
}

// object returns the name of a column's object, or its label.
func object(c *hft.Column) string {
	if c.Object != "" {
		return c.Object
	}
	return "label" + strconv.Itoa(int(c.Label))
}

// start returns the time since which a counter counts, and keeps its value. A record that came late changes nothing.
func (s *Starts) start(key counter, at int64, count uint64) time.Time {
	b, known := s.begun[key]
	switch {
	case !known:
		b.start = at
	case at < b.seen:
		return time.Unix(0, b.start).UTC()
	case count < b.count:
		b.start = b.seen
	}
	if !known && len(s.begun) == maxCounters || s.begun == nil {
		s.begun = map[counter]begun{}
	}
	b.seen, b.count = at, count
	s.begun[key] = b
	return time.Unix(0, b.start).UTC()
}
