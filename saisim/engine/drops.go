package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Drop is the end of a packet, or of one copy of it, that nobody gets, and all that is known of it there. With Punted
// it is none: the CPU has the packet, and Why says why it goes nowhere else.
type Drop struct {
	At     Cycle
	ID     uint64 // the sender's name of the frame
	Number uint64 // the chip's own: 1 for the first frame received or injected
	Copy   uint32 // 0: the frame itself
	In     PortID // where it came in; CPUPort: injected
	Port   PortID // whose counters have it; CPUPort: no port's, only the books
	Why    drop.Reason
	Punted bool
	Trap   config.Trap // that has taken it to the CPU, or out of forwarding; of a copy that a policer dropped, too
	Mirror bool        // it is a copy for a mirror session, or of a record
	// Queued says that it has asked Queue of Port for room, where Depth bytes were before it.
	Queued bool
	Queue  uint8
	Depth  uint32
	// Data is the frame as it came in, valid during the call only; Len is its length before a capture cut it. The FCS is
	// in neither.
	Data []byte
	Len  int
}
