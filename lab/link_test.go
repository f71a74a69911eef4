package lab

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tamtam/internal/racetest"
)

// chain returns a topology of two switches and a link with some impairment. 20,000 frames cross the link.
func chain(extra string) string {
	return fmt.Sprintf(`
experiment: chain
seed: 1
duration: 25ms
switches:
- name: s1
  config: &c
    PORT:
      Ethernet0: {lanes: "1", speed: "100000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "100000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER:
      Vlan10|Ethernet0: {tagging_mode: untagged}
      Vlan10|Ethernet4: {tagging_mode: untagged}
- {name: s2, config: *c}
hosts:
- {name: h1, ips: [10.0.0.1/24, "2001:db8::1/64"]}
- {name: h2, ips: [10.0.0.2/24, "2001:db8::2/64"]}
links:
- {name: left, a: h1, b: "s1:Ethernet0", delay: 0ns}
- {name: right, a: h2, b: "s2:Ethernet0", delay: 0ns}
- {name: mid, a: "s1:Ethernet4", b: "s2:Ethernet4", delay: 2us, %s}
truth:
- {name: web, match: {SRC_IP: 10.0.0.1/32, IP_PROTOCOL: "17"}}
traffic:
- {name: web, from: h1, to: h2, pps: 1000000, start: 100us, count: 20000, size: 128}
`, extra)
}

func runText(t *testing.T, text string, opts Options) (*Result, []byte) {
	t.Helper()
	top, err := Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), top, opts)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return r, out
}

// Each impairment affects frames only as documented. The counters of the link, of the flow group and of the oracle
// agree. Bounds are four standard deviations around the mean; the seed is fixed.
func TestImpairments(t *testing.T) {
	if testing.Short() {
		t.Skip("TestWorkersAgree has workers for the race detector")
	}
	type counts struct{ least, most uint64 }
	none := counts{}
	tests := []struct {
		name, impairment                     string
		lost, burst, corrupt, twice, swapped counts
		spread                               [2]Time // maximum minus minimum delay
	}{
		{name: "none", impairment: "loss: 0", spread: [2]Time{0, Nanosecond}},
		{name: "loss", impairment: "loss: 1%", lost: counts{144, 256}, spread: [2]Time{0, Nanosecond}},
		// Bad for 1/(1+4) of all frames, in bursts of 10 frames on average.
		{name: "bursts", impairment: "burst: {good_to_bad: 0.025, bad_to_good: 0.1}", burst: counts{3400, 4600},
			spread: [2]Time{0, Nanosecond}},
		{name: "corruption", impairment: "corrupt: 0.5%", corrupt: counts{60, 140}, spread: [2]Time{0, Nanosecond}},
		{name: "duplication", impairment: "duplicate: 2%", twice: counts{320, 480}, spread: [2]Time{0, 20 * Nanosecond}},
		{name: "uniform jitter", impairment: "jitter: {max: 5us}", spread: [2]Time{4900 * Nanosecond, 5020 * Nanosecond}},
		{name: "normal jitter", impairment: "jitter: {max: 6us, distribution: normal}",
			spread: [2]Time{3000 * Nanosecond, 6020 * Nanosecond}},
		{name: "exponential jitter", impairment: "jitter: {max: 8us, distribution: exponential}",
			spread: [2]Time{7000 * Nanosecond, 8020 * Nanosecond}},
		{name: "reordering", impairment: "reorder: {probability: 1%, delay: 10us}", swapped: counts{144, 256},
			spread: [2]Time{9900 * Nanosecond, 10050 * Nanosecond}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := runText(t, chain(tt.impairment), Options{Workers: 2})
			w, f, o := r.Links["mid"].AB, r.Flows["web"], r.Truth["web"]
			for what, c := range map[string]struct {
				got  uint64
				want counts
			}{"lost": {w.Lost, tt.lost}, "lost in bursts": {w.Burst, tt.burst}, "corrupt": {w.Corrupt, tt.corrupt},
				"duplicated": {w.Duplicated, tt.twice}, "reordered": {w.Reordered, tt.swapped}, "link down": {w.Down, none}} {
				if c.got < c.want.least || c.got > c.want.most {
					t.Errorf("%s: %d, want %d to %d", what, c.got, c.want.least, c.want.most)
				}
			}
			if lost := w.Lost + w.Burst + w.Corrupt; f.Sent != 20_000 || f.Lost != lost ||
				f.Received != f.Sent-lost+w.Duplicated || f.InFlight != 0 {
				t.Errorf("of %d sent %d are received, %d lost, %d under way; the link lost %d and doubled %d", f.Sent, f.Received,
					f.Lost, f.InFlight, lost, w.Duplicated)
			}
			if o.Delivered != f.Received || o.Frames != f.Sent || o.Copies != f.Copies || o.Delay.MaxPs != uint64(f.Delay.Max) ||
				o.Delay.MeanPs != uint64(f.Delay.Mean) {
				t.Errorf("the oracle saw %+v, the lab %+v", o, f)
			}
			if f.Reordered != w.Reordered {
				t.Errorf("%d frames came late, the link held %d back", f.Reordered, w.Reordered)
			}
			if d := f.Delay.Max - f.Delay.Min; d < tt.spread[0] || d > tt.spread[1] {
				t.Errorf("delays spread over %v, want %v to %v", d, tt.spread[0], tt.spread[1])
			}
		})
	}
}

// Additions to a topology do not change the random choices of the existing parts.
func TestChancesAreIndependent(t *testing.T) {
	racetest.Stepped(t)
	text := chain("loss: 1%, jitter: {max: 3us}, duplicate: 1%")
	r, _ := runText(t, text, Options{Workers: 1})
	more := strings.Replace(text, "hosts:", `hosts:
- {name: h3, ips: [10.0.0.3/24]}`, 1)
	more = strings.Replace(more, "links:", `links:
- {name: extra, a: h3, b: "s3:Ethernet0", loss: 10%}
- {name: extra2, a: "s3:Ethernet4", b: "s4:Ethernet4", loss: 10%}`, 1)
	more = strings.Replace(more, "- {name: s2, config: *c}",
		"- {name: s2, config: *c}\n- {name: s3, config: *c}\n- {name: s4, config: *c}", 1)
	more += "- {name: other, from: h3, to: h1, pps: 1000, kind: poisson}\n"
	s, _ := runText(t, more, Options{Workers: 1})
	a, b := fmt.Sprintf("%+v", r.Flows["web"]), fmt.Sprintf("%+v", s.Flows["web"])
	if a != b {
		t.Errorf("with more around it, web is\n%s, was\n%s", b, a)
	}
	if r, _ := runText(t, text, Options{Seed: 2}); fmt.Sprintf("%+v", r.Flows["web"]) == a {
		t.Error("another seed gives the same")
	}
}

// A ring of switches with every feature gives the same bytes on any number of workers, including its chips' results.
func TestWorkersAgree(t *testing.T) {
	var switches, hosts, links, traffic strings.Builder
	const n = 5
	for i := range n {
		fmt.Fprintf(&switches, "- {name: s%d, profile: %s, config: *c}\n", i, []string{"default", "small"}[i%2])
		fmt.Fprintf(&hosts, "- {name: h%d, ips: [10.0.0.%d/24], capture: true}\n", i, i+1)
		fmt.Fprintf(&links, "- {a: h%d, b: \"s%d:Ethernet0\", loss: 0.1%%, jitter: {max: 300ns}}\n", i, i)
		if i > 0 { // a line, since a ring would loop
			fmt.Fprintf(&links,
				"- {name: r%d, a: \"s%d:Ethernet1\", b: \"s%d:Ethernet2\", delay: %dns, loss: 0.2%%, duplicate: 0.1%%, reorder: "+
					"{probability: 1%%, delay: 3us}}\n",
				i, i-1, i, 300+17*i)
		}
		fmt.Fprintf(&traffic,
			"- {name: a%d, from: h%d, to: h%d, kind: poisson, pps: 1500000, size: imix, flows: {count: 500, zipf: 1.1}}\n", i, i,
			(i+1)%n)
		fmt.Fprintf(&traffic,
			"- {name: b%d, from: h%d, to: h%d, kind: onoff, rate: 8Gbps, size: {uniform: [64, 1518]}, bursts: {on: 20us, off: "+
				"50us, random: true}}\n", i, i, (i+3)%n)
	}
	text := `
seed: 7
duration: 700us
x-config: &c
  PORT:
    Ethernet0: {lanes: "0", speed: "25000", admin_status: up}
    Ethernet1: {lanes: "1", speed: "10000", admin_status: up}
    Ethernet2: {lanes: "2", speed: "10000", admin_status: up}
  VLAN: {Vlan10: {vlanid: "10"}}
  VLAN_MEMBER:
    Vlan10|Ethernet0: {tagging_mode: untagged}
    Vlan10|Ethernet1: {tagging_mode: untagged}
    Vlan10|Ethernet2: {tagging_mode: untagged}
switches:
` + switches.String() + "hosts:\n" + hosts.String() + "links:\n" + links.String() + "traffic:\n" + traffic.String() + `
events:
- {at: 200us, do: down, link: r2}
- {at: 300us, do: up, link: r2}
- {at: 400us, do: restart, switch: s3, what: syncd}
- {at: 450us, do: impair, link: r1, impair: {delay: 250ns, jitter: {max: 1us, distribution: normal}}}
truth:
- {name: all, flows: true}
measure:
- {switch: s1, port: Ethernet1, what: queue-bytes, every: 7us}
`
	r, want := runText(t, text, Options{Workers: 1})
	var lost uint64
	for _, f := range r.Flows {
		lost += f.Lost
	}
	o := r.Truth["all"]
	if lost == 0 || o.Delivered == 0 {
		t.Fatalf("%d frames lost, %d delivered: nothing is shown", lost, o.Delivered)
	}
	for name, n := range r.Switches {
		if !n.Balanced {
			t.Errorf("the books of %s do not balance", name)
		}
	}
	workers := []int{2, 3, 4, 1}
	if testing.Short() {
		workers = workers[:1]
	}
	for _, workers := range workers {
		if _, got := runText(t, text, Options{Workers: workers}); !bytes.Equal(got, want) {
			t.Errorf("%d workers gave another report", workers)
		}
	}
}

// Mirror copies count like other copies: each flow group's account balances.
func TestMirrorsAreAccounted(t *testing.T) {
	racetest.Stepped(t)
	r, _ := runText(t, `
experiment: mirror
duration: 1ms
switches:
- name: s1
  config:
    PORT:
      Ethernet0: {lanes: "1", speed: "100000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "100000", admin_status: up}
      Ethernet8: {lanes: "9", speed: "100000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER:
      Vlan10|Ethernet0: {tagging_mode: untagged}
      Vlan10|Ethernet4: {tagging_mode: untagged}
    MIRROR_SESSION:
      rx: {type: SPAN, dst_port: Ethernet8, src_port: Ethernet0, direction: RX}
      tx: {type: SPAN, dst_port: Ethernet8, src_port: Ethernet4, direction: TX}
hosts:
- {name: h1, ips: [10.0.0.1/24]}
- {name: h2, ips: [10.0.0.2/24]}
- {name: mon, ips: [10.9.0.2/24]}
links:
- {a: h1, b: "s1:Ethernet0"}
- {a: h2, b: "s1:Ethernet4"}
- {a: mon, b: "s1:Ethernet8"}
traffic:
- {name: web, from: h1, to: h2, pps: 100000, start: 20us, count: 90}
truth: [{name: all, match: {IP_PROTOCOL: "17"}}]
`, Options{Workers: 1})
	f := r.Flows["web"]
	if f.Sent != 90 || f.Received != 90 || f.Copies != 180 || f.Stray != 180 || f.InFlight != 0 || f.Lost != 0 {
		t.Errorf("flow group: %+v, want 90 received and two copies of each at the monitor", f)
	}
	if o := r.Truth["all"]; o.Delivered != 90 || o.InFlight != 0 {
		t.Errorf("the oracle: %+v", o)
	}
}
