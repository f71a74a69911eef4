package marking

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/lab"
	"tamtam/tam/altmark"
)

// A markCase is a random experiment of alternate marking: two or three switches in a row, with one flow group that is
// marked and measured.
type markCase struct {
	session altmark.Session
	points  int
	link    [2]lab.Impairment
	offset  [3]lab.Time // offsets of the clocks
	traffic lab.Traffic
	holds   bool // true if packets and clocks are as the sessions claim
	periods int
	family  string
}

// randomCase returns a random case. In four of five cases, delays, held-back packets and clocks are within the limits
// of the sessions.
func randomCase(rnd *rand.Rand) markCase {
	n := altmark.Interval(rnd.IntN(13) - 10)
	l := length(n)
	c := markCase{points: 2 + rnd.IntN(2), holds: rnd.IntN(5) > 0, periods: 16, family: "4"}
	s, family := randomMarks(rnd, n)
	c.family = family
	s.ClockError = time.Duration(rnd.Int64N(int64(l/lab.Nanosecond)/16) + 100)
	s.MinDelay = time.Duration(rnd.Int64N(int64(l / lab.Nanosecond / 40)))
	s.MaxDelay = s.MinDelay + time.Duration(rnd.Int64N(int64(l/lab.Nanosecond/16))+int64(l/lab.Nanosecond/32))
	c.session = s
	c.impair(rnd)
	for i := 1; i < c.points; i++ {
		c.offset[i] = lab.Time(rnd.Int64N(int64(s.ClockError))) * lab.Nanosecond
		if rnd.IntN(2) == 0 {
			c.offset[i] = -c.offset[i]
		}
	}
	if c.points == 3 { // A is between any two points
		c.offset[1], c.offset[2] = c.offset[1]/2/lab.Nanosecond*lab.Nanosecond, c.offset[2]/2/lab.Nanosecond*lab.Nanosecond
	}
	c.traffic = randomMarkTraffic(rnd, l, c.family == "6" && s.Mark == altmark.IPv6Loss)
	return c
}

// randomMarks draws how packets are marked, and their family: "4", or "6".
func randomMarks(rnd *rand.Rand, n altmark.Interval) (s altmark.Session, family string) {
	s, family = altmark.Session{Method: altmark.Method(1 + rnd.IntN(4)), Interval: n}, "4"
	switch rnd.IntN(6) {
	case 0:
		s.Mark = altmark.IPv4Reserved
	case 1:
		s.Mark, family = altmark.IPv6Loss, "6"
	case 2:
		s.Mark, family = altmark.Mark(1+rnd.IntN(6)), "6"
	default:
		s.Mark = altmark.Mark(1 + rnd.IntN(6))
	}
	if s.Method == altmark.Double {
		for s.Mark2 = s.Mark; s.Mark2 == s.Mark; {
			s.Mark2 = altmark.Mark(1 + rnd.IntN(6))
		}
		if s.Mark == altmark.IPv6Loss {
			s.Mark2 = altmark.IPv6Delay
		}
	}
	s.SlotSync = s.Method != altmark.Muxed || rnd.IntN(3) > 0
	return s, family
}

// impair divides the allowance of the sessions among the links, half of it for each.
func (c *markCase) impair(rnd *rand.Rand) {
	const chips = 3 * lab.Microsecond // more than the switches need
	least, most := lab.Time(c.session.MinDelay)*lab.Nanosecond,
		lab.Time(c.session.MaxDelay)*lab.Nanosecond-lab.Time(c.points-1)*chips
	for i := range c.points - 1 {
		m := &c.link[i]
		parts := lab.Time(c.points - 1)
		room := (most - least) / parts
		m.Delay = least + room/8 + lab.Time(rnd.Int64N(int64(room/4))) // the first point has MinDelay, like all points
		if i > 0 {
			m.Delay = lab.Time(rnd.Int64N(int64(room/4))) + lab.Nanosecond
		}
		switch rnd.IntN(4) {
		case 0:
			m.Jitter = lab.Jitter{Max: lab.Time(rnd.Int64N(int64(room / 4)))}
		case 1:
			m.Burst = lab.Burst{GoodToBad: 1_000_000_000 / 100, BadToGood: 1_000_000_000 / 5}
		}
		m.Loss = lab.Probability(rnd.IntN(3) * rnd.IntN(1_000_000_000/8))
		if rnd.IntN(2) == 0 {
			m.Reorder = lab.Reorder{Probability: 1_000_000_000 / 50, Delay: room/8 + 1}
		}
		if rnd.IntN(6) == 0 {
			m.Duplicate = 1_000_000_000 / 100
		}
	}
	if !c.holds {
		c.link[0].Reorder = lab.Reorder{Probability: 1_000_000_000 / 50,
			Delay: most + lab.Time(rnd.Int64N(int64(length(c.session.Interval)/4)))}
	}
}

// randomMarkTraffic sends from one packet in several periods to some hundreds in each.
func randomMarkTraffic(rnd *rand.Rand, l lab.Time, option bool) lab.Traffic {
	t := lab.Traffic{Name: "t", From: "h1", To: "h2", Start: lab.Microsecond,
		Headers: lab.Headers{DstPort: 5000, AltMark: option},
		Size:    lab.Sizes{Uniform: [2]uint16{90, uint16(90 + rnd.IntN(1400))}}}
	perPeriod := []uint64{1, 4, 20, 100, 400}[rnd.IntN(5)]
	t.PPS = max(1, uint64(lab.Second)*perPeriod/uint64(l))
	switch rnd.IntN(3) {
	case 0:
		t.Kind = "poisson"
	case 1:
		t.Kind, t.Burst = "onoff", lab.OnOff{On: 1 + lab.Time(rnd.Int64N(int64(l))),
			Off: 1 + lab.Time(rnd.Int64N(int64(2*l))), Random: true}
	}
	return t
}

// topology returns the case as read from a file.
func (c *markCase) topology(t *testing.T, events string) *lab.Topology {
	t.Helper()
	var b strings.Builder
	session := func(role string) string {
		s := c.session
		text := fmt.Sprintf(
			"{flowgroup: f, role: %s, method: %v, interval: %q, mark: %v, slot-sync: %q, clock-error: %q, delay-min: %q, "+
				"delay-max: %q",
			role, s.Method, fmt.Sprint(int(s.Interval)), s.Mark, fmt.Sprint(s.SlotSync), fmt.Sprint(int64(s.ClockError)),
			fmt.Sprint(int64(s.MinDelay)), fmt.Sprint(int64(s.MaxDelay)))
		if s.Mark2 != altmark.NoMark {
			text += fmt.Sprintf(", mark2: %v", s.Mark2)
		}
		if role == "terminator" {
			text += `, clear: "true"`
		}
		return text + "}"
	}
	fmt.Fprintf(&b, `
x-config: &config
  PORT:
    Ethernet0: {lanes: "1,2,3,4", speed: "100000", admin_status: up}
    Ethernet4: {lanes: "5,6,7,8", speed: "100000", admin_status: up}
  VLAN: {Vlan10: {vlanid: "10"}}
  VLAN_MEMBER:
    Vlan10|Ethernet0: {tagging_mode: untagged}
    Vlan10|Ethernet4: {tagging_mode: untagged}
  TAM_FEATURES_TABLE: {ALTMARK: {status: ACTIVE}}
  TAM_FLOWGROUP_TABLE: {f: {id: "1"}}
  ACL_RULE: {"TAM|f": {PRIORITY: "10", %s: "17", L4_DST_PORT: "5000"}}
switches:
`, map[string]string{"4": "IP_PROTOCOL", "6": "NEXT_HEADER"}[c.family])
	var links, points strings.Builder
	for i := range c.points {
		role := "transit"
		if i == 0 {
			role = "initiator"
		} else if i == c.points-1 {
			role = "terminator"
		}
		fmt.Fprintf(&b,
			"- name: s%d\n  profile: rmt20\n  clock: {offset: %dns}\n  config: {<<: *config, TAM_ALTMARK_TABLE: {am: %s}}\n", i,
			c.offset[i]/lab.Nanosecond, session(role))
		if i > 0 {
			fmt.Fprintf(&links, "- {name: l%d, a: \"s%d:Ethernet4\", b: \"s%d:Ethernet0\", delay: 1us}\n", i-1, i-1, i)
			points.WriteString(", ")
		}
		fmt.Fprintf(&points, "\"s%d:am\"", i)
	}
	address := map[string]string{"4": "10.0.0.%d/24", "6": "2001:db8::%d/64"}[c.family]
	fmt.Fprintf(&b, "hosts:\n- {name: h1, ips: [\"%s\"]}\n- {name: h2, ips: [\"%s\"]}\n", fmt.Sprintf(address, 1),
		fmt.Sprintf(address, 2))
	fmt.Fprintf(&b,
		"links:\n- {a: h1, b: \"s0:Ethernet0\", delay: 50ns}\n- {a: h2, b: \"s%d:Ethernet4\", delay: 50ns}\n%s", c.points-1,
		links.String())
	fmt.Fprintf(&b, "altmark: {paths: [{name: p, points: [%s]}]}\n%s", points.String(), events)
	top, err := parse("case.yaml", b.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	for i := range c.points - 1 {
		top.Links[2+i].Impairment = c.link[i]
	}
	top.Traffic = []lab.Traffic{c.traffic}
	return top
}

// judge compares every period of every segment with the truth. Measured values must be true, and missing values must
// have a reason. It returns the number of complete periods.
func (c *markCase) judge(t *testing.T, r *lab.Result) (complete int) {
	t.Helper()
	for _, s := range reportOf(r)["p"].Segments {
		var from, to int
		fmt.Sscanf(s.From+s.To, "s%ds%d", &from, &to)
		for i, p := range s.Periods {
			where := fmt.Sprintf("%s to %s, period %d", s.From, s.To, i)
			if p.Status == "ok" {
				complete++
			} else if len(p.Reasons) == 0 {
				t.Errorf("%s is %s for no reason", where, p.Status)
			}
			if p.Status == "ok" && c.session.Method.Loss() && p.Lost == nil {
				t.Errorf("%s is ok, without a loss", where)
			}
			if p.Lost != nil && *p.Lost != p.lostByCopies() {
				t.Errorf("%s (%s): %d lost of %d, truly %d of %d, of which %d came again %q", where, p.Status, *p.Lost, *p.Sent,
					p.TrueLost,
					p.TrueSent, p.TrueDoubled, p.Reasons)
			}
			if p.Delay == nil {
				continue
			}
			// A timestamp is up to a cycle (0.8 ns) and 1 ns of rounding from the truth.
			if p.TrueDelay == nil {
				t.Errorf("%s (%s): a delay of %v, but no packet to be measured came", where, p.Status, *p.Delay)
			} else if e := lab.Time(*p.Delay)*lab.Nanosecond - *p.TrueDelay - (c.offset[to] - c.offset[from]); e < -1800 ||
				e > 1800 {
				t.Errorf("%s (%s): delay %v, truly %v, clocks %v apart: an error of %v", where, p.Status, *p.Delay, *p.TrueDelay,
					c.offset[to]-c.offset[from], e)
			}
		}
	}
	return complete
}

// lostByCopies returns the loss if each copy of a packet counts as a packet, as it does for a point.
func (p *Period) lostByCopies() int64 {
	return p.TrueLost + int64(p.TrueDoubled[0]) - int64(p.TrueDoubled[1])
}

// A complete period reports the truth, to the packet and to the clock cycle. Every other period reports why it is not
// complete. This holds for any traffic, even sparse, any method, interval and mark, any loss, reordering and duplicates
// on the links, and clocks that differ.
func TestAnyMarkedTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	var complete atomic.Int64
	fixed := randtest.Cases{Count: 10}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		t.Parallel()
		complete.Add(int64(anyMarkedTraffic(t, 20, seed)))
	})
	t.Logf("%d complete periods in %d cases", complete.Load(), run.Count)
	if run.Whole(fixed) && complete.Load() < int64(5*run.Count) {
		t.Errorf("%d complete periods in %d cases, want five a case at least", complete.Load(), run.Count)
	}
}

// These cases once gave wrong numbers.
func TestMarkedTrafficAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	for name, n := range map[string]uint64{
		"muxed, a pulse late by half a period":                    140,
		"pulse, a clock that has the pulses in the period before": 91,
		"muxed without slots, few packets":                        51,
		"muxed without slots, a packet in several periods":        84,
		"muxed without slots, duplicates":                         147,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			anyMarkedTraffic(t, 21, n)
		})
	}
}

// anyMarkedTraffic runs and judges a case. It returns the number of complete periods.
func anyMarkedTraffic(t *testing.T, stream, n uint64) int {
	t.Helper()
	rnd := rand.New(rand.NewPCG(stream, n))
	c := randomCase(rnd)
	top := c.topology(t, "")
	r, err := lab.Run(t.Context(), withTime(top, lab.Time(c.periods)*length(c.session.Interval)),
		lab.Options{Seed: rnd.Uint64() | 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	complete := c.judge(t, r)
	if t.Failed() {
		t.Logf("%d points, %+v, holds %v, links %+v, traffic %+v", c.points, c.session, c.holds, c.link, c.traffic)
	}
	return complete
}

func withTime(t *lab.Topology, d lab.Time) *lab.Topology {
	t.Duration = d
	return t
}
