package amorch

import (
	"fmt"
	"time"

	"tamtam/tam/altmark"
)

// Counters of both colours, read in the middle of each second, become periods. The first period is incomplete and has a
// flag.
func Example() {
	s := altmark.Session{Role: altmark.Transit, Method: altmark.Step, Mark: altmark.DSCP0} // periods of a second
	var m meter
	for _, read := range []struct{ second, colour0, colour1 uint64 }{{10, 5, 0}, {11, 9, 3}, {12, 10, 8}, {13, 20, 8}} {
		clock := altmark.ChipClock{
			At: altmark.Time{Seconds: read.second, Nanoseconds: uint32(time.Second / 2)}, Synchronised: true,
		}
		var flow altmark.ChipFlow
		flow.Of[0].Packets, flow.Of[1].Packets = read.colour0, read.colour1
		if p, ok := m.add(s, clock, flow); ok {
			fmt.Printf("period %d: colour %d, %d packets, flags %q\n", p.Number, p.Colour, p.Packets, p.Flags)
		}
	}
	// Output:
	// period 10: colour 0, 4 packets, flags "first"
	// period 11: colour 1, 8 packets, flags ""
	// period 12: colour 0, 11 packets, flags ""
}
