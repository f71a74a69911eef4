package metrics

import (
	"strings"
	"time"
)

// A Kind is the meaning of a value.
type Kind uint8

// The kinds of values.
const (
	Gauge   Kind = iota // the present value
	Counter             // only grows, until it restarts
)

// A Family is a metric with one name, help, unit and kind. Prometheus and OpenTelemetry get the same families.
type Family struct {
	Name   string // for Prometheus: counters end in _total
	Help   string
	Unit   string // a UCUM unit: By, {packet}; empty if there is none
	Kind   Kind
	Labels []string
	Points []Point
}

// A Point is a value of a family.
type Point struct {
	Labels []string // the values of the family's labels
	Value  float64
	Count  uint64    // the exact value of a counter
	Start  time.Time // since when a counter counts, as far as observed

	epoch string // identifies the process that counts
}

// starts holds, by series, the time since when a counter counts.
type starts map[string]begun

// A begun is the last observation of a counter.
type begun struct {
	start, seen time.Time
	count       uint64
	epoch       string
}

// date sets the time since when each counter counts. A counter seen for the first time counts since now. A counter that
// is lower than before, or has another epoch, has restarted after it was last seen. Vanished counters are forgotten.
func (s starts) date(all []Family, now time.Time) {
	var key strings.Builder
	for i := range all {
		if all[i].Kind != Counter {
			continue
		}
		for j := range all[i].Points {
			p := &all[i].Points[j]
			key.Reset()
			key.WriteString(all[i].Name)
			for _, v := range p.Labels {
				key.WriteByte(0)
				key.WriteString(v)
			}
			b, known := s[key.String()]
			switch {
			case !known:
				b.start = now
			case p.Count < b.count || p.epoch != b.epoch:
				b.start = b.seen
			}
			b.seen, b.count, b.epoch = now, p.Count, p.epoch
			s[key.String()], p.Start = b, b.start
		}
	}
	for key, b := range s {
		if !b.seen.Equal(now) {
			delete(s, key)
		}
	}
}
