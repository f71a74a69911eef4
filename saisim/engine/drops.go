package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Drop describes a packet, or one copy of it, that was dropped. It holds everything that the chip knows about the
// packet at the place of the drop. If Punted is true, the packet reached the CPU, and Why is the reason why it was not
// forwarded.
type Drop struct {
	At     Cycle
	ID     uint64 // the sender's id for the frame
	Number uint64 // the chip's own number: 1 for the first frame received, injected or generated
	Copy   uint32 // number of the copy; zero for the frame itself
	In     PortID // port where the frame arrived; CPUPort if it was injected
	Port   PortID // port that counts the drop; CPUPort if only [FrameCounts] counts it
	Why    drop.Reason
	Punted bool
	Trap   config.Trap // trap that moved it to the CPU or out of forwarding; also set for a copy that a policer dropped
	Mirror bool        // true for a copy for a mirror session or of a record
	// Queued is true if the packet reached Queue of Port, whether it was admitted or not. The queue then held Depth
	// bytes. QueuedAt is the cycle at which it reached the queue.
	Queued   bool
	Queue    uint8
	Depth    uint32
	QueuedAt Cycle
	// Data is the frame as received, valid only during the call. Len is its length before a capture cut it. Neither
	// includes the FCS.
	Data []byte
	Len  int
}
