package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// newSketchedLoad returns a load in which each packet is measured by a count-min sketch of three rows over two epochs.
// If more is true, there are also 30 tasks of one host each and a spliced task of every fourth packet.
func newSketchedLoad(t testing.TB, more bool) *load {
	t.Helper()
	l := newLoad(t, 0, false)
	s := sketcher{l.rig}
	cms := counting(t, "cms", "5-tuple", 0, 0, 0, 16384)
	for cmu := 1; cmu < 3; cmu++ {
		u := cms.Units[0]
		u.CMU, u.Key.Shift = cmu, uint8(8*cmu)
		cms.Units = append(cms.Units, u)
	}
	cms.Epoch, cms.Digest = 1_000_000, &flymon.Digest{Threshold: 100, Key: flowKey(t, "5-tuple")}
	s.task(cms)
	if more {
		for i := range uint32(30) {
			s.task(filtered(t, counting(t, "host"+string(rune('A'+i)), "src-port", 4+int(i%2), 1, 2048*(i/2), 2048),
				"src-ip="+netipFrom4([4]byte{10, 0, 0, byte(1 + i)}).String()))
		}
		s.task(filtered(t, counting(t, "spliced", "dst-ip", 10, 0, 0, 2048), "src-ip=10.0.0.8/29"))
	}
	return l
}

// Measuring on the packet path does not allocate.
func TestSketchingDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for name, more := range map[string]bool{"one task": false, "32 tasks": true} {
		t.Run(name, func(t *testing.T) {
			l := newSketchedLoad(t, more)
			l.allocatesNothing(t, 20_000)
			l.drain()
			s := sketcher{l.rig}
			if b := s.status("cms").Banks; b[0].Packets == 0 || b[0].DigestsLost+uint64(b[0].Digests) == 0 {
				t.Errorf("%+v, want packets and digests", b)
			}
			if more && s.status("spliced").Banks[0].Packets < 1000 {
				t.Errorf("%+v, want packets", s.status("spliced").Banks[0])
			}
		})
	}
}

// The oracle's exact counts may allocate. Otherwise a chip with an oracle behaves like one without.
func TestOracleOfAChip(t *testing.T) {
	p := profile.Small()
	for _, oracle := range []int{0, 3} {
		s := &sketcher{newRigOf(t, saisim.Config{Profile: p, Start: start, Oracle: oracle})}
		s.task(counting(t, "t", "src-ip", 0, 0, 0, 32))
		for i := range 20 {
			s.send(0, udpFrame(byte(1+i%5), 99, 60))
		}
		if b := s.status("t").Banks[0]; b.Packets != 140 {
			t.Errorf("%+v", b)
		}
		if oracle == 0 {
			_, err := s.extend(flymon.ObjectTruth, entryOf(t, "read", map[string]any{"task": "t", "bank": 0}))
			s.wantStatus(err, sai.StatusNotSupported)
			continue
		}
		var truth struct {
			Flows    int
			Packets  uint64
			Overflow bool
			Entropy  float64
		}
		s.ask(flymon.ObjectTruth, "read", map[string]any{"task": "t", "bank": 0}, "truth", &truth)
		if truth.Flows != 3 || !truth.Overflow || truth.Packets != 140 || truth.Entropy < 1.58 || truth.Entropy > 1.59 {
			t.Errorf("%+v, want 3 of 5 flows, log2(3) bits", truth)
		}
	}
}
