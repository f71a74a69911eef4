package dial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// receive sets a session's leaves as a notification does.
func receive(s *session, leaves map[string]string, period string) {
	for name, v := range leaves {
		s.set(leaf{session: s.name, period: period, name: name, values: []string{v}}, &changes{periods: map[string]bool{}})
	}
}

// Each session and each period has the trust in the switch's clock, and the number of packets with foreign marks. A
// period without that information was measured by the chip's own clock.
func TestWatchClock(t *testing.T) {
	s := startSwitch(t, "127.0.0.1:0")
	const says, boot = "the kernel's clock has a maximum error of 2ms", "01234567-89ab-cdef-ffff-ffffffffffff"
	n := configNote("initiator")
	n.Update = append(n.Update, note("s", "config",
		`clock-trust "declared"`, `clock-error "5000000"`, `foreign-marks "drop"`).GetUpdate()...)
	s.say(n, periodNote(10, 64, `clock "`+says+`"`, `kernel-clock "`+boot+`"`, `kernel-clock-offset "-3"`,
		`kernel-clock-error "2000001"`,
		`foreign-marks "5"`, `flags ["foreign-marks"]`), periodNote(11, 64))
	events := watchAll(t, s.addr)
	e := next(t, events, Settings).Settings
	if e.Trust != altmark.DeclaredClock || e.ClockError != 5*time.Millisecond || e.Foreign != altmark.DropForeign {
		t.Errorf("%+v, want a declared clock within 5 ms, and that foreign marks are dropped", e)
	}
	want := altmark.Clock{Says: says, Kernel: boot, Ahead: -3, Error: 2*time.Millisecond + 1}
	if p := next(t, events, Period).Period; p.Clock != want || p.Foreign != 5 || p.Flags != altmark.Foreign {
		t.Errorf("%+v with %d foreign marks, flagged %v; want %+v, 5, foreign-marks", p.Clock, p.Foreign, p.Flags, want)
	}
	if p := next(t, events, Period).Period; p.Number != 11 || p.Clock != (altmark.Clock{}) || p.Foreign != 0 {
		t.Errorf("%+v, want period 11 of the chip's own clock and without foreign marks", p)
	}
}

// A period with an impossible clock error or offset is refused: it would make wrong delays between two switches look
// right.
func TestBadClock(t *testing.T) {
	good := map[string]string{"packets": "1", "octets": "64", "captures": "0", "out-of-window": "0", "read-at": "5"}
	for _, tt := range []struct{ leaf, value, want string }{
		{"kernel-clock-offset", "-4611686018427387903", ""},
		{"kernel-clock-offset", "-4611686018427387904", "from -4611686018427387903 to 4611686018427387903"},
		{"kernel-clock-offset", "soon", "a number of nanoseconds"},
		{"kernel-clock-error", "0", ""},
		{"kernel-clock-error", "-1", "from 0 to 4611686018427387903"},
		{"kernel-clock-error", "9223372036854775807", "from 0 to 4611686018427387903"},
		{"kernel-clock-error", "18446744073709551615", "from 0 to 4611686018427387903"},
		{"foreign-marks", "18446744073709551615", ""},
		{"foreign-marks", "-1", "want a number"},
		{"foreign-marks", "many", "want a number"},
	} {
		s := newSession("s")
		receive(s, good, "8")
		receive(s, map[string]string{tt.leaf: tt.value}, "8")
		wantBad(t, "session s, period 8", tt.leaf, tt.value, tt.want, func() error { _, err := s.period("8"); return err })
	}
	config := map[string]string{"role": "transit", "method": "step", "interval": "0", "mark": "dscp0"}
	for _, tt := range []struct{ leaf, value, want string }{
		{"clock-trust", "checked", ""},
		{"clock-trust", "tamtam-altmark:declared", ""},
		{"clock-trust", "believed", "want checked, declared"},
		{"foreign-marks", "clean", ""},
		{"foreign-marks", "wash", "want count, clean, drop"},
		{"clock-error", "-1", "from 0 to"},
		{"delay-max", "-1", "from 0 to"},
		{"delay-min", "many", "a number of nanoseconds"},
	} {
		s := newSession("s")
		receive(s, config, "")
		receive(s, map[string]string{tt.leaf: tt.value}, "")
		wantBad(t, "session s", tt.leaf, tt.value, tt.want, func() error { _, err := s.settings(); return err })
	}
}

func wantBad(t *testing.T, what, leaf, value, want string, read func() error) {
	t.Helper()
	err := read()
	if want == "" {
		if err != nil {
			t.Errorf("%s %s: %v", leaf, value, err)
		}
		return
	}
	words := []string{what + ": ", leaf, `"` + value + `"`, want}
	if err == nil || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
		t.Errorf("%s %s: %v, want an error with %q", leaf, value, err, words)
	}
}
