package calibration

import (
	"slices"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// give passes a marked frame to the chip at a fraction of a period, late by a number of periods.
func (m *marked) give(k uint64, part, late float64, tos uint8) {
	m.Helper()
	at := m.into(k, part)
	f := saisim.Frame{Data: markFrame(m.T, tos), Late: at - m.into(k, part-late)}
	devicetest.NoError(m.T, m.Chip.Receive(0, at, f))
}

// A late frame flags all periods to which it may belong, up to the period in which it counts. This includes reported
// periods. It flags nothing if it counts in its own period.
func TestLateFramesFlagPeriods(t *testing.T) {
	for _, tt := range []struct {
		name       string
		part, late float64
		marked     uint64 // period of the mark, as offset from 1000
		want       []uint64
	}{
		{"in its own period", 0.9, 0.8, 6, nil},
		{"from the end of it to the guard of the next", 0.05, 0.1, 5, nil},
		{"two periods", 0.5, 2, 4, []uint64{4, 5, 6}},
		{"six periods", 0.5, 6, 0, []uint64{0, 1, 2, 3, 4, 5, 6}},
		{"one period, and the other colour is out of window", 0.5, 1, 5, []uint64{5, 6, 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMarked(t, profile.Small(), "role", "transit", "method", "step", "mark", "dscp0")
			for k := uint64(1); k <= 9; k++ {
				m.give(markPeriod+k, 0.02, 0, uint8(8|k&1)<<2)
				if k == 6 {
					m.give(markPeriod+k, tt.part, tt.late, uint8(8|tt.marked&1)<<2)
				}
				m.advance(m.into(markPeriod+k+1, 0.01))
			}
			m.advance(m.into(markPeriod+10, 0.9))
			var got []uint64
			for k, p := range m.history() {
				if p.Flags&altmark.LateFrames != 0 {
					got = append(got, k-markPeriod)
				}
				if p.Flags.VoidsLoss() != (p.Flags&(altmark.LateFrames|altmark.OutOfWindow|altmark.First) != 0) {
					t.Errorf("period %d is flagged %v", k, p.Flags)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("flagged are %v, want %v", got, tt.want)
			}
		})
	}
}

// The last period is flagged in its own row, too.
func TestLateFramesFlagLastPeriod(t *testing.T) {
	m := newMarked(t, profile.Small(), "role", "transit", "method", "step", "mark", "dscp0")
	m.give(markPeriod+4, 0.3, 0, 8<<2)
	m.give(markPeriod+4, 0.5, 2, 8<<2)
	m.advance(m.into(markPeriod+5, 0.9))
	row := m.row(swss.CountersDB, schema.CountersAltMark, "m")
	if row["PERIOD"] != "1004" || row["FLAGS"] != "late-frames" || row["PACKETS"] != "2" {
		t.Errorf("%v, want period 1004 with 2 packets, flagged late-frames", row)
	}
}

// The time of a pulse is its arrival time, not the time at which the chip received it. An initiator chooses a packet
// that is not late.
func TestPulsesOfLateFrames(t *testing.T) {
	for _, tt := range []struct {
		role string
		want float64
	}{{"transit", 0.55}, {"initiator", 0.7}} {
		t.Run(tt.role, func(t *testing.T) {
			m := newMarked(t, profile.Small(), "role", tt.role, "method", "double", "mark", "dscp0", "mark2", "dscp1",
				"foreign-marks", "count")
			const k = markPeriod + 5
			tos := map[string]uint8{"transit": (8 | 1 | 2) << 2, "initiator": 8 << 2}[tt.role]
			m.give(k, 0.6, 0.05, tos)
			m.give(k, 0.7, 0, tos&^(2<<2))
			m.advance(m.into(k+1, 0.9))
			p := m.history()[k]
			if p.Captures != 1 || p.Flags != 0 || p.Packets != 2 {
				t.Errorf("%+v, want 2 packets, a pulse and no flags", p)
			}
			if got, want := p.Timestamp, altmark.Time(m.Chip.Timestamp(m.into(k, tt.want))); got != want {
				t.Errorf("the pulse came at %v, want %v", got, want)
			}
		})
	}
}
