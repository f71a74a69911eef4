package daemons

import (
	"errors"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// The state of a kernel's clock combines adjtimex and the boot ID; values that cannot be read are unknown.
func TestKernelClock(t *testing.T) {
	const boot = "01234567-89ab-cdef-0123-456789abcdef\n"
	id := [2]uint64{0x0123456789abcdef, 0x0123456789abcdef}
	for _, tt := range []struct {
		name, boot string
		status     clockStatus
		err        error
		want       altmark.KernelClock
	}{
		{"synchronised", boot, clockStatus{false, time.Millisecond}, nil,
			altmark.KernelClock{Boot: id, Known: true, Synchronised: true, MaxError: time.Millisecond}},
		{"not synchronised", boot, clockStatus{true, 16 * time.Second}, nil,
			altmark.KernelClock{Boot: id, Known: true, MaxError: 16 * time.Second}},
		{"adjtimex fails", boot, clockStatus{}, errors.New("not permitted"), altmark.KernelClock{Boot: id}},
		{"a strange error", boot, clockStatus{false, -1}, nil, altmark.KernelClock{Boot: id}},
		{"no boot ID", "", clockStatus{}, nil, altmark.KernelClock{Known: true, Synchronised: true}},
		{"a strange boot ID", "0123", clockStatus{}, nil, altmark.KernelClock{Known: true, Synchronised: true}},
	} {
		got := kernelClock(tt.boot, func() (clockStatus, error) { return tt.status, tt.err })
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if k := (altmark.KernelClock{Boot: id}); k.ID()+"\n" != boot || (altmark.KernelClock{}).ID() != "" {
		t.Errorf("the ID is %q, and without one %q", k.ID(), altmark.KernelClock{}.ID())
	}
}

// If the kernel's clock was set back since the chip started, the chip's clock is ahead by that time. The comparison
// with the shortest duration counts, and this duration is added to the error. Unknown values stay unknown.
func TestFollowedClock(t *testing.T) {
	said := altmark.KernelClock{Known: true, Synchronised: true, MaxError: time.Second}
	for _, set := range []time.Duration{0, time.Hour, -time.Hour} {
		var now, n time.Duration
		f := follower{
			ask:  func() altmark.KernelClock { return said },
			mono: func() time.Duration { n++; now += 1000 - n; return now },
			day:  func() time.Duration { return now - set },
		}
		k := f.clock()
		if off := k.Ahead - set; off < 0 || off > 1000 || k.MaxError != time.Second+1000-16 || !k.Synchronised {
			t.Errorf("set back by %v: %+v", set, k)
		}
	}
	f := follower{func() altmark.KernelClock { return altmark.KernelClock{} }, func() time.Duration { return 0 },
		func() time.Duration { return 0 }}
	if k := f.clock(); k != (altmark.KernelClock{}) {
		t.Errorf("%+v, want nothing known", k)
	}
}
