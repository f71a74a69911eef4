package hftmetrics

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/collector/hftread"
	"tamtam/mgmt/metrics"
	"tamtam/tam/hft"
)

// record returns a record of a port's octets, its packets that are in a queue, and the watermark of a queue.
func record(at int64, values ...uint64) *hftread.Record {
	r := &hftread.Record{Record: &hft.Record{At: at, Values: values, Columns: []hft.Column{
		{Statistic: hft.Statistic{Label: 1, Type: 1, ID: 0}, Object: "Ethernet0"},
		{Statistic: hft.Statistic{Label: 2, Type: 1, ID: 0}},
		{Statistic: hft.Statistic{Label: 3, Type: 21, ID: 0x1a}, Object: "Ethernet0|3"},
	}}}
	const octets, watermark = "SAI_PORT_STAT_IF_IN_OCTETS", "SAI_QUEUE_STAT_WATERMARK_BYTES"
	for _, n := range []string{octets, octets, watermark} {
		_, short, _ := strings.Cut(n, "_STAT_")
		r.Statistics = append(r.Statistics, hftread.Name{Type: strings.TrimPrefix(strings.TrimSuffix(n, "_STAT_"+short),
			"SAI_"), SAI: n, Name: short, Kind: hft.KindOf(n)})
	}
	return r
}

// text returns families in lines.
func text(all []metrics.Family) string {
	var b strings.Builder
	for _, f := range all {
		for _, p := range f.Points {
			fmt.Fprintf(&b, "%s %s %d %s=%v", f.Name, f.Unit, f.Kind, strings.Join(p.Labels, " "), p.Value)
			if f.Kind == metrics.Counter {
				fmt.Fprintf(&b, " %d since %d", p.Count, p.Start.UnixNano())
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Counters are counters with the time since which they count. Levels and watermarks are gauges. Each statistic is one
// family.
func TestFamilies(t *testing.T) {
	var s Starts
	for _, c := range []struct {
		at     int64
		values []uint64
		want   string
	}{
		{100, []uint64{10, 1 << 60, 7}, `
hft_port_if_in_octets_total By 1 a Ethernet0=10 10 since 100
hft_port_if_in_octets_total By 1 a label2=1.152921504606847e+18 1152921504606846976 since 100
hft_queue_watermark_bytes By 0 a Ethernet0|3=7
`},
		{200, []uint64{10, 1<<60 + 1, 0}, `
hft_port_if_in_octets_total By 1 a Ethernet0=10 10 since 100
hft_port_if_in_octets_total By 1 a label2=1.152921504606847e+18 1152921504606846977 since 100
hft_queue_watermark_bytes By 0 a Ethernet0|3=0
`},
		{300, []uint64{9, 1<<60 + 1, 0}, `
hft_port_if_in_octets_total By 1 a Ethernet0=9 9 since 200
hft_port_if_in_octets_total By 1 a label2=1.152921504606847e+18 1152921504606846977 since 100
hft_queue_watermark_bytes By 0 a Ethernet0|3=0
`},
		{250, []uint64{8, 0, 0}, ` 
hft_port_if_in_octets_total By 1 a Ethernet0=8 8 since 200
hft_port_if_in_octets_total By 1 a label2=0 0 since 100
hft_queue_watermark_bytes By 0 a Ethernet0|3=0
`},
		{400, []uint64{9, 1<<60 + 1, 0}, `
hft_port_if_in_octets_total By 1 a Ethernet0=9 9 since 200
hft_port_if_in_octets_total By 1 a label2=1.152921504606847e+18 1152921504606846977 since 100
hft_queue_watermark_bytes By 0 a Ethernet0|3=0
`},
	} {
		if got := text(s.Families("a", record(c.at, c.values...))); strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("at %d\n%s\nwant%s", c.at, got, c.want)
		}
	}
	if got := text(s.Families("b", record(500, 1, 1, 1))); !strings.Contains(got, "b Ethernet0=1 1 since 500") {
		t.Errorf("the counters of another exporter are the same:\n%s", got)
	}
}

// The number of counters is bounded: beyond, they count since their next record.
func TestManyCounters(t *testing.T) {
	var s Starts
	for i := range uint32(maxCounters + 1) {
		s.start(counter{domain: i}, 1, 5)
	}
	if got := s.start(counter{domain: 5}, 2, 6); len(s.begun) != 2 || got.UnixNano() != 2 {
		t.Errorf("%d counters, one since %v", len(s.begun), got)
	}
}
