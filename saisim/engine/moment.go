package engine

import (
	"fmt"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// What is the kind of event in a [Moment].
type What uint8

// The history of a frame begins with MomentReceived or MomentInjected. The frame itself is copy 0. It ends in
// MomentDropped or in MomentReplicated. MomentReplicated means that the ingress pipe has created all copies of the
// frame. A frame may be dropped although mirror sessions have copies of it; the drop then follows those copies. An
// egress mirror copy begins when its original has left the egress pipe. A record copy also begins that much later, when
// the frame and all other copies may have ended. Copies are numbered from 1 in the order in which they are made. Each
// ends in one MomentSent, MomentPunted or MomentDropped.
const (
	// MomentReceived is the timestamp point of the ingress MAC. It is reported when the frame is given to
	// [Engine.Receive]. So its At may be later than At of the following moments.
	MomentReceived   What = iota
	MomentInjected        // given to [Engine.Inject]
	MomentEntered         // enters the ingress pipe
	MomentReplicated      // leaves the ingress pipe, as Copies copies
	MomentMirrored        // a copy for a mirror session begins
	MomentQueued          // in a queue of Port
	MomentDequeued        // leaves the queue and enters the egress pipe
	MomentSent            // the timestamp point of the egress MAC
	MomentPunted          // handed to the CPU
	MomentDropped         // dropped, for the reason Why
	MomentTrimmed         // Queue of Port has trimmed the copy to Len bytes, which are not yet in another queue
)

var whatNames = [...]string{
	"received", "injected", "entered", "replicated", "mirrored", "queued", "dequeued", "sent", "punted", "dropped",
	"trimmed",
}

// String returns the word used in traces.
func (w What) String() string {
	if int(w) < len(whatNames) {
		return whatNames[w]
	}
	return "unknown"
}

// A Moment is one step in the history of a frame.
type Moment struct {
	What What
	// At is the cycle at which the chip sees the event. An event on a wire need not be at a cycle: its exact time is At
	// - Early/Byte.Den cycles.
	At    Cycle
	Early uint64

	Late   Cycle  // number of cycles by which the frame's ingress timestamp is later than its arrival: see [Frame]
	ID     uint64 // the sender's id for the frame
	Number uint64 // the chip's own number: 1 for the first frame received or injected, and so on
	Copy   uint32 // number of the copy; zero for the frame itself
	Copies uint32 // for MomentReplicated: number of copies

	In   PortID // port where the frame arrived; CPUPort if it was injected
	Port PortID // current or intended port; CPUPort for the CPU
	// Queue is the queue of Port, for MomentQueued, MomentDequeued and MomentTrimmed.
	Queue uint8
	Why   drop.Reason
	// Trap is set for MomentPunted and MomentDropped: the trap of the CPU's copy, or the one that removed the frame
	// from forwarding.
	Trap config.Trap
	// Byte is the exact duration of a byte on the wire of Port, for MomentReceived and MomentSent. The frame's last
	// byte ends later by Byte times the frame's length with FCS.
	Byte ByteTime
	// Data is the frame in its form here, valid only during the call. Len is its length before a capture cut it.
	// Neither includes the FCS.
	Data []byte
	Len  int
	// Trail holds the tables that the frame ran, for MomentSent, MomentPunted and MomentDropped. It is unknown for
	// mirror copies, for frames that have not entered the ingress pipe, and for frames that entered before the observer
	// was set.
	Trail Trail
}

// Because returns the reason why a frame was dropped or not forwarded, with the trap if there was one.
func (m *Moment) Because() string { return m.Why.String() + m.ByTrap() }

// ByTrap returns the trap in parentheses after a space, or "" if there is none.
func (m *Moment) ByTrap() string {
	if m.Trap == config.TrapNone {
		return ""
	}
	return " (" + m.Trap.String() + ")"
}

// A Ledger keeps account of frames by their ids. It is called only for frames that neither enter by [Engine.Receive]
// nor leave to the function of [Engine.SetOutput]. So it costs much less than an observer, which receives the history
// of every frame. Its functions must not call the chip.
type Ledger interface {
	// Injected is called when a frame has been given to Inject.
	Injected(id uint64)
	// Copied is called when n more copies of the frame exist.
	Copied(id uint64, n int)
	// Dropped is called when one of the copies is dropped.
	Dropped(id uint64, why drop.Reason)
}

// A ByteTime is the duration of one byte on a wire: Num/Den cycles.
type ByteTime struct{ Num, Den uint64 }

// Exact returns the exact time in cycles: "1234" or "1234+3/5".
func (m *Moment) Exact() string {
	if m.Early == 0 {
		return fmt.Sprint(uint64(m.At))
	}
	return fmt.Sprintf("%d+%d/%d", m.At-1, m.Byte.Den-m.Early, m.Byte.Den)
}

// A Trail holds the tables that a packet or a copy of it has run so far, and those that hit. Bit i is the i-th table of
// the graph.
type Trail struct {
	Graph uint64 // version of the graph; zero if the trail is unknown
	Ran   [4]uint64
	Hit   [4]uint64
}
