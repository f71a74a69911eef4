package lacp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// 6.3.5: ports of different speeds are not aggregated, whatever their partners. Aggregated ports stay, and the others
// follow when these are gone.
func TestSpeeds(t *testing.T) {
	const other = "current detached (the port has %d Mb/s, and those that PortChannel1 aggregates %d)"
	speeds := func(fast ...uint32) func(*Aggregate) {
		return func(c *Aggregate) {
			for i, s := range fast {
				c.Members[i].Speed = s
			}
		}
	}
	b := newBench(t, speeds(10000, 25000))
	b.both(2, allSync)
	b.pass(AggregateWait)
	b.both(2, allSync)
	b.want("current distributing; " + fmt.Sprintf(other, 25000, 10000))
	if s := b.a.Statuses(b.now)[1]; s.Actor.State&Synchronization != 0 || s.Selected {
		t.Errorf("of the port that is not selected it says %+v", s.Actor)
	}
	b = negotiated(t, speeds(10000, 10000))
	b.c.Members = slices.Clone(b.c.Members)
	speeds(10000, 40000)(&b.c) // faster, and later
	b.configure()
	b.want("current distributing; " + fmt.Sprintf(other, 40000, 10000))
	b.up(0, false)
	b.pass(AggregateWait)
	b.says(b.partner(2, "Ethernet4", allSync), "Ethernet4")
	b.want("disabled detached (the port is down); current distributing")
	b.up(0, true)
	b.both(2, allSync)
	b.want(fmt.Sprintf(other, 10000, 40000) + "; current distributing")
	b.c.Members = slices.Clone(b.c.Members)
	speeds(40000)(&b.c)
	b.configure()
	b.pass(AggregateWait)
	b.both(2, allSync)
	b.want("current distributing; current distributing")
}

// A member that changes its incarnation is negotiated again, though all else is unchanged. It keeps its counters.
func TestIncarnation(t *testing.T) {
	b := negotiated(t)
	received := b.a.Statuses(b.now)[1].Counts.Received
	b.c.Members = slices.Clone(b.c.Members)
	b.c.Members[1].Incarnation = "2"
	b.configure()
	b.want("current distributing; expired detached (no LACPDU has come in yet)")
	b.wantSpoke("0 1")
	if s := b.a.Statuses(b.now)[1]; s.Incarnation != "2" || s.Counts.Received != received {
		t.Errorf("it is %+v", s)
	}
	b.both(2, allSync)
	b.pass(AggregateWait)
	b.both(2, allSync)
	b.want("current distributing; current distributing")
}

// A port accepts 10 LACPDUs in a second, whatever their source and contents. The other link is not affected, and
// afterwards the port recovers.
func TestFlappingPartner(t *testing.T) {
	b := negotiated(t)
	for round := range 50 {
		for i := range 40 {
			p := b.partner(byte(round), "Ethernet0", State(i))
			p.Key, p.Port = uint16(i), uint16(round*i)
			_ = b.a.Receive(b.now, "Ethernet0", format(p.System.MAC, p, Info{}))
			b.after()
		}
		b.pass(100 * time.Millisecond)
	}
	s := b.a.Statuses(b.now)
	if c := s[0].Counts; c.Received > 60 || c.Received+c.Discarded[PDULimit] < 2000 || c.Sent > 30 {
		t.Errorf("counted %+v", c)
	}
	if p := b.a.ports["Ethernet0"]; len(p.sent) > maxSent || len(p.accepted) > maxReceived ||
		cap(p.accepted) > 4*maxReceived {
		t.Errorf("it remembers %d and %d", len(p.sent), cap(p.accepted))
	}
	if s[1].Mux != MuxDistributing || s[1].Counts.Changed != 1 {
		t.Errorf("the other is %+v", s[1])
	}
	b.pass(time.Second)
	b.both(2, allSync)
	b.pass(AggregateWait)
	b.both(2, allSync)
	b.want("current distributing; current distributing")
}

// A replay of earlier LACPDUs, of another link or of a past state, is corrected by the partner's next LACPDU.
func TestReplay(t *testing.T) {
	b := newBench(t)
	var past [][]byte
	says := func(state State) {
		i := b.partner(2, "Ethernet0", state)
		f := format(i.System.MAC, i, b.a.Statuses(b.now)[0].Actor)
		past = append(past, f)
		if err := b.a.Receive(b.now, "Ethernet0", f); err != nil {
			t.Fatal(err)
		}
		b.after()
	}
	says(0)
	b.pass(AggregateWait)
	says(Synchronization)
	says(allSync)
	for i := range past {
		for _, port := range []string{"Ethernet4", "Ethernet0"} {
			_ = b.a.Receive(b.now, port, past[i])
			b.after()
		}
		b.pass(time.Second)
		says(allSync)
		if s := b.a.Statuses(b.now); s[0].Mux != MuxDistributing || s[1].Mux > MuxAttached {
			t.Errorf("behind replay %d: %s and %s", i, s[0].Mux, s[1].Mux)
		}
	}
}

// Frames are random, or LACPDUs with random bytes, of any length. Each is counted once, a port that is up sends no more
// than the standard allows, and two correct switches negotiate afterwards.
func TestHostileFrames(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 6, Short: 2}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t, func(c *Aggregate) { c.Fast, c.Fallback = rng.IntN(2) == 0, rng.IntN(2) == 0 })
		frames, refused := uint64(0), uint64(0)
		for range 300 {
			f := format(sys(2).MAC, b.partner(byte(rng.IntN(3)), "Ethernet0", State(rng.Uint32())), b.a.Statuses(b.now)[0].Actor)
			if rng.IntN(4) == 0 {
				f = marker(byte(rng.IntN(3)))
			}
			switch rng.IntN(5) {
			case 0:
				f = f[:rng.IntN(len(f)+1)]
			case 1:
				f[header+rng.IntN(len(f)-header)] = byte(rng.Uint32())
			case 2:
				f[header+3], f[header+3+infoLength] = 255, 255 // lengths of TLVs
			case 3:
				f = append(f, make([]byte, rng.IntN(9000))...)
			}
			err := b.a.Receive(b.now, "Ethernet0", f)
			frames++
			b.after()
			s := b.a.Statuses(b.now)[0]
			reported := s.Counts.Received + s.Counts.Markers + s.Counts.Answers
			for why, n := range s.Counts.Discarded {
				if why != MarkerLimit { // such a marker also counts as a marker
					reported += n
				}
			}
			if err != nil {
				refused++
			}
			if reported != frames || discarded(s) != refused {
				t.Fatalf("%d frames, %d refused, counted %+v", frames, refused, s.Counts)
			}
			b.pass(time.Duration(rng.IntN(1<<rng.IntN(12))) * time.Millisecond)
		}
		if n := len(b.sent); float64(n) > 2*(maxSent+maxMarkers)*(b.now.Sub(noon).Seconds()+2) {
			t.Errorf("sent %d frames in %v", n, b.now.Sub(noon))
		}
		b.pass(LongTime + ShortTime)
		b.both(2, 0)
		b.pass(AggregateWait)
		b.both(2, allSync)
		b.want("current distributing; current distributing")
	})
}

func discarded(s Status) (n uint64) {
	for _, m := range s.Counts.Discarded {
		n += m
	}
	return n
}
