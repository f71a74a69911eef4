package daemons

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// bootID is the path of a file whose content is the same for all processes that share a kernel's time of day.
const bootID = "/proc/sys/kernel/random/boot_id"

// A follower compares the kernel's clocks with that of a chip that started at a given time.
type follower struct {
	ask       func() altmark.KernelClock
	mono, day func() time.Duration // time since the start, by each of the kernel's clocks
}

// followed returns the clock state for a chip that started at start. From there the chip follows the kernel's
// monotonic clock, which is slewed like the time of day, but never set.
func followed(start time.Time, ask func() altmark.KernelClock) func() altmark.KernelClock {
	if ask == nil {
		ask = hostClock
	}
	monotonic := func() time.Duration { return time.Since(start) }
	wall := func() time.Duration { return time.Now().Round(0).Sub(start.Round(0)) }
	f := follower{ask, monotonic, wall}
	return f.clock
}

// clock compares the kernel's two clocks. It uses the shortest of several readings, since the duration of a reading
// adds to the error.
func (f follower) clock() altmark.KernelClock {
	k := f.ask()
	within := time.Duration(1<<63 - 1)
	for range 8 {
		before := f.mono()
		day := f.day()
		if took := f.mono() - before; took < within {
			k.Ahead, within = before+took/2-day, took
		}
	}
	if k.Known {
		k.MaxError += within
	}
	return k
}

// hostClock reads the clock state of this host's kernel.
func hostClock() altmark.KernelClock {
	text, _ := os.ReadFile(bootID) // if it cannot be read, the boot ID is unknown
	return kernelClock(string(text), adjtimex)
}

// A clockStatus is the result of adjtimex.
type clockStatus struct {
	unsynchronised bool
	maxError       time.Duration
}

// kernelClock combines a boot ID and the result of adjtimex.
func kernelClock(boot string, adjtimex func() (clockStatus, error)) (k altmark.KernelClock) {
	if id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(boot), "-", "")); err == nil && len(id) == 16 {
		k.Boot = [2]uint64{binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[8:])}
	}
	s, err := adjtimex()
	if err != nil || s.maxError < 0 {
		return k
	}
	k.Known, k.Synchronised, k.MaxError = true, !s.unsynchronised, s.maxError
	return k
}
