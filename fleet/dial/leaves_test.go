package dial

import (
	"strconv"
	"testing"

	"tamtam/tam/altmark"
)

// A period with more packets than a switch can count is refused: their difference to another count would be no loss.
func TestPeriodWithTooManyPackets(t *testing.T) {
	for packets, ok := range map[uint64]bool{0: true, altmark.MaxPackets: true, altmark.MaxPackets + 1: false,
		1<<64 - 1: false} {
		s := newSession("web")
		for name, value := range map[string]string{"packets": strconv.FormatUint(packets, 10), "octets": "0", "captures": "0",
			"out-of-window": "0", "read-at": "9000000000"} {
			s.set(leaf{session: "web", period: "4", name: name, values: []string{value}}, &changes{periods: map[string]bool{}})
		}
		if p, err := s.period("4"); (err == nil) != ok || ok && p.Packets != packets {
			t.Errorf("%d packets: %d, %v, want that they are accepted: %v", packets, p.Packets, err, ok)
		}
	}
}
