package lacp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// A network is two agents, and links between their ports. The links lose, delay and so reorder frames. They are cut,
// with or without the ports going down, and repaired, in simulated time. Permitted states are in force after a delay.
type network struct {
	*testing.T
	rng      *rand.Rand
	now      time.Time
	ends     [2]*Agent
	conf     [2]Aggregate
	loss     float64
	silent   map[string]bool // links that carry nothing, though their ports are up
	fly      []flight
	received [2]map[string]State // state in the last LACPDU at a port
	stale    [2]map[string]time.Time
	asked    [2]map[string]bool // true if collecting was requested, by port
	lag      time.Duration      // delay until states are in force
}

type flight struct {
	at    time.Time
	to    int
	port  string
	data  []byte
	force bool // true if it is not a frame, but a change of whether collecting is in force
	on    bool
}

func newNetwork(t *testing.T, rng *rand.Rand, ports int) *network {
	n := &network{T: t, rng: rng, now: noon, silent: map[string]bool{},
		lag: time.Duration(rng.IntN(20)) * time.Millisecond}
	for e := range n.ends {
		n.ends[e] = New()
		n.received[e], n.stale[e], n.asked[e] = map[string]State{}, map[string]time.Time{}, map[string]bool{}
		n.conf[e] = Aggregate{Name: "PortChannel1", System: sys(byte(1 + e)), Key: 11, Up: true, Fast: rng.IntN(2) == 0}
		for p := range ports {
			n.conf[e].Members = append(n.conf[e].Members, Member{Name: fmt.Sprint("Ethernet", p), Number: uint16(p + 1),
				MAC: sys(byte(1 + e)).MAC})
		}
		n.configure(e)
	}
	return n
}

func (n *network) configure(e int) {
	c := n.conf[e]
	c.Members = slices.Clone(c.Members)
	n.ends[e].Configure(n.now, []Aggregate{c})
	n.after(e)
}

// after sends the frames of an end, and schedules its permitted states to be in force.
func (n *network) after(e int) {
	for _, f := range n.ends[e].Frames() {
		if n.rng.Float64() < n.loss || n.silent[f.Port] || !n.up(1-e, f.Port) || !n.up(e, f.Port) {
			continue
		}
		d := time.Duration(1+n.rng.IntN(30)) * time.Millisecond
		n.fly = append(n.fly, flight{at: n.now.Add(d), to: 1 - e, port: f.Port, data: f.Data})
	}
	for _, m := range n.conf[e].Members {
		if on := n.ends[e].ports[m.Name].mux >= MuxCollecting; on != n.asked[e][m.Name] {
			n.asked[e][m.Name] = on
			n.fly = append(n.fly, flight{at: n.now.Add(n.lag), to: e, port: m.Name, force: true, on: on})
		}
	}
}

func (n *network) up(e int, port string) bool {
	for _, m := range n.conf[e].Members {
		if m.Name == port {
			return m.Up
		}
	}
	return false
}

func (n *network) set(e int, port string, up bool) {
	for i := range n.conf[e].Members {
		if m := &n.conf[e].Members[i]; m.Name == port {
			m.Up = up
		}
	}
	n.configure(e)
	n.check()
}

func (n *network) pass(d time.Duration) {
	for end := n.now.Add(d); ; {
		at := end
		for e := range n.ends {
			if t, ok := n.ends[e].Next(); ok && t.Before(at) {
				at = t
			}
		}
		for _, f := range n.fly {
			if f.at.Before(at) {
				at = f.at
			}
		}
		n.now = at
		for e := range n.ends {
			if t, ok := n.ends[e].Next(); ok && !t.After(n.now) {
				n.ends[e].Advance(n.now)
				n.after(e)
			}
		}
		n.land()
		n.check()
		if !n.now.Before(end) {
			return
		}
	}
}

// land delivers the flights that are due.
func (n *network) land() {
	due := []flight{}
	n.fly = slices.DeleteFunc(n.fly, func(f flight) bool {
		if !f.at.After(n.now) {
			due = append(due, f)
		}
		return !f.at.After(n.now)
	})
	for _, f := range due {
		switch {
		case f.force:
			n.ends[f.to].InForce(n.now, f.port, f.on)
			if out := n.ends[f.to].out; len(out) > 0 {
				n.after(f.to)
			}
		case n.up(f.to, f.port):
			if err := n.ends[f.to].Receive(n.now, f.port, f.data); err != nil {
				n.Fatal(err)
			}
			n.received[f.to][f.port] = State(f.data[header+4+14])
			n.after(f.to)
		}
	}
}

// check checks that no end distributes to a partner whose last LACPDU announced that it does not collect. It also
// checks that no end distributes to one that does not collect for longer than the timeout.
func (n *network) check() {
	for e := range n.ends {
		timeout := LongTime
		if n.conf[e].Fast {
			timeout = ShortTime
		}
		for _, m := range n.conf[e].Members {
			name := m.Name
			distributes := n.ends[e].ports[name].mux == MuxDistributing
			other := n.ends[1-e].ports[name]
			collects := other != nil && other.actor().State&Collecting != 0
			if !distributes || collects {
				delete(n.stale[e], name)
			}
			if !distributes {
				continue
			}
			if n.received[e][name]&Collecting == 0 {
				n.Fatalf(
					"after %v end %d distributes at %s, where it has heard %08b",
					n.now.Sub(noon),
					e,
					name,
					n.received[e][name],
				)
			}
			if collects {
				continue
			}
			if since, ok := n.stale[e][name]; !ok {
				n.stale[e][name] = n.now
			} else if n.now.Sub(since) > timeout+100*time.Millisecond {
				n.Fatalf("for %v end %d distributes at %s to nobody", n.now.Sub(since), e, name)
			}
		}
	}
}

// Two agents have links that lose, delay and reorder LACPDUs, and are cut and repaired, noticed or not; agents are
// restarted. They never distribute into the void for longer than the timers of the standard, and agree soon after the
// links are repaired.
func TestTwoAgents(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 60, Short: 15}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ports := 1 + rng.IntN(4)
		n := newNetwork(t, rng, ports)
		for range 30 {
			n.loss = float64(rng.IntN(4)) / 5
			port := fmt.Sprint("Ethernet", rng.IntN(ports))
			switch rng.IntN(4) {
			case 0:
				n.silent[port] = !n.silent[port]
			case 1:
				n.restart(rng.IntN(2))
			default:
				n.set(rng.IntN(2), port, rng.IntN(3) > 0)
			}
			n.pass(time.Duration(rng.IntN(1<<rng.IntN(17))) * time.Millisecond)
		}
		n.loss = 0
		clear(n.silent)
		for e := range n.ends {
			for _, m := range n.conf[e].Members {
				n.set(e, m.Name, true)
			}
		}
		// At worst both have defaulted, and send every 30 seconds. A reordered LACPDU, which does not occur on real
		// links, is corrected by the next.
		n.pass(2*SlowPeriodic + AggregateWait + time.Second)
		for range 20 {
			n.pass(10 * time.Second)
			for e := range n.ends {
				for _, s := range n.ends[e].Statuses(n.now) {
					if s.Mux != MuxDistributing || !s.Selected {
						t.Fatalf("end %d: %s is %s: %s", e, s.Name, s.Mux, s.Reason)
					}
				}
			}
		}
	})
}

// restart continues an end with a new agent.
func (n *network) restart(e int) {
	c := n.conf[e]
	c.Members = slices.Clone(c.Members)
	for i, s := range n.ends[e].Statuses(n.now) {
		if i < len(c.Members) && s.Name == c.Members[i].Name && s.Receiver == ReceiverCurrent {
			c.Members[i].Before = &Before{s.Partner, s.Mux}
		}
	}
	clear(n.stale[e]) // information of an earlier agent counts as received now
	n.ends[e] = New()
	n.ends[e].Configure(n.now, []Aggregate{c})
	n.after(e)
}
