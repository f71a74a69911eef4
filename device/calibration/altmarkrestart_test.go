package calibration

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// send makes a frame enter at each of markParts of the periods, as far as these times are in the future.
func (m *marked) send(from, to uint64) {
	m.Helper()
	frame := markFrame(m.T, 8<<2)
	for k := from; k <= to; k++ {
		for _, part := range markParts {
			if at := m.into(k, part); at > m.Chip.Now() {
				devicetest.NoError(m.T, m.Chip.Receive(0, at, saisim.Frame{Data: frame}))
			}
		}
	}
}

func (m *marked) wantHistory(want map[uint64]string) {
	m.Helper()
	got := m.history()
	for k, w := range want {
		p, ok := got[k]
		text := "nothing"
		if ok {
			text = strings.TrimSpace(fmt.Sprintf("%d %s", p.Packets, p.Flags))
		}
		if text != w {
			m.Errorf("period %d: %s, want %s", k, text, w)
		}
	}
}

// A new orchagent starts in the middle of a period with the chip's counters. Packets sent before are not in that
// period, and the period is flagged as the first. Earlier periods of the former orchagent stay.
func TestAltMarkOrchagentRestarts(t *testing.T) {
	m := newMarked(t, profile.Small(), "method", "step", "mark", "dscp0", "role", "initiator")
	m.send(markPeriod+1, markPeriod+6)
	m.advance(m.into(markPeriod+4, 0.52))
	m.wantHistory(map[uint64]string{markPeriod + 1: "7", markPeriod + 2: "7", markPeriod + 3: "7"})
	devicetest.NoError(t, m.RestartOrchagent(m.Context()))
	devicetest.RunUntilIdle(t, m.Sim)
	m.advance(m.into(markPeriod+7, 0.6))
	m.wantHistory(map[uint64]string{
		markPeriod + 1: "7", markPeriod + 2: "7", markPeriod + 3: "7", markPeriod + 4: "4 first", markPeriod + 5: "7",
		markPeriod + 6: "7",
	})
}

// A new chip has counted nothing: periods that its first reading does not cover completely are flagged.
func TestAltMarkChipRestarts(t *testing.T) {
	m := newMarked(t, profile.Small(), "method", "muxed", "mark", "dscp0", "role", "initiator")
	m.send(markPeriod+1, markPeriod+3)
	m.advance(m.into(markPeriod+4, 0.52))
	devicetest.NoError(t, m.RestartSyncd(m.Context()))
	devicetest.RunUntilIdle(t, m.Sim)
	m.send(markPeriod+4, markPeriod+8)
	m.advance(m.into(markPeriod+9, 0.6))
	m.wantHistory(map[uint64]string{
		markPeriod + 2: "7", markPeriod + 3: "7", markPeriod + 4: "nothing", markPeriod + 5: "4 counter-reset",
		markPeriod + 6: "7 counter-reset",
		markPeriod + 7: "7", markPeriod + 8: "7",
	})
}
