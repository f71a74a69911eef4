package collector

import (
	"net/netip"
	"strings"
	"testing"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// Records claim any ingress and egress ports. Ports are distinguished up to the limit. The others are counted and
// reported as missing.
func TestPortsAreBounded(t *testing.T) {
	p := recordPlan()
	c, err := NewRecords(p)
	if err != nil {
		t.Fatal(err)
	}
	const packets, room = 3000, 101
	c.Bound(room, 10_000)
	for i := range uint16(packets) {
		r := record.Record{Bits: []byte{fdbHit}, Plan: p.ID, In: record.Time{Seconds: 1000},
			At:     record.Time{Seconds: 1000, Nanoseconds: 7 * uint32(i)},
			InPort: i / 2, OutPort: i, Length: 100}
		if _, ok := c.AddPayload(r.Append(cat(macs, ipv4(6, 0, tcp))), netip.Addr{}); !ok {
			t.Fatalf("record %d was not taken", i)
		}
	}
	report := c.Report()
	plan := &report.Plans[0]
	path := plan.Paths[0]
	reported := func(m map[string]int64) (n int64) {
		for _, k := range m {
			n += k
		}
		return n
	}
	if len(path.Fates)+len(path.Inputs) != room || reported(path.Fates)+path.BeyondFates != packets ||
		reported(path.Inputs)+path.BeyondInputs != packets {
		t.Errorf("%d fates, %d inputs; %d and %d packets beyond", len(path.Fates), len(path.Inputs), path.BeyondFates,
			path.BeyondInputs)
	}
	if plan.BeyondPorts != path.BeyondFates+path.BeyondInputs || path.Latency.Count != packets ||
		path.Latency.Within != sketchWithin {
		t.Errorf("%d ports beyond, latency %+v", plan.BeyondPorts, path.Latency)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	wantParts(t, text.String(), "3000 packets: 3000 with an exact path",
		"5865 ports of arrival or fates of packets not separated (--ports)\n",
		"packets not separated (--ports) to Ethernet0 (1), ", "packets not separated (--ports)\n")
}

// Latencies of records share a budget, like those of tail-stamps.
func TestRecordedLatenciesShareABudget(t *testing.T) {
	p := recordPlan()
	text := decoded(t, smallRun(p), RecordOptions{Plans: []*record.Plan{p}, Memory: 300})
	wantParts(t, text, "4 paths of which no percentiles are known, since 300 bytes were spent (--memory)\n",
		"     1        4    40.00     100  102  101  103  103\n", "     2        2    20.00     200  201    ?    ?  201\n",
		unrankedNote)
}

// Packets of kinds and plans beyond the limits are counted as beyond the limits.
func TestKindsAndPlansBeyondTheBoundAreCounted(t *testing.T) {
	p := recordPlan()
	c, err := NewRecords(p)
	if err != nil {
		t.Fatal(err)
	}
	kinds := c.plans[p.ID].kinds
	for i := range maxKinds {
		kinds[kindKey{packetKind{in: uint16(i), vlan: uint16(i >> 16)},
			recordKey{string([]byte{fdbHit}), recordplan.Knowledge{End: record.EndSent}}}] = 1
	}
	for _, f := range smallRun(p) {
		c.Add(f, len(f))
	}
	for i := range uint32(maxUnknownPlans + 3) {
		other := *p
		other.ID += 1 + i
		c.AddPayload(recorded(&other, 0, 0, 0, 0), netip.Addr{})
	}
	r := c.Report()
	if r.Plans[0].BeyondKinds != 10 || r.Further != 3 || len(r.Unknown) != maxUnknownPlans || r.Other != 0 {
		t.Errorf("%d packets of further kinds, %d of further plans, %d unknown", r.Plans[0].BeyondKinds, r.Further,
			len(r.Unknown))
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	wantParts(t, text.String(), "3 records of further plans, which were not given\n",
		"10 packets of more than 131072 kinds, by which --compare suspects no table\n")
}
