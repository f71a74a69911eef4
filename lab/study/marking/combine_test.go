package marking

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/collector/journey"
	"tamtam/internal/randtest"
	"tamtam/lab"
	"tamtam/saisim/tailstamp"
)

// whatActs lists the features that may act on a flow besides alternate marking.
var whatActs = []string{"stamps", "ifa", "encap", "mirror", "tags", "flymon", "record", "sampling", "drops", "clock"}

// combinations returns all sets of one, two and three features.
func combinations() (all [][]string) {
	n := len(whatActs)
	for i := range n {
		all = append(all, whatActs[i:i+1])
		for j := i + 1; j < n; j++ {
			all = append(all, []string{whatActs[i], whatActs[j]})
			for k := j + 1; k < n; k++ {
				all = append(all, []string{whatActs[i], whatActs[j], whatActs[k]})
			}
		}
	}
	return all
}

// A table holds the rows of a table of CONFIG_DB, by key.
type table map[string]map[string]any

// combined is a chain of switches between two hosts, with one flow on which several features act.
type combined struct {
	rnd      *rand.Rand
	features []string
	switches int
	routed   bool
	v6       bool // true if the flow is IPv6
	protocol string
	session  map[string]any // the fields common to all points
	delays   bool           // true if the method measures delays
	sloted   bool           // true if the method is muxed
	configs  []map[string]table
	stamps   []bool // true for switches that stamp, by switch
	marks    []bool // true for switches that are points, by switch
	set      lab.Time
}

func (c *combined) has(feature string) bool { return slices.Contains(c.features, feature) }

// some returns true with probability 1/n.
func (c *combined) some(n int) bool { return c.rnd.IntN(n) == 0 }

// put sets a row of a switch.
func (c *combined) put(sw int, name, key string, pairs ...string) {
	row := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		row[pairs[i]] = pairs[i+1]
	}
	if c.configs[sw][name] == nil {
		c.configs[sw][name] = table{}
	}
	c.configs[sw][name][key] = row
}

// newCombined returns a random case with the given features.
func newCombined(rnd *rand.Rand, features []string) *combined {
	c := &combined{rnd: rnd, features: features, switches: 3 + rnd.IntN(2), protocol: []string{"udp", "tcp"}[rnd.IntN(2)]}
	c.routed = c.has("encap") || c.has("record") || c.has("drops") || c.some(2)
	c.v6 = !c.routed && c.some(3)
	c.stamps, c.marks = make([]bool, c.switches), make([]bool, c.switches)
	for sw := range c.switches {
		c.configs = append(c.configs, map[string]table{})
		c.ports(sw)
	}
	c.marking()
	for _, f := range features {
		map[string]func(){
			"stamps": c.tailStamping, "ifa": c.analyser, "mirror": c.mirroring, "flymon": c.sketch, "record": c.recording,
			"sampling": c.sampling, "drops": c.dropMonitor, "encap": func() {}, "tags": func() {},
			"clock": func() { c.set = lab.Time(5+rnd.IntN(15)) * lab.Millisecond },
		}[f]()
	}
	return c
}

// address returns the address of the link after a switch, at this switch (end 0) or at the next (end 1).
func address(sw, end int) string { return fmt.Sprintf("172.16.%d.%d", sw, end+1) }

func mac(sw int) string { return fmt.Sprintf("02:00:00:00:01:%02x", sw+1) }

// ports makes the flow pass a switch from Ethernet0 to Ethernet4. A collector is at Ethernet8.
func (c *combined) ports(sw int) {
	for i := range 3 {
		c.put(sw, "PORT", fmt.Sprintf("Ethernet%d", 4*i), "lanes", fmt.Sprint(4*i), "speed", "40000", "admin_status", "up")
	}
	west, east, last := "Ethernet0", "Ethernet4", c.switches-1
	if c.has("tags") { // frames are tagged between switches
		for _, side := range []struct {
			port *string
			vlan int
			on   bool
		}{{&west, 100 + sw - 1, sw > 0}, {&east, 100 + sw, sw < last}} {
			vlan := side.vlan
			if !c.routed {
				vlan = 10
			}
			if side.on {
				name := fmt.Sprintf("Vlan%d", vlan)
				c.put(sw, "VLAN", name, "vlanid", fmt.Sprint(vlan))
				c.put(sw, "VLAN_MEMBER", name+"|"+*side.port, "tagging_mode", "tagged")
				*side.port = name
			}
		}
	}
	if !c.routed {
		c.put(sw, "VLAN", "Vlan10", "vlanid", "10")
		for _, p := range []string{west, east} {
			if strings.HasPrefix(p, "Ethernet") {
				c.put(sw, "VLAN_MEMBER", "Vlan10|"+p, "tagging_mode", "untagged")
			}
		}
		return
	}
	c.route(sw, west, east)
}

// route makes a switch a router between two interfaces.
func (c *combined) route(sw int, west, east string) {
	last := c.switches - 1
	face := func(name string, addresses ...string) {
		in := "INTERFACE"
		if strings.HasPrefix(name, "Vlan") {
			in = "VLAN_INTERFACE"
		}
		c.put(sw, in, name)
		for _, a := range addresses {
			c.put(sw, in, name+"|"+a)
		}
	}
	switch sw {
	case 0:
		face(west, "10.0.1.1/24")
		c.put(sw, "NEIGH", west+"|10.0.1.2", "neigh", "02:00:00:00:aa:01")
	default:
		face(west, address(sw-1, 1)+"/24", fmt.Sprintf("2001:db8:%d::2/64", sw-1))
		c.put(sw, "NEIGH", west+"|"+address(sw-1, 0), "neigh", mac(sw-1))
	}
	switch sw {
	case last:
		face(east, "10.0.2.1/24")
		c.put(sw, "NEIGH", east+"|10.0.2.2", "neigh", "02:00:00:00:bb:01")
	default:
		next := fmt.Sprintf("2001:db8:%d::2", sw)
		face(east, address(sw, 0)+"/24", fmt.Sprintf("2001:db8:%d::1/64", sw))
		c.put(sw, "NEIGH", east+"|"+address(sw, 1), "neigh", mac(sw+1))
		c.put(sw, "NEIGH", east+"|"+next, "neigh", mac(sw+1))
		c.put(sw, "STATIC_ROUTE", "10.0.2.0/24", "nexthop", address(sw, 1))
		c.put(sw, "STATIC_ROUTE", "2001:db8:ff::2/128", "nexthop", next)
	}
	face("Ethernet8", fmt.Sprintf("10.9.%d.1/24", sw))
	c.put(sw, "NEIGH", fmt.Sprintf("Ethernet8|10.9.%d.2", sw), "neigh", fmt.Sprintf("02:00:00:00:cc:%02x", sw+1))
}

// destination returns the destination of the flow.
func (c *combined) destination() string {
	switch {
	case c.routed:
		return "10.0.2.2"
	case c.v6:
		return "2001:db8::2"
	}
	return "10.0.0.2"
}

// marking measures the flow from the first switch to the last, by a random method.
func (c *combined) marking() {
	protocol, key, to := map[string]string{"udp": "17", "tcp": "6"}[c.protocol], "IP_PROTOCOL", "DST_IP"
	width := "/32"
	if c.v6 {
		key, to, width = "NEXT_HEADER", "DST_IPV6", "/128"
	}
	method := []string{"step", "pulse", "double", "muxed"}[c.rnd.IntN(4)]
	c.delays, c.sloted = method != "step", method == "muxed"
	marks := c.rnd.Perm(6)
	pairs := []string{"flowgroup", "web", "method", method, "interval", "-9", "mark", fmt.Sprintf("dscp%d", marks[0])}
	if c.has("encap") {
		pairs = append(pairs[:6], "mark", "ipv6-altmark-l", "flow-mon-id", "4711")
	}
	if method == "double" {
		second := fmt.Sprintf("dscp%d", marks[1])
		if c.has("encap") {
			second = "ipv6-altmark-d"
		}
		pairs = append(pairs, "mark2", second)
	}
	if method != "pulse" && c.some(2) {
		pairs = append(pairs, "mean-delay", "true")
	}
	for sw := range c.switches {
		role, last := "transit", c.switches-1
		if sw == 0 {
			role = "initiator"
		} else if sw == last {
			role = "terminator"
		}
		if c.marks[sw] = role != "transit" || !c.some(4); !c.marks[sw] && !c.has("stamps") {
			continue
		}
		c.put(sw, "TAM_FEATURES_TABLE", "ALTMARK", "status", "ACTIVE")
		c.put(sw, "TAM_FLOWGROUP_TABLE", "web", "id", "1")
		rule := []string{"PRIORITY", "100", to, c.destination() + width, key, protocol}
		row := append([]string{"role", role}, pairs...)
		if c.has("encap") {
			if sw > 0 {
				rule = []string{"PRIORITY", "100", "DST_IPV6", "2001:db8:ff::2/128"}
			}
			if role != "transit" {
				row = append(row, "encap-src", "2001:db8:ff::1", "encap-dst", "2001:db8:ff::2")
				c.put(sw, "LOOPBACK_INTERFACE", "Loopback0")
				c.put(sw, "LOOPBACK_INTERFACE", fmt.Sprintf("Loopback0|2001:db8:ff::%d/128", 1+min(sw, 1)))
			}
		}
		c.put(sw, "ACL_RULE", "TAM|web", rule...)
		if c.marks[sw] {
			c.put(sw, "TAM_ALTMARK_TABLE", "web", row...)
		}
	}
}

// tailStamping makes some switches stamp the flow.
func (c *combined) tailStamping() {
	for sw := range c.switches {
		if c.stamps[sw] = !c.some(4); !c.stamps[sw] {
			continue
		}
		c.put(sw, "TAM_FEATURES_TABLE", "TAILSTAMPING", "status", "ACTIVE")
		c.put(sw, "TAM_SWITCH_TABLE", "global", "switch-id", fmt.Sprint(sw+1))
		c.put(sw, "TAM_TAILSTAMPING_TABLE", "st", "flowgroup", "web")
	}
}

// analyser makes IFA begin at a switch and end at another. Switches between them may be transits, or have no IFA role.
func (c *combined) analyser() {
	begin := c.rnd.IntN(c.switches - 1)
	end := begin + 1 + c.rnd.IntN(c.switches-1-begin)
	sampled := c.some(3)
	for sw := range c.switches {
		device := []string{"device-id", fmt.Sprint(sw + 1)}
		session := ""
		switch {
		case sw == begin:
			session = "initiator"
		case sw == end:
			session = "terminator"
		case begin < sw && sw < end && !c.some(3):
			device = append(device, "ifa", "true")
		default:
			continue
		}
		c.put(sw, "TAM", "device", device...)
		if session == "" {
			continue
		}
		c.put(sw, "TAM_FLOW_GROUP", "f")
		anywhere, width := "0.0.0.0/0", "/32"
		if c.v6 {
			anywhere, width = "::/0", "/128"
		}
		c.put(sw, "TAM_FLOW_GROUP", "f|r", "src_ip_prefix", anywhere, "dst_ip_prefix", c.destination()+width)
		row := []string{"type", "ifa", "role", session, "flow_group", "f"}
		if sampled && session == "initiator" {
			c.put(sw, "TAM_SAMPLINGRATE_TABLE", "s", "sampling-rate", fmt.Sprint(2+c.rnd.IntN(3)))
			row = append(row, "sampler", "s")
		}
		c.put(sw, "TAM_SESSION", "i", row...)
	}
}

// mirroring copies the flow to the collector, as it enters or leaves a switch.
func (c *combined) mirroring() {
	sw := c.rnd.IntN(c.switches)
	side := [][]string{{"src_port", "Ethernet0", "direction", "RX"},
		{"src_port", "Ethernet4", "direction", "TX"}}[c.rnd.IntN(2)]
	if c.routed {
		c.put(sw, "MIRROR_SESSION", "tap", append(side, "type", "ERSPAN", "src_ip", fmt.Sprintf("10.9.%d.1", sw), "dst_ip",
			fmt.Sprintf("10.9.%d.2", sw))...)
		return
	}
	c.put(sw, "MIRROR_SESSION", "tap", append(side, "type", "SPAN", "dst_port", "Ethernet8")...)
}

// sketch counts the flow at a switch.
func (c *combined) sketch() {
	sw := c.rnd.IntN(c.switches)
	c.put(sw, "TAM_FEATURES_TABLE", "FLYMON", "status", "ACTIVE")
	c.put(sw, "TAM_FLYMON_TASK_TABLE", "t", "filter", "any", "key", "5-tuple", "attribute", "frequency", "epoch", "10")
}

// recording makes a switch record the tables that the flow runs.
func (c *combined) recording() {
	sw := c.rnd.IntN(c.switches)
	c.put(sw, "TAM_FEATURES_TABLE", "TABLERECORD", "status", "ACTIVE")
	c.put(sw, "TAM_COLLECTORS_TABLE", "k", "ipaddress", fmt.Sprintf("10.9.%d.2", sw), "port", "4739")
	c.put(sw, "TAM_SWITCH_TABLE", "global", "switch-id", fmt.Sprint(sw+1))
	c.put(sw, "TAM_FLOWGROUP_TABLE", "rec", "id", "2")
	c.put(sw, "ACL_RULE", "TAM|rec", "PRIORITY", "50", "IP_TYPE", "ANY")
	c.put(sw, "TAM_TABLERECORD_TABLE", "r", "flowgroup", "rec", "collector", "k", "phv", "32", "mode", "exec+hit")
}

// sampling samples the flow for the CPU.
func (c *combined) sampling() {
	sw := c.rnd.IntN(c.switches)
	c.put(sw, "SFLOW", "global", "admin_state", "up")
	c.put(sw, "SFLOW_SESSION", "all", "sample_direction", "both")
	c.put(sw, "SFLOW_SESSION", "Ethernet0", "sample_rate", "256")
}

// dropMonitor watches the flow for drops.
func (c *combined) dropMonitor() {
	sw := c.rnd.IntN(c.switches)
	if c.configs[sw]["TAM"] == nil {
		c.put(sw, "TAM", "device", "device-id", fmt.Sprint(sw+1))
	}
	c.put(sw, "TAM_COLLECTOR", "k", "dst_ip", fmt.Sprintf("10.9.%d.2", sw), "dst_port", "4739")
	c.put(sw, "TAM_FLOW_GROUP", "d", "ports", "Ethernet0")
	c.put(sw, "TAM_FLOW_GROUP", "d|r", "src_ip_prefix", "0.0.0.0/0", "dst_ip_prefix", c.destination()+"/32")
	c.put(sw, "TAM_SESSION", "drops", "type", "drop-monitor", "report_type", "ipfix", "flow_group", "d", "collector", "k")
}

// topology returns the case as read from a file.
func (c *combined) topology(t *testing.T) *lab.Topology {
	t.Helper()
	type object = map[string]any
	last := c.switches - 1
	var switches, hosts, links []any
	var points []string
	for sw := range c.switches {
		name := fmt.Sprintf("s%d", sw)
		switches = append(switches, object{"name": name, "mac": mac(sw), "config": c.configs[sw]})
		hosts = append(hosts, object{"name": "k" + name, "mac": fmt.Sprintf("02:00:00:00:cc:%02x", sw+1),
			"ips": []string{fmt.Sprintf("10.9.%d.2/24", sw)}})
		links = append(links, object{"a": name + ":Ethernet8", "b": "k" + name})
		if sw < last {
			links = append(links, object{"name": "l" + name, "a": name + ":Ethernet4", "b": fmt.Sprintf("s%d:Ethernet0", sw+1),
				"delay": "5us", "loss": 0.01})
		}
		if c.marks[sw] {
			points = append(points, name+":web")
		}
	}
	from, to := "10.0.0.1/24", "10.0.0.2/24"
	switch {
	case c.routed:
		from, to = "10.0.1.2/24", "10.0.2.2/24"
	case c.v6:
		from, to = "2001:db8::1/64", "2001:db8::2/64"
	}
	hosts = append(hosts, object{"name": "c", "mac": "02:00:00:00:aa:01", "ips": []string{from}, "capture": true},
		object{"name": "d", "mac": "02:00:00:00:bb:01", "ips": []string{to}, "capture": true})
	links = append(links, object{"a": "c", "b": "s0:Ethernet0", "delay": "50ns"},
		object{"a": fmt.Sprintf("s%d:Ethernet4", last), "b": "d"})
	top := object{
		"switches": switches, "hosts": hosts, "links": links, "duration": "30ms",
		"traffic": []any{object{"name": "web", "from": "c", "to": "d", "protocol": c.protocol, "pps": 60000,
			"kind": "poisson",
			"size": 100 + c.rnd.IntN(600), "start": "20us", "flows": object{"count": 1 + c.rnd.IntN(4)}}},
		"altmark": object{"paths": []any{object{"name": "p", "points": points}}},
	}
	if c.has("clock") {
		by := fmt.Sprint(c.rnd.Int64N(8_000_000)-4_000_000) + "ns"
		top["events"] = []any{object{"at": fmt.Sprint(int64(c.set/lab.Nanosecond)) + "ns", "do": "step-clock",
			"switch": fmt.Sprintf("s%d", 1+c.rnd.IntN(c.switches-1)), "by": by}}
	}
	text, err := json.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parse("case.json", string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return parsed
}

// judge compares the results of alternate marking with the truth. If no clock is set, most periods are complete. They
// have a delay if the method measures one and its packet arrived.
func (c *combined) judge(t *testing.T, r *lab.Result) (complete int) {
	t.Helper()
	for _, s := range reportOf(r)["p"].Segments {
		ok := 0
		for i, p := range s.Periods {
			where := fmt.Sprintf("%s to %s, period %d (%s)", s.From, s.To, i, p.Status)
			if p.Lost != nil && *p.Lost != p.TrueLost {
				t.Errorf("%s: %d lost of %d, truly %d of %d %q", where, *p.Lost, *p.Sent, p.TrueLost, p.TrueSent, p.Reasons)
			}
			if p.Status == "ok" {
				ok++
			} else if len(p.Reasons) == 0 {
				t.Errorf("%s: no reason", where)
			}
			switch {
			case c.has("clock"): // the delays are measured by clocks that differ
			case p.Delay == nil && p.TrueDelay != nil && p.Status == "ok" && c.delays:
				t.Errorf("%s: no delay, truly %v", where, *p.TrueDelay)
			case p.Delay == nil:
			case p.TrueDelay == nil:
				t.Errorf("%s: a delay of %v, but no packet to be measured came", where, *p.Delay)
			case abs(int64(lab.Time(*p.Delay)*lab.Nanosecond-*p.TrueDelay)) > 1800:
				t.Errorf("%s: delay %v, truly %v", where, *p.Delay, *p.TrueDelay)
			}
		}
		// The first two periods, and the last two, cannot be complete. A lost pulse flags three muxed periods.
		least := len(s.Periods) - 6
		if c.sloted {
			least = len(s.Periods) / 3
		}
		if ok < least && !c.has("clock") {
			t.Errorf("%s to %s: %d of %d periods are complete, want %d", s.From, s.To, ok, len(s.Periods), least)
			for _, p := range s.Periods {
				t.Logf("period %d: %s %q", p.Period, p.Status, p.Reasons)
			}
		}
		complete += ok
	}
	return complete
}

// framesOf returns the frames of the flow in a capture.
func framesOf(t *testing.T, file string) (list [][]byte) {
	t.Helper()
	in, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := collector.ParseFlow(p.Data); ok && f.DestPort == 9 {
			list = append(list, slices.Clone(p.Data))
		}
	}
}

// arrived compares the received packets with the sent ones. Each packet arrived as it was sent, except for the fields
// that switches change. It has the stamps of the stamping switches, in their order, with plausible times.
func (c *combined) arrived(t *testing.T, dir string, r *lab.Result) {
	t.Helper()
	sent := map[journey.Key]int{}
	for _, f := range framesOf(t, filepath.Join(dir, "c.sent.pcap")) {
		key, _ := journey.KeyOf(f, len(f))
		sent[key]++
	}
	frames := framesOf(t, filepath.Join(dir, "d.received.pcap"))
	if n := r.Flows["web"].Received; len(frames) == 0 || uint64(len(frames)) != n {
		t.Errorf("%d frames were captured, %d received", len(frames), n)
	}
	var want []uint32
	for sw, stamps := range c.stamps {
		if wrapped := c.has("encap") && sw < c.switches-1; stamps && !wrapped {
			want = append(want, uint32(sw+1))
		}
	}
	for _, f := range frames {
		key, _ := journey.KeyOf(f, len(f))
		if sent[key]--; sent[key] < 0 {
			t.Fatalf("%x came, and was not sent so", f)
		}
		records, _ := tailstamp.Decode(f)
		var got []uint32
		for _, rec := range records {
			got = append(got, rec.SwitchID)
			if d, ok := rec.Latency(); ok && (d <= 0 || d > time.Millisecond) {
				t.Fatalf("a latency of %v: %+v", d, rec)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("stamps of %v, want %v: %x", got, want, f)
		}
	}
}

// With any two or three features on one flow, alternate marking reports the truth, as it does without them. The packets
// arrive as they were sent, with their stamps.
func TestFeaturesTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	all := combinations()
	var complete atomic.Int64
	run := randtest.Run(t, randtest.Cases{Seed: 36_400, Count: 5}, func(t *testing.T, seed uint64) {
		t.Parallel()
		rnd := rand.New(rand.NewPCG(seed, 36))
		// consecutive seeds have all combinations, in mixed order
		complete.Add(int64(together(t, rnd, all[seed*61%uint64(len(all))])))
	})
	t.Logf("%d complete periods in %d cases of %d combinations", complete.Load(), run.Count, len(all))
}

// Alternate marking by each method works on a flow with IFA and stamps, where a switch between has no IFA role.
func TestMarkingWithIFA(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 36_500, Count: 2}, func(t *testing.T, seed uint64) {
		t.Parallel()
		together(t, rand.New(rand.NewPCG(seed, 36)), []string{"ifa", "stamps"}[:1+seed%2])
	})
}

// together runs and judges a case. It returns how many periods are complete.
func together(t *testing.T, rnd *rand.Rand, features []string) int {
	t.Helper()
	c := newCombined(rnd, features)
	dir := t.TempDir()
	top := c.topology(t)
	l, err := lab.New(t.Context(), top, lab.Options{Seed: rnd.Uint64() | 1, Workers: 1, Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Run(t.Context(), top.RunTime()); err != nil {
		t.Fatal(err)
	}
	r, err := l.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, sw := range r.Switches {
		for _, p := range sw.Problems {
			if p.Object != "SFLOW|global" { // there is no sflowd, and the samples go to the CPU
				t.Errorf("%s: %v", name, p)
			}
		}
	}
	complete := c.judge(t, r)
	c.arrived(t, dir, r)
	if t.Failed() {
		t.Logf("features %v, %d switches, routed %v, IPv6 %v, points %v, stamps %v", c.features, c.switches, c.routed, c.v6,
			c.marks, c.stamps)
		for sw, config := range c.configs {
			for _, name := range slices.Sorted(maps.Keys(config)) {
				if strings.HasPrefix(name, "TAM") || strings.HasPrefix(name, "MIRROR") {
					t.Logf("s%d %s %v", sw, name, config[name])
				}
			}
		}
	}
	return complete
}
