package metrics

import (
	"strings"
	"time"
)

// A Kind is what a value means.
type Kind uint8

// The kinds that there are.
const (
	Gauge   Kind = iota // as it is now
	Counter             // only grows, until it begins anew
)

// A Family is what has one name, help, unit and kind: Prometheus and OpenTelemetry are told the same.
type Family struct {
	Name   string // as Prometheus has it: counters end in _total
	Help   string
	Unit   string // in UCUM's words: By, {packet}; "": none
	Kind   Kind
	Labels []string
	Points []Point
}

// A Point is a value of a family.
type Point struct {
	Labels []string // the values of the family's labels
	Value  float64
	Count  uint64    // of a counter, the same exactly
	Start  time.Time // since when a counter counts, as far as that was seen

	epoch string // that it belongs to
}

// starts are since when counters count, by series.
type starts map[string]begun

// A begun is what was last seen of a counter.
type begun struct {
	start, seen time.Time
	count       uint64
	epoch       string
}

// date says of each counter since when it counts. One that is seen for the first time counts since now, for all that is
// known; one that is lower than before, or is another's, has begun anew after it was last seen. Who is not there any
// more is forgotten.
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
