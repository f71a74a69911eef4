package hostd

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"tamtam/host"
	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A neighbourhood is hosts at Ethernet0. Some are alive, and some have a static row of tammgrd or of another client.
type neighbourhood struct {
	*bench
	*rand.Rand
	alive  [5]bool
	static [5]string // its MAC address; "" if there is none
	config [5]bool   // true if the static row is tammgrd's
}

func (s *neighbourhood) addr(i int) string { return fmt.Sprintf("10.0.0.%d", 10+i) }

func (s *neighbourhood) row(i int) swss.FieldValues {
	s.Helper()
	row, found, err := swss.NewTable(s.redis.DB(swss.ApplDB), schema.AppNeigh).Get(s.Context(), "Ethernet0:"+s.addr(i))
	if err != nil {
		s.Fatal(err)
	}
	if !found {
		return nil
	}
	return row
}

// answer answers the ARP requests for hosts that are alive.
func (s *neighbourhood) answer() {
	s.Helper()
	for again := true; again; {
		again = false
		sent := s.sent
		s.sent = nil
		for _, f := range sent {
			d := f.Data
			if d[12] != 8 || d[13] != 6 || d[21] != 1 {
				continue
			}
			target := netip.AddrFrom4([4]byte(d[38:42])).String()
			for i := range s.alive {
				if s.alive[i] && target == s.addr(i) {
					s.arp("Ethernet0", 0, 2, byte(10+i), target, "10.0.0.1")
					again = true
				}
			}
		}
	}
}

func (s *neighbourhood) passAnswered(d time.Duration) {
	s.Helper()
	for end := s.now.Add(d); s.now.Before(end); {
		s.pass(min(time.Second, end.Sub(s.now)))
		s.answer()
	}
}

// op performs one random operation, and describes it.
func (s *neighbourhood) op() string {
	i := s.IntN(len(s.alive))
	name := "Ethernet0:" + s.addr(i)
	switch s.IntN(9) {
	case 0, 1: // tammgrd's row, or another client's where there is none
		mac, config := fmt.Sprintf("02:00:00:00:09:%02x", s.IntN(256)), s.IntN(3) > 0
		if row := s.row(i); s.static[i] != "" || !config && row != nil {
			return "nothing"
		}
		s.static[i], s.config[i] = mac, config
		pairs := []string{"neigh", mac, "family", "IPv4"}
		if config {
			pairs = append(pairs, schema.FieldConfigKey, "Ethernet0|"+s.addr(i))
		}
		s.appl(schema.AppNeigh, name, pairs...)
		s.step()
		return "static " + name
	case 2:
		if s.static[i] == "" {
			return "nothing"
		}
		s.static[i] = ""
		s.appl(schema.AppNeigh, name)
		s.step()
		return "no static " + name
	case 3, 4:
		if !s.alive[i] {
			return "nothing"
		}
		s.arp("Ethernet0", 0, 1, byte(10+i), s.addr(i), "10.0.0.1")
		return "asked by " + name
	case 5:
		s.alive[i] = !s.alive[i]
		return fmt.Sprintf("%s lives: %v", name, s.alive[i])
	case 6:
		s.start()
		return "restart"
	case 7:
		s.line(nil)
		s.pass(time.Duration(s.IntN(600)) * time.Second)
		s.line(s.bench)
		return "without CPU port for a while"
	}
	s.passAnswered(time.Duration(s.IntN(400)) * time.Second)
	return "time"
}

// Whatever the order of operations, a row of NEIGH_TABLE belongs to its owner. A static row stays as it was written
// until its owner removes it, and hostd has a row exactly for each host that is alive.
func TestRowsAreTheirOwners(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 12, Short: 3}, func(t *testing.T, seed uint64) {
		s := &neighbourhood{bench: newBench(t), Rand: rand.New(rand.NewPCG(seed, 17))}
		var done []string
		check := func() {
			t.Helper()
			for i := range s.static {
				row := s.row(i)
				_, config := row[schema.FieldConfigKey]
				switch {
				case s.static[i] != "" && (row["neigh"] != s.static[i] || config != s.config[i]):
					t.Fatalf("%s: the static row is %v, want %s\n%q", s.addr(i), row, s.static[i], done)
				case s.static[i] == "" && row != nil && (config || row["neigh"] != host.MAC{2, 0, 0, 0, 0, byte(10 + i)}.String()):
					t.Fatalf("%s: the row is %v\n%q", s.addr(i), row, done)
				}
			}
		}
		for range 60 {
			done = append(done, s.op())
			check()
		}
		for i := range s.alive {
			if s.alive[i] {
				s.arp("Ethernet0", 0, 1, byte(10+i), s.addr(i), "10.0.0.1")
			}
		}
		s.passAnswered(10 * time.Minute)
		check()
		for i := range s.alive {
			if row := s.row(i); s.static[i] == "" && (row != nil) != s.alive[i] {
				t.Errorf("%s lives: %v, and its row is %v\n%q", s.addr(i), s.alive[i], row, done)
			}
		}
	})
}
