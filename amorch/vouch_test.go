package amorch

import (
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A switch whose clock follows the kernel's can measure delays while the kernel reports the clock as synchronised, or
// while the operator declares it accurate. Otherwise its periods are flagged with the reason, and their counts stay
// valid. A session that measures no delay needs no synchronised clock.
func TestKernelClock(t *testing.T) {
	const ms = uint64(time.Millisecond)
	const boot = "01234567-89ab-cdef-0000-000000000002"
	id := func(rest ...uint64) []uint64 { return append([]uint64{0x0123456789abcdef, 2}, rest...) }
	for _, tt := range []struct {
		name   string
		kernel []uint64
		method altmark.Method
		trust  altmark.ClockTrust
		flags  altmark.Flags
		want   altmark.Clock
	}{
		{"no kernel", nil, altmark.Pulse, altmark.CheckedClock, 0, altmark.Clock{}},
		{"synchronised", id(1, 1, 2*ms, ^uint64(0)), altmark.Pulse, altmark.CheckedClock, 0,
			altmark.Clock{Says: "the kernel's clock has a maximum error of 2ms", Kernel: boot, Ahead: -1,
				Error: 2*time.Millisecond + 1}},
		{"not synchronised", id(1, 0, 2*ms, 0), altmark.Pulse, altmark.CheckedClock, altmark.Unsynchronised,
			altmark.Clock{Says: "the kernel reports that its clock is not synchronised", Kernel: boot}},
		{"a great error", id(1, 1, 16000*ms, 0), altmark.Pulse, altmark.CheckedClock, altmark.Unsynchronised,
			altmark.Clock{Says: "the kernel's clock has a maximum error of 16s, A is 15.625ms", Kernel: boot}},
		{"set since the chip started", id(1, 1, 2*ms, 3000*ms), altmark.Pulse, altmark.CheckedClock, altmark.Unsynchronised,
			altmark.Clock{Says: "the kernel's clock was set: the chip's is 3s off, with a maximum error of 2ms, A is 15.625ms",
				Kernel: boot, Ahead: 3 * time.Second}},
		{"cannot be read", []uint64{0, 0, 0, 0, 0, 0}, altmark.Pulse, altmark.CheckedClock, altmark.Unsynchronised,
			altmark.Clock{Says: "the kernel's report on its clock cannot be read"}},
		{"declared", id(1, 0, 16000*ms, 0), altmark.Pulse, altmark.DeclaredClock, 0,
			altmark.Clock{Says: "declared by the operator", Kernel: boot}},
		{"declared, of no kernel", nil, altmark.Pulse, altmark.DeclaredClock, 0,
			altmark.Clock{Says: "declared by the operator"}},
		{"no delays", id(1, 0, 16000*ms, 0), altmark.Step, altmark.CheckedClock, 0, altmark.Clock{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := initiator()
			s.Method, s.Trust = tt.method, tt.trust
			b := withSession(t, s, func(b *bench) { b.chip.kernel = tt.kernel })
			b.Pass(5 * time.Second)
			row, err := schema.ParseAltMarkCounters("s1", b.Row(swss.CountersDB, schema.CountersAltMark, "s1"))
			if err != nil || !row.Has {
				t.Fatalf("%+v, %v", row, err)
			}
			if row.Period.Flags != tt.flags || row.Period.Clock != tt.want {
				t.Errorf("flags %q, clock %+v, want %q, %+v", row.Period.Flags, row.Period.Clock, tt.flags, tt.want)
			}
		})
	}
}

// A pulse can arrive up to two readings before the reading that reports it. If the clock was not trusted at one of
// these readings, it is not trusted for the period. If it followed different kernels at these readings, the period
// names no kernel.
func TestKernelClockChanges(t *testing.T) {
	s := initiator()
	s.Method = altmark.Pulse
	good, bad, other := []uint64{1, 2, 1, 1, 5, 0}, []uint64{1, 2, 1, 0, 5, 0}, []uint64{1, 3, 1, 1, 5, 0}
	b := withSession(t, s, func(b *bench) { b.chip.kernel = good })
	b.Pass(4 * time.Second)
	for i, tt := range []struct {
		kernel        []uint64
		flagged, same bool
	}{{good, false, true}, {bad, true, true}, {good, true, true}, {good, true, true}, {good, false, true},
		{other, false, false}, {other, false, false}, {other, false, true}, {nil, false, false}} {
		b.chip.kernel = tt.kernel
		b.Pass(time.Second)
		row, err := schema.ParseAltMarkCounters("s1", b.Row(swss.CountersDB, schema.CountersAltMark, "s1"))
		if p := row.Period; err != nil || p.Flags.VoidsDelay() != tt.flagged || (p.Clock.Kernel != "") != tt.same ||
			p.Flags.VoidsLoss() {
			t.Errorf("%d: flags %q, clock %+v, %v", i, p.Flags, p.Clock, err)
		}
	}
}
