package calibration

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// hosts makes each of the hosts send a number of frames in an epoch, at even distances.
func (s *sketched) hosts(epoch, hosts, each int) {
	s.Helper()
	n := hosts * each
	for i := range n {
		at := s.at(epoch, (float64(i)+0.5)/float64(n))
		devicetest.NoError(s.T, s.Chip.Receive(0, at, saisim.Frame{Data: sketchFrame(s.T, i%hosts, 1000, 80)}))
	}
}

// Counter Braids on a switch are decoded. The chip reports every flow, and the heavy flows are correct. With more
// flows than it can report, the row contains how many may be missing.
func TestCounterBraidsOnASwitch(t *testing.T) {
	s := newSketched(t, func(c *device.SimConfig) { c.Profile.FlyMon.Groups, c.Profile.FlyMon.Digests = 9, 64 })
	s.task("braids", "algorithm", "counter-braids", "rows", "2", "memory", "512", "threshold", "10")
	s.wantStatus(schema.StateTAMFlyMonTask, "braids", "active")
	sent := s.traffic(1001, 1001, 200)
	s.advance(1002, 0.2)
	r, flows := s.result("braids"), s.row(swss.CountersDB, schema.CountersFlyMonFlows, "braids")
	heavy := 0
	for host, n := range sent[1001] {
		e, err := schema.ParseFlyMonEstimate(flows[fmt.Sprintf("10.0.0.%d", host)])
		if n < 10 {
			continue
		}
		if heavy++; err != nil || e.Value != float64(n) || e.Confidence != 1 {
			t.Errorf("host %d: %+v, %v, want %d", host, e, err, n)
		}
	}
	m := r.Metrics[flymon.MetricHeavy]
	if m.Exact == nil || *m.Exact != float64(heavy) || m.Value != float64(heavy) || heavy == 0 || r.DigestsLost != 0 {
		t.Errorf("%+v, want %d heavy flows", r, heavy)
	}
	s.hosts(1003, 100, 2)
	s.advance(1004, 0.2)
	if r := s.result("braids"); r.DigestsLost != 72 || r.Flags&flymon.FlagDigests == 0 {
		t.Errorf("%+v, want 72 packets of 36 flows that the chip had no room to report", r)
	}
}

// Every answer is reported with the oracle's value. This includes each of many queries, and the similarity of two
// epochs.
func TestEveryAnswerHasItsExactValue(t *testing.T) {
	s := newSketched(t, func(c *device.SimConfig) { c.Profile.FlyMon.Groups = 9 })
	s.task("t1")
	s.task("odd", "key", "none", "attribute", "similarity(src-ip)")
	const hosts = 300
	db := s.Redis.DB(swss.ConfigDB).Client()
	for k := range hosts + 33 {
		row := swss.FieldValues{"task": "t1", "flow": fmt.Sprintf("10.0.%d.%d", k>>8, k&255)}
		devicetest.NoError(t, db.HSet(s.Context(), fmt.Sprintf("%s|q%d", schema.CfgTAMFlyMonQuery, k), row).Err())
	}
	devicetest.RunUntilIdle(t, s.Sim)
	s.hosts(1001, hosts, 2)
	s.hosts(1002, hosts, 3)
	s.hosts(1003, hosts/2, 1)
	s.advance(1003, 0.2)
	for k := range hosts + 33 {
		row := s.row(swss.CountersDB, schema.CountersFlyMonAnswer, fmt.Sprint("q", k))
		want := 3.0
		if k >= hosts {
			want = 0
		}
		if e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"]); err != nil || e.Exact == nil || *e.Exact != want {
			t.Fatalf("query %d: %v, want exactly %v", k, row, want)
		}
	}
	similar := func(jaccard, difference float64) {
		t.Helper()
		m := s.result("odd").Metrics
		for name, want := range map[string]float64{flymon.MetricJaccard: jaccard, flymon.MetricDifference: difference} {
			if e := m[name]; e.Exact == nil || *e.Exact != want || e.Lower > want || e.Upper < want {
				t.Errorf("%s is %+v, want %v", name, e, want)
			}
		}
		if e := m[flymon.MetricMembers]; e.Exact == nil {
			t.Errorf("%+v", e)
		}
	}
	similar(1, 0)
	s.advance(1004, 0.2)
	similar(0.5, hosts/2)
	s.advance(1005, 0.2) // an epoch without packets
	similar(0, hosts/2)
	s.advance(1006, 0.2)
	similar(1, 0)
}

// A trivial bound is left out, also in COUNTERS_DB.
func TestNoBoundIsNoNumber(t *testing.T) {
	s := newSketched(t)
	s.task("tower", "algorithm", "tower")
	s.task("heavy", "attribute", "distinct(src-port)", "key", "src-ip", "threshold", "3")
	s.traffic(1001, 1001, 200)
	s.advance(1002, 0.2)
	for _, table := range []string{schema.CountersFlyMonFlows, schema.CountersFlyMonResult} {
		for _, task := range []string{"tower", "heavy"} {
			for name, text := range s.row(swss.CountersDB, table, task) {
				if strings.Contains(text, "e+30") {
					t.Errorf("%s of %s, %s: %s", table, task, name, text)
				}
			}
		}
	}
}
