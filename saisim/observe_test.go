package saisim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/truth"
)

// The observed times of a frame, flooded to two ports of different speeds, agree with the arithmetic of the package
// comment.
func TestMoments(t *testing.T) {
	r := newRig(t, profile.Small())
	r.clearVLAN1()
	vlan := r.vlan(10)
	for _, p := range []saisim.PortID{0, 1, 2} {
		r.member(vlan, r.bridgePort(r.oid(p)), 0)
	}
	var got []string
	r.SetObserver(func(m saisim.Moment) {
		got = append(got, fmt.Sprintf("%s at %s copy %d port %d len %d", m.What, m.Exact(), m.Copy, m.Port, m.Len))
	})
	frame := eth(host(2), host(1), tag(0x8100, 10), ip4(1, 2, 17, 0, udp(1, 2, 54)))
	r.sendAt(0, 100, saisim.Frame{Data: frame, ID: 7})
	// The frame has 100 bytes, 104 with FCS. A byte takes one cycle, so the frame is complete at 204. The pipe takes 4
	// + 4*2 + 5 = 17 cycles to the queue, then 4*2 + 3 = 11 to the MAC. The preamble takes 8. The tag is removed as the
	// copies leave. The egress pipe accepts one copy per cycle.
	want := []string{
		"received at 100 copy 0 port 0 len 100",
		"entered at 204 copy 0 port 0 len 100",
		"queued at 221 copy 1 port 1 len 100",
		"dequeued at 221 copy 1 port 1 len 100",
		"queued at 221 copy 2 port 2 len 100",
		"replicated at 221 copy 0 port 0 len 100",
		"dequeued at 222 copy 2 port 2 len 100",
		"sent at 240 copy 1 port 1 len 96",
		"sent at 241 copy 2 port 2 len 96",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got:\n%s\nwant:\n%s", g, w)
	}
}

// Every frame and every copy has a complete history, under overload, floods, punts, drops at every place, injected
// frames and the removal of a port. The histories add up to the counts of FrameCounts.
func TestMomentsAreWhole(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t, profile.Small())
		check := truth.NewHistories()
		r.SetObserver(check.See)
		for i := range 2000 {
			from, to := byte(rnd.IntN(7)), byte(rnd.IntN(3))
			f := udpFrame(from+1, to+1, 60+rnd.IntN(1400))
			switch rnd.IntN(12) {
			case 0:
				f = f[:rnd.IntN(18)] // a runt
			case 1:
				f[0] = 3 // the frame is flooded
			case 2:
				copy(f, []byte{1, 0x80, 0xc2, 0, 0, 0xe}) // the frame is trapped
			}
			noError(t, r.Receive(saisim.PortID(from), r.Now(), saisim.Frame{Data: f, ID: uint64(i) * 3}))
			if rnd.IntN(9) == 0 {
				noError(t, r.Inject(saisim.PortID(to), saisim.Frame{Data: udpFrame(9, 8, 60), ID: uint64(i)*3 + 1}))
			}
			r.Advance(r.Now() + saisim.Cycle(rnd.IntN(300)))
			if i == 1000 {
				r.SetLink(6, false)
			}
			r.SetLink(5, i%50 != 0)
		}
		r.drain()
		counts := r.FrameCounts()
		if err := check.Check(counts); err != nil {
			t.Error(err)
		}
		if counts.Dropped[drop.Buffer] == 0 || counts.Dropped[drop.Runt] == 0 || counts.ToCPU == 0 {
			t.Errorf("too tame: %+v", counts)
		}
	})
}

// Every registered function is called with each drop, in the order of registration, until it is stopped. The other
// functions are still called then.
func TestDropsAreReportedToAll(t *testing.T) {
	r := newRig(t, profile.Small())
	var got []string
	ask := func(name string) (stop func()) {
		return r.OnDrop(func(d *saisim.Drop) { got = append(got, fmt.Sprint(name, " ", d.ID)) })
	}
	noVLAN := eth(host(2), host(1), tag(0x8100, 99), make([]byte, 60))
	lose := func(id uint64) { r.sendAt(0, r.Now(), saisim.Frame{Data: noVLAN, ID: id}) }
	lose(1)
	first := ask("first")
	lose(2)
	second := ask("second")
	lose(3)
	first()
	first() // a second call changes nothing
	lose(4)
	second()
	lose(5)
	want := "[first 2 first 3 second 3 second 4]"
	if fmt.Sprint(got) != want {
		t.Errorf("told %v, want %s", got, want)
	}
}
