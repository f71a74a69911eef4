package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/fleet/join"
)

// What several kinds of sources tell of the same packets is not added up, and the time that packets were in switches
// is told with how many of them it is of.
func TestCounted(t *testing.T) {
	s := newCountedStore(nil, "", nil)
	b := &result.Batch{Hops: []result.Hop{{Packets: 10, Unknown: 6, Resident: result.Distribution{Count: 4, Sum: 8e9}}}}
	for _, source := range []string{"ipfix", "record", "ipfix"} {
		b.Drops = append(b.Drops, result.Drop{Reason: "acl", Source: source, Packets: 3})
	}
	for i := range mostReasons {
		b.Drops = append(b.Drops, result.Drop{Reason: fmt.Sprint(i), Source: "sflow", Packets: 1})
	}
	s.count(b)
	got := map[string]float64{}
	d := &daemon{store: s, pool: &join.Pool{}}
	d.collectPool(newFamilies(), func(f family, value float64, labels ...string) {
		_, name, _ := strings.Cut(f.desc.String(), `fqName: "tamtam_collectd_`)
		name, _, _ = strings.Cut(name, `"`)
		named := name == "dropped_packets_total" && !strings.Contains("0123456789", labels[0][:1])
		if named || strings.HasPrefix(name, "hop_") {
			got[strings.Join(append([]string{name}, labels...), " ")] = value
		}
	})
	want := map[string]float64{
		"hop_packets_total": 10, "hop_residence_packets_total": 4, "hop_residence_seconds_total": 8,
		"dropped_packets_total acl ipfix": 6, "dropped_packets_total acl record": 3, "dropped_packets_total other sflow": 2}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
