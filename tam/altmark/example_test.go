package altmark_test

import (
	"fmt"
	"time"

	"tamtam/tam/altmark"
)

// A session is refused if its packets may arrive while its counters are read, or its pulse in another quarter.
func ExampleSession_Check() {
	s := altmark.Session{
		Method: altmark.Muxed, SlotSync: true, Mark: altmark.DSCP0, Role: altmark.Initiator,
		ClockError: 15625 * time.Microsecond, MaxDelay: 250 * time.Millisecond,
	}
	fmt.Println(s.Check())
	// Output:
	// interval of 1s is too short for muxed marking: A + Dmax = 15.625ms + 250ms = 265.625ms, want less than L/4 = 250ms
}

// The texts that follow the flag unsynchronised, as docs/alternate-marking.md quotes them.
func ExampleSession_Vouch() {
	s := altmark.Session{ClockError: 15625 * time.Microsecond}
	for _, k := range []altmark.KernelClock{
		{Known: true},
		{Known: true, Synchronised: true, MaxError: 16 * time.Second},
		{Known: true, Synchronised: true, MaxError: 2 * time.Millisecond, Ahead: 3 * time.Second},
		{},
	} {
		clock, trusted := s.Vouch(k)
		fmt.Println(clock.Says, trusted)
	}
	// Output:
	// the kernel reports that its clock is not synchronised false
	// the kernel's clock has a maximum error of 16s, A is 15.625ms false
	// the kernel's clock was set: the chip's is 3s off, with a maximum error of 2ms, A is 15.625ms false
	// the kernel's report on its clock cannot be read false
}
