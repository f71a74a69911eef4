package fates

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/device/packettrace"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// The account of drops balances at any time, with packets in flight and after more drops than are kept. Each frame that
// was received, sent by the CPU or copied has left, reached the CPU, was dropped, or is in flight. By reason and port,
// the account contains all drops, like the ports' counters. By rule and flow, it contains only the drops that are still
// kept.
func TestDropAccountBalances(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 40, Count: 2}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 23))
		g := newFateGenerator(rnd)
		for _, name := range []string{"Ethernet0", "Ethernet1"} {
			g.config["PORT"][name]["admin_status"] = "up"
		}
		s := devicetest.NewSim(t, device.SimConfig{Config: g.config, Profile: profile.Small()})
		s.Chip.SetOutput(func(*saisim.Out) {})
		devicetest.RunUntilIdle(t, s)
		shows := devicetest.StartShows(t, s)
		receive := func(port string, data []byte) {
			id, _ := s.Chip.PortByName(port)
			devicetest.NoError(t, s.Chip.Receive(id, s.Chip.Now(), saisim.Frame{Data: data}))
			s.Chip.Advance(s.Chip.Now() + saisim.Cycle(rnd.IntN(150)))
		}
		for i := range 200 {
			receive(g.frame(i))
			if rnd.IntN(50) == 0 {
				checkAccount(t, s, shows)
			}
		}
		if a := checkAccount(t, s, shows); a.Lost != 0 {
			t.Errorf("%d lost before the chip, and none were", a.Lost)
		}
		id, _ := s.Chip.PortByName("Ethernet0")
		s.Chip.AddLost(id, 33, 5)
		evil := append([]byte{2, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
			10, 0, 0, 0}, make([]byte, 26)...)
		for i := range saisim.KeptDrops + rnd.IntN(1000) {
			evil[33] = byte(rnd.IntN(30))
			receive([]string{"Ethernet0", "Ethernet1"}[i%2], evil)
		}
		if a := checkAccount(t, s, shows); a.Forgotten == 0 || a.Kept != saisim.KeptDrops || a.Lost != 33 {
			t.Errorf("%d are kept, %d forgotten, %d lost before the chip; want 33 lost", a.Kept, a.Forgotten, a.Lost)
		}
	})
}

// checkAccount requests the account in all forms and checks that it balances.
func checkAccount(t *testing.T, s *device.Sim, shows func(string) string) (a packettrace.DropsAnswer) {
	t.Helper()
	counts := s.Chip.FrameCounts()
	dropped := uint64(0)
	for _, n := range counts.Dropped {
		dropped += n
	}
	if !counts.Balanced() {
		t.Errorf("books %+v", counts)
	}
	for _, by := range []string{"reason", "port", "rule", "flow"} {
		a = packettrace.DropsAnswer{}
		devicetest.NoError(t, json.Unmarshal([]byte(shows("show drops by "+by+" last 3 | json")), &a))
		sum, want := uint64(0), map[string]uint64{"reason": dropped, "port": dropped, "rule": a.Kept, "flow": a.Kept}[by]
		for _, r := range a.Rows {
			sum += r.Count
			if id, ok := s.Chip.PortByName(r.Name); by == "port" && ok {
				c, _ := s.Chip.PortCounters(id)
				for why, n := range c.Dropped {
					if n != r.Reasons[drop.Reason(why).String()] {
						t.Errorf("%s of %s: %d, the port has counted %d", drop.Reason(why).String(), r.Name,
							r.Reasons[drop.Reason(why).String()], n)
					}
				}
			}
		}
		if sum != want || a.Total != dropped || a.Kept+a.Forgotten != dropped || len(a.Last) != int(min(3, dropped)) {
			t.Errorf("by %s: rows of %d, want %d; %d in all, %d kept, %d forgotten, the last %d; the books have %d", by, sum,
				want,
				a.Total, a.Kept, a.Forgotten, len(a.Last), dropped)
		}
	}
	return a
}
