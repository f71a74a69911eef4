package amorch

import (
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// Periods that passed without a change of colour are flagged, because they had the colour of another period.
func TestMissedSwitchOvers(t *testing.T) {
	f := &flip{due: start, next: 11}
	f.note(0, 11, time.Unix(11, 0))
	f.next = 12
	f.note(0, 14, time.Unix(14, 1000))
	for k, want := range map[uint64]altmark.Flags{10: 0, 11: altmark.OutOfWindow, 12: altmark.OutOfWindow,
		13: altmark.OutOfWindow, 14: altmark.OutOfWindow} {
		if got := f.flags(initiator(), k); got != want {
			t.Errorf("period %d: %v, want %v", k, got, want)
		}
	}
	if f.worst != 2*time.Second+1000 {
		t.Errorf("the worst is %v", f.worst)
	}
}

// If the switch supports neither method of marking, by the chip or by orchagent, the status reports this.
func TestUnsupported(t *testing.T) {
	b := newBench(t, 0, 0, func(b *bench) { b.chip.dumb = true })
	const reason = "the switch has no profiles of alternate marking, and its ingress ACLs do not have both actions " +
		"SET_DSCP and COUNTER"
	b.WantStatus(schema.StateTAMFeature, featureName, "UNSUPPORTED: "+reason)
	row := b.Row(swss.StateDB, schema.StateSwitchCap, "switch")
	if row[schema.CapabilityField(featureName)] != "false" || row[schema.CapabilityReasonField(featureName)] != reason {
		t.Errorf("%v", row)
	}
	b.rule("f", "DSCP", "8")
	b.session("s1", "f", initiator())
	b.Step()
	b.wantSession("s1", "failed: "+reason)
}
