package marking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/lab"
	"tamtam/swss"
)

// markedPair returns a topology of two switches with a session on each, with a method and an interval. Only the oracle
// is checked here.
func markedPair(t *testing.T, method string, interval int, more string) *lab.Topology {
	t.Helper()
	mark2 := ""
	if method == "double" {
		mark2 = ", mark2: dscp1"
	}
	text := fmt.Sprintf(`
switches:
- name: s1
  config: &config
    PORT:
      Ethernet0: {lanes: "1,2,3,4", speed: "100000", admin_status: up}
      Ethernet4: {lanes: "5,6,7,8", speed: "100000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER:
      Vlan10|Ethernet0: {tagging_mode: untagged}
      Vlan10|Ethernet4: {tagging_mode: untagged}
    TAM_FEATURES_TABLE: {ALTMARK: {status: ACTIVE}}
    TAM_FLOWGROUP_TABLE: {f: {id: "1"}}
    ACL_RULE: {"TAM|f": {PRIORITY: "10", IP_PROTOCOL: "17", L4_DST_PORT: "5000"}}
    TAM_ALTMARK_TABLE: {am: {flowgroup: f, role: initiator, method: %[1]s, interval: "%[2]d", mark: dscp0%[3]s}}
- name: s2
  config:
    <<: *config
    TAM_ALTMARK_TABLE: {am: {flowgroup: f, role: terminator, method: %[1]s, interval: "%[2]d", mark: dscp0%[3]s}}
hosts:
- {name: h1, ips: [10.0.0.1/24]}
- {name: h2, ips: [10.0.0.2/24]}
links:
- {a: h1, b: "s1:Ethernet0", delay: 50ns}
- {name: middle, a: "s1:Ethernet4", b: "s2:Ethernet0", delay: 500ns}
- {a: "s2:Ethernet4", b: h2, delay: 50ns}
altmark:
  paths:
  - {name: p, points: ["s1:am", "s2:am"]}
%[4]s`, method, interval, mark2, more)
	top, err := parse("pair.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// runTruth runs a topology and returns the oracle's result for its first path.
func runTruth(t *testing.T, top *lab.Topology, d lab.Time) (*markTruth, *lab.Result) {
	t.Helper()
	l, seen := newLab(t, top, lab.Options{Workers: 1})
	defer l.Close()
	if err := l.Run(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	r, err := l.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seen.paths[0].truth, r
}

// 1000 frames a second are sent in periods of 1/1024 s. The oracle's count of each period equals the frames sent in it.
// Its losses equal those of the link, for the flow group only.
func TestTruthOfPeriods(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	top := markedPair(t, "step", -10, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, pps: 20480, start: 0s, count: 2000}
- {name: other, from: h1, to: h2, dst_port: 5001, pps: 3000, start: 1ms, count: 200}
`)
	top.Links[1].Loss = 1_000_000_000 / 10
	top.Links[1].Reorder = lab.Reorder{Probability: 1_000_000_000 / 20, Delay: 200 * lab.Microsecond}
	truth, r := runTruth(t, top, 120*lab.Millisecond)
	var sent, received uint64
	first := uint64(lab.Epoch().Unix()) << 10
	for key, p := range truth.periods {
		k := key.number
		// Frame n leaves at n/20480 s and arrives a little more than 50 ns later: 20 in each period.
		n, _, came := p.account(truth.path.segments[0], anySource)
		if k >= first && k < first+100 && n != 20 {
			t.Errorf("period %d after the start has %d packets, want 20", k-first, n)
		}
		sent, received = sent+n, received+came
	}
	if f := r.Flows["marked"]; sent != f.Sent || received != f.Received || f.Lost == 0 {
		t.Errorf("oracle: %d sent, %d received, want %d and %d", sent, received, f.Sent, f.Received)
	}
	seventh := truth.numbered(first+7, truth.path.segments[0], nil)
	if sent, lost, _ := seventh.account(truth.path.segments[0], anySource); sent != 20 || lost < 0 || lost > 20 {
		t.Errorf("period 7: %d sent, %d lost", sent, lost)
	}
	if _, ok := seventh.delay(truth.path.segments[0]); ok {
		t.Error("step marking has a measured packet")
	}
}

// The oracle identifies packets by their names. Its counts do not depend on rules of points after the first, headers
// that switches add, duplicates or mirror copies.
func TestTruthIsIndependent(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	const lossless = false
	rows := func(top *lab.Topology, i int, tables map[string]map[string]map[string]string) {
		for table, rows := range tables {
			to := top.Switches[i].Config.Tables
			if to[table] == nil {
				to[table] = map[string]swss.FieldValues{}
			}
			for key, row := range rows {
				to[table][key] = row
			}
		}
	}
	ifa := func(role string) map[string]map[string]map[string]string {
		return map[string]map[string]map[string]string{
			"TAM":            {"device": {"device-id": fmt.Sprint(len(role))}},
			"TAM_FLOW_GROUP": {"g": {}, "g|r": {"src_ip_prefix": "10.0.0.0/16", "dst_ip_prefix": "0.0.0.0/0"}},
			"TAM_SESSION":    {"i": {"type": "ifa", "role": role, "flow_group": "g"}},
		}
	}
	for name, c := range map[string]struct {
		change func(top *lab.Topology)
		lossy  bool
	}{
		"a rule that matches nothing": {func(top *lab.Topology) {
			rows(top, 1, map[string]map[string]map[string]string{"ACL_RULE": {"TAM|f": {"PRIORITY": "10", "L4_DST_PORT": "7"}}})
		}, true},
		"a rule that is edited": {func(top *lab.Topology) {
			for _, sw := range []string{"s1", "s2"} {
				top.Events = append(top.Events, lab.Event{At: 30 * lab.Millisecond, Do: "config", Switch: sw,
					Set: map[string]map[string]string{"ACL_RULE|TAM|f": {"PRIORITY": "10", "L4_DST_PORT": "7"}}})
			}
		}, true},
		"IFA": {func(top *lab.Topology) {
			rows(top, 0, ifa("initiator"))
			rows(top, 1, ifa("terminator"))
		}, true},
		"duplicates": {func(top *lab.Topology) { top.Links[1].Duplicate = 1_000_000_000 / 2 }, lossless},
		"mirror copies on the same link": {func(top *lab.Topology) {
			rows(top, 0, map[string]map[string]map[string]string{"MIRROR_SESSION": {
				"m": {"type": "SPAN", "dst_port": "Ethernet4", "src_port": "Ethernet0", "direction": "RX"}}})
		}, lossless},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := markedPair(t, "step", -7, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, pps: 20480, size: 300, start: 100us, count: 1000}
`)
			if c.lossy {
				top.Links[1].Loss = 1_000_000_000 / 10
			}
			c.change(top)
			_, r := runTruth(t, top, 70*lab.Millisecond)
			n := reportOf(r)["p"].Segments[0].Numbers
			sent, lost := int64(r.Flows["marked"].Sent), int64(r.Flows["marked"].Lost)
			if n["truth.sent"] != sent || n["truth.lost"] != lost || n["truth.received"] != sent-lost || sent != 1000 ||
				(lost > 0) != c.lossy {
				t.Errorf("%d sent, %d received, %d lost, truly %d sent and %d lost", n["truth.sent"], n["truth.received"],
					n["truth.lost"],
					sent, lost)
			}
			if again := n["truth.doubled"]; (again > 400) != (name == "duplicates") {
				t.Errorf("%d packets came again", again)
			}
		})
	}
}

// The truth of a path can cover a part of the traffic, whatever the flow group matches.
func TestTruthOfTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	top := markedPair(t, "step", -7, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, pps: 20480, start: 100us, count: 300}
- {name: other, from: h1, to: h2, dst_port: 5001, pps: 20480, start: 100us, count: 200}
`)
	studyOf(top).AltMark.Paths[0].Traffic = []string{"other"}
	_, r := runTruth(t, top, 70*lab.Millisecond)
	if n := reportOf(r)["p"].Segments[0].Numbers; n["truth.sent"] != 200 || n["truth.lost"] != 0 {
		t.Errorf("%d sent, %d lost, want 200 and 0", n["truth.sent"], n["truth.lost"])
	}
	studyOf(top).AltMark.Paths[0].Traffic = []string{"none"}
	if _, err := lab.New(t.Context(), top, lab.Options{Workers: 1}); err == nil ||
		!strings.Contains(err.Error(),
			`altmark.paths[p].traffic[0]: "none": want the name of a traffic source of this file`) {
		t.Errorf("a name of no traffic source: %v", err)
	}
}

// The measured packet is the first of its period; for muxed marking, the first of its third quarter. Its delay is exact
// to the picosecond.
func TestTruthOfDelays(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	for method, want := range map[string]int{"pulse": 0, "double": 0, "muxed": 10} {
		top := markedPair(t, method, -10, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, pps: 20480, start: 0s, count: 200}
`)
		truth, r := runTruth(t, top, 20*lab.Millisecond)
		first := uint64(lab.Epoch().Unix()) << 10
		const timeBits = 48 // the low bits of a frame's name hold the time when it was sent
		for k := first; k < first+10; k++ {
			p := truth.periods[period{k, 0}]
			id := p.pulse
			n := int((id&(1<<timeBits-1))*20480/uint64(lab.Second)) - 20*int(k-first)
			if id == 0 || n != want {
				t.Errorf("%s: the measured packet of period %d is number %d of it, want %d", method, k-first, n, want)
			}
			d, ok := p.delay(truth.path.segments[0])
			// All frames are alike and do not queue. So host to host is the same as point to point, two switches later.
			if least := r.Flows["marked"].Delay.Min; !ok || d <= 500*lab.Nanosecond || d >= least {
				t.Errorf("%s: true delay %v, want more than the link and less than %v from host to host", method, d, least)
			}
		}
	}
}

// An impossible path is refused, with place, field and value.
func TestAltMarkPathsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	for points, want := range map[string]string{
		`["s1:am"]`:          "altmark.paths[p].points: \"1\": want 2 to 16 points",
		`["s1:am", "s3:am"]`: `altmark.paths[p].points[1]: "s3:am": want SWITCH:SESSION, a switch of this file`,
		`["s1:am", "s1:am"]`: "a switch that has no other point of the path",
		`["s1:am", "s2"]`:    `"s2": want SWITCH:SESSION`,
		`["s1:am", "s2:none"]`: `altmark.paths[p].points[1]: "s2:none": the switch's configuration has no ` +
			`TAM_ALTMARK_TABLE|none; it has am`,
	} {
		top := markedPair(t, "step", 0, "")
		list := strings.Fields(strings.NewReplacer("[", "", "]", "", `"`, "", ",", "").Replace(points))
		studyOf(top).AltMark.Paths[0].Points = list
		_, err := lab.New(t.Context(), top, lab.Options{Workers: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", points, err, want)
		}
	}
}

// A segment without an ok period has no loss, no loss error and no delay. They are not 0.
func TestMetricsOfNothing(t *testing.T) {
	s := &Segment{From: "a", To: "b", Periods: []Period{{Status: "flagged"}}}
	s.count()
	r := Report{"p": {Segments: []*Segment{s}}}
	for _, name := range append([]string{"lost.at.0s", "delay.at.0s"}, sometimes...) {
		s.length = lab.Millisecond
		if m, ok := r.Metric("p.a.b." + name); !ok || m.Known() {
			t.Errorf("%s: %+v, %v: want that it is not measured", name, m, ok)
		}
	}
	for name, want := range map[string]int64{"flagged": 1, "complete": 0, "delay.samples": 0} {
		if m, ok := r.Metric("p.a.b." + name); !ok || m.Value != want {
			t.Errorf("%s: %+v, %v: want %d", name, m, ok, want)
		}
	}
	if m, ok := r.Metric("p.a.b.loss_error.median"); ok {
		t.Errorf("loss_error.median: %+v", m)
	}
}

// A mean of packets may be fractional. A value that is the same in all periods correlates with nothing, whatever the
// rounding.
func TestMetricsOfPackets(t *testing.T) {
	s := &Segment{From: "a", To: "b"}
	for i := range 1000 {
		sent, received, lost, delay := uint64(10), uint64(10-i%2), int64(i%2), time.Duration(99999999)
		s.Periods = append(s.Periods, Period{Status: "ok", Sent: &sent, Received: &received, Lost: &lost, Delay: &delay})
	}
	s.count()
	r := Report{"p": {Segments: []*Segment{s}}}
	for name, want := range map[string]lab.Metric{
		"loss.mean": {Value: 500_000, Unit: lab.Millionths}, "loss_error.mean": {Value: 500_000, Unit: lab.Millionths},
		"loss.max": {Value: 1, Unit: "packets"}, "delay.mean": {Value: 99999999000, Unit: "ps"},
	} {
		if m, ok := r.Metric("p.a.b." + name); !ok || m != want {
			t.Errorf("%s: %+v, %v: want %+v", name, m, ok, want)
		}
	}
	if m, ok := r.Metric("p.a.b.correlation"); !ok || m.Known() {
		t.Errorf("correlation: %+v, %v: want that there is none", m, ok)
	}
}
