package calibration

import (
	"testing"

	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Packets that arrive marked at an initiator are counted separately, and flag the period, unless they are declared as
// expected, or are dropped.
func TestForeignMarksOfPeriods(t *testing.T) {
	for foreign, want := range map[string]struct{ packets, flags string }{
		"count": {"5", "foreign-marks"},
		"clean": {"5", ""},
		"drop":  {"3", ""},
	} {
		m := newMarked(t, profile.Small(), "role", "initiator", "method", "muxed", "mark", "dscp0", "foreign-marks", foreign)
		const k = markPeriod + 4
		for i, dscp := range []byte{8, 9, 8, 9, 8} {
			devicetest.NoError(t, m.Chip.Receive(0, m.into(k, 0.1+0.1*float64(i)), saisim.Frame{Data: markFrame(t, dscp<<2)}))
		}
		m.advance(m.into(k+1, 0.9))
		row := m.row(swss.CountersDB, schema.CountersAltMark, "m")
		if row["PERIOD"] != "1004" || row["FOREIGN_MARKS"] != "2" || row["PACKETS"] != want.packets ||
			row["FLAGS"] != want.flags {
			t.Errorf("foreign-marks %s: %v, want 2 of %s packets and the flags %q", foreign, row, want.packets, want.flags)
		}
	}
}
