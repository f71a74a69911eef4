package saisim_test

import (
	"testing"

	"tamtam/saisim"
	"tamtam/tam/altmark"
)

// A packet that reaches an initiator with a mark, the first or the second, is counted with its bytes in the period in
// which it arrives. It leaves with the initiator's own mark, or is dropped if the profile drops such packets. A dropped
// packet is not a pulse.
func TestForeignMarks(t *testing.T) {
	for _, method := range []altmark.Method{altmark.Step, altmark.Pulse, altmark.Double, altmark.Muxed} {
		for _, foreign := range []altmark.ForeignMarks{altmark.CountForeign, altmark.CleanForeign, altmark.DropForeign} {
			for dscp := range uint8(4) {
				s := altmark.Session{Role: altmark.Initiator, Method: method, Interval: -3, Mark: altmark.DSCP0, SlotSync: true,
					Foreign: foreign}
				marks := uint8(1)
				if method == altmark.Double {
					s.Mark2, marks = altmark.DSCP1, 3
				}
				m := newMarker(t)
				m.profile(2, s, 0)
				m.flow(2, 5)
				for k := range uint64(3) {
					m.sendAt(0, m.within(s.Interval, k, 600), saisim.Frame{Data: withChecksum(udpFrame(1, 2, 60))})
				}
				f := udpFrame(1, 2, 60)
				f[15] = dscp << 2
				before := m.colours(5)
				outs := m.sendAt(0, m.within(s.Interval, 3, 600), saisim.Frame{Data: withChecksum(f)})
				after, w := m.colours(5), m.words(5)["counters"]
				came, dropped := uint64(0), false
				if dscp&marks != 0 {
					came, dropped = 1, foreign == altmark.DropForeign
				}
				if w[8] != 0 || w[9] != 0 || w[19] != came || w[20] != came*64 {
					t.Errorf("%v, %v, DSCP %b: foreign marks are %v and %v, want none and %d packets of 64 bytes", method, foreign,
						dscp, w[8:10], w[19:21], came)
				}
				if (len(outs) == 0) != dropped {
					t.Errorf("%v, %v, DSCP %b: %d packets left, want it dropped: %v", method, foreign, dscp, len(outs), dropped)
				}
				if method != altmark.Step && (after[1].captures == before[1].captures) != dropped {
					t.Errorf("%v, %v, DSCP %b: %d pulses, before %d", method, foreign, dscp, after[1].captures, before[1].captures)
				}
				own := map[altmark.Method]uint8{altmark.Step: 1, altmark.Pulse: 1, altmark.Double: 3, altmark.Muxed: 0}[method]
				for _, o := range outs {
					if got := o.data[15] >> 2; got != dscp&^marks|own {
						t.Errorf("%v, %v, DSCP %b: left with %b, want the marks %b", method, foreign, dscp, got, own)
					}
				}
			}
		}
	}
}

// At points that only read marks, no mark is foreign.
func TestNoForeignMarksAtReaders(t *testing.T) {
	for _, role := range []altmark.Role{altmark.Transit, altmark.Terminator} {
		s := altmark.Session{Role: role, Method: altmark.Step, Interval: -3, Mark: altmark.DSCP0, SlotSync: true}
		m := newMarker(t)
		m.profile(0, s, 0)
		m.flow(0, 1)
		f := udpFrame(1, 2, 60)
		f[15] = 1 << 2
		m.sendAt(0, m.within(s.Interval, 1, 500), saisim.Frame{Data: withChecksum(f)})
		if w := m.words(1)["counters"]; w[8] != 0 || w[19] != 0 || w[11] != 1 {
			t.Errorf("%v: %v, want a packet of colour 1 and no foreign marks", role, w)
		}
	}
}
