package lab

import (
	"testing"

	"tamtam/saisim/tailstamp"
)

// A frame with a record without a latency has no rest. An example is a frame that was in the switch when its clock was
// set. It is counted, and does not affect other frames.
func TestStampsWithoutLatency(t *testing.T) {
	frame := func(flags tailstamp.Flags) []byte {
		b := make([]byte, 60)
		copy(b[12:], []byte{8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17})
		return tailstamp.V1{}.Append(b, tailstamp.Record{
			SwitchID: 1, Ingress: tailstamp.Timestamp{Seconds: 9}, Egress: tailstamp.Timestamp{Seconds: 9, Nanoseconds: 400},
			Flags: flags,
		})
	}
	var none, s stamps
	s.add(frame(tailstamp.ClockSet), 1000*Nanosecond)
	if s.frames != 1 || s.unknown != 1 || s.restMin != 0 {
		t.Errorf("%+v, want one of which the rest is not known", s)
	}
	s.add(frame(0), 1000*Nanosecond)
	s.add(frame(tailstamp.ClockSet), 1000*Nanosecond)
	s.add(frame(0), 1500*Nanosecond)
	s.merge(&none)
	none.merge(&s)
	if want := (stamps{4, 4, 2, 600 * Nanosecond, 1100 * Nanosecond}); s != want || none != want {
		t.Errorf("%+v and %+v, want %+v", s, none, want)
	}
}
