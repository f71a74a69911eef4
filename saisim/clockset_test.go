package saisim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// A clockChange is a change of the clock at a cycle. Without a step it changes drift or rate.
type clockChange struct {
	at   saisim.Cycle
	step time.Duration
}

// setWithin reports whether the clock was set after a cycle and before another one. Events of a cycle come before the
// clock is set in it, so a departure in that cycle still uses the old clock.
func setWithin(changes []clockChange, from, to saisim.Cycle) bool {
	for _, c := range changes {
		if c.step != 0 && from < c.at && c.at < to {
			return true
		}
	}
	return false
}

// changeClock sets the clock, or changes its drift or rate, at the current cycle.
func changeClock(t *testing.T, r *rig, rnd *rand.Rand) clockChange {
	c := clockChange{at: r.Now()}
	var err error
	switch rnd.IntN(4) {
	case 0:
		err = r.SetClockDrift(rnd.Int64N(2*saisim.MaxClockRate) - saisim.MaxClockRate)
	case 1:
		err = r.SetClockRate(rnd.Int64N(2*saisim.MaxClockRate) - saisim.MaxClockRate)
	default:
		c.step = time.Duration(rnd.Int64N(1 << rnd.IntN(40)))
		if c.step == 0 || rnd.IntN(2) == 0 {
			c.step = -c.step - 1
		}
		err = r.StepClock(c.step)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A frame that is in the chip when the clock is set is flagged in its record and in its hop of IFA. No other frame is:
// neither if only drift or rate change, nor if the clock is set in the cycle of the arrival.
func TestClockSetInFlight(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 36_001, Count: 40}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 36))
		r := newRig(t, profile.Small())
		r.send(1, udpFrame(2, 1, 60))
		r.stampAll(7)
		analysed := rnd.IntN(2) == 0
		if analysed {
			r.transit(r.create(sai.ObjectTypeTAMInt, ifaObject(7)...))
		}
		arrived, frame := map[uint64]saisim.Cycle{}, udpFrame(1, 2, 60)
		if analysed {
			frame = append(frame[:14:14], ifa.Insert(frame[14:], 20, 8, ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255},
				ifa.Metadata{HopLimit: 3}, &ifa.Hop{Device: 1})...)
		}
		r.SetObserver(func(m saisim.Moment) {
			if m.What == saisim.MomentReceived {
				arrived[m.ID] = m.At
			}
		})
		at := r.Now() + 100
		var changes []clockChange
		for id := range uint64(200) {
			noError(t, r.Receive(0, at, saisim.Frame{Data: frame, ID: id}))
			next := at + saisim.Cycle(100+rnd.IntN(120))
			if rnd.IntN(4) == 0 {
				c := at + saisim.Cycle(rnd.IntN(100))
				if rnd.IntN(8) == 0 {
					c = at
				}
				r.Advance(c)
				for range 1 + rnd.IntN(2) {
					changes = append(changes, changeClock(t, r, rnd))
				}
			}
			at = next
		}
		set := 0
		outs := r.drain()
		for _, o := range outs {
			rec := decode(t, o)
			want := setWithin(changes, arrived[o.id], o.at)
			if want {
				set++
			}
			if got := rec.Flags&tailstamp.ClockSet != 0; got != want {
				t.Errorf("frame %d, %d to %d, changes %v: the record says %v, want %v", o.id, arrived[o.id], o.at, changes, got,
					want)
			}
			if _, ok := rec.Latency(); ok == want {
				t.Errorf("frame %d has a latency: %v, want %v", o.id, ok, !want)
			}
			if analysed {
				_, end := tailstamp.Decode(o.data)
				p, err := ifa.Decode(o.data[14:end])
				if err != nil || len(p.Hops) != 2 {
					t.Fatalf("%d hops, %v", len(p.Hops), err)
				}
				if _, ok := p.Hops[0].Residing(); ok == want || (p.Hops[0].Trust&ifa.ClockSet != 0) != want {
					t.Errorf("frame %d: its hop %+v, want that the clock was set: %v", o.id, p.Hops[0], want)
				}
			}
		}
		if len(outs) != 200 || set == 0 || set == len(outs) {
			t.Errorf("%d frames left, %d of them in the chip when its clock was set", len(outs), set)
		}
	})
}
