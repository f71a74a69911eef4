package engine

import (
	"fmt"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// What happened to a frame, or to one copy of it, in a [Moment].
type What uint8

// The history of a frame begins with MomentReceived or MomentInjected. The frame
// itself is copy 0; it ends in MomentDropped, or in MomentReplicated, which says
// that every copy for which the ingress pipe had a place has begun. A frame of
// which mirror sessions have copies may be dropped all the same, after those; an
// egress mirror copy begins when the copy that it is of has left its pipe, a record
// copy so much later too, when the frame and all other copies may have ended. Copies
// are numbered from 1 in the order in which they are made; each ends in one
// MomentSent, MomentPunted or MomentDropped.
const (
	// MomentReceived: the timestamp point of the ingress MAC. It is reported when the
	// frame is given to [Engine.Receive], so At may be ahead of what follows.
	MomentReceived   What = iota
	MomentInjected        // given to [Engine.Inject]
	MomentEntered         // enters the ingress pipe
	MomentReplicated      // leaves the ingress pipe, as Copies copies
	MomentMirrored        // a copy for a mirror session begins
	MomentQueued          // in a queue of Port
	MomentDequeued        // leaves the queue and enters the egress pipe
	MomentSent            // the timestamp point of the egress MAC
	MomentPunted          // handed to the CPU
	MomentDropped         // goes no further, because of Why
)

var whatNames = [...]string{
	"received", "injected", "entered", "replicated", "mirrored", "queued", "dequeued", "sent", "punted", "dropped",
}

// String returns the word that traces use.
func (w What) String() string {
	if int(w) < len(whatNames) {
		return whatNames[w]
	}
	return "unknown"
}

// A Moment is one step in the history of a frame.
type Moment struct {
	What What
	// At is the cycle at which the chip sees it. What happens on a wire need not
	// be at a cycle: the exact time is At - Early/Byte.Den cycles.
	At    Cycle
	Early uint64

	Late   Cycle  // by how much the frame's ingress timestamp is later than it came: see [Frame]
	ID     uint64 // the sender's name of the frame
	Number uint64 // the chip's own: 1 for the first frame received or injected, and so on
	Copy   uint32 // 0: the frame itself
	Copies uint32 // with MomentReplicated: how many

	In   PortID // where the frame came from; CPUPort: injected
	Port PortID // where it is, or was to go; CPUPort: the CPU
	// Queue of Port, for MomentQueued and MomentDequeued.
	Queue uint8
	Why   drop.Reason
	// Trap, for MomentPunted and MomentDropped: of which the CPU has the copy, or which took the frame out of forwarding.
	Trap config.Trap
	// Byte is the exact time of a byte on the wire of Port, for MomentReceived and
	// MomentSent: the frame's last byte is over (length with FCS) of it later.
	Byte ByteTime
	// Data is the frame as it is here, valid during the call only; Len is its
	// length before a capture cut it. The FCS is in neither.
	Data []byte
	Len  int
	// Trail, for MomentSent, MomentPunted and MomentDropped: the tables that it ran. It
	// is not known of mirror copies, of frames that have not entered the ingress pipe, and of
	// those that did before there was an observer.
	Trail Trail
}

// Because says why a frame goes no further: the reason, with the trap that it was for, if it was one.
func (m *Moment) Because() string { return m.Why.String() + m.ByTrap() }

// ByTrap is the trap in parentheses behind a space, "" if there is none.
func (m *Moment) ByTrap() string {
	if m.Trap == config.TrapNone {
		return ""
	}
	return " (" + m.Trap.String() + ")"
}

// A Ledger keeps account of frames by their ids. It hears only what neither comes from [Engine.Receive] nor goes to the
// function of [Engine.SetOutput], so it costs next to nothing, where an observer has the history of every
// frame told. Its functions must not call the chip.
type Ledger interface {
	// Injected: a frame has been given to Inject.
	Injected(id uint64)
	// Copied: there are n of the frame more than before.
	Copied(id uint64, n int)
	// Dropped: one of them goes no further.
	Dropped(id uint64, why drop.Reason)
}

// A ByteTime is the time of one byte on a wire: Num/Den cycles.
type ByteTime struct{ Num, Den uint64 }

// Exact returns the exact time in cycles: "1234" or "1234+3/5".
func (m *Moment) Exact() string {
	if m.Early == 0 {
		return fmt.Sprint(uint64(m.At))
	}
	return fmt.Sprintf("%d+%d/%d", m.At-1, m.Byte.Den-m.Early, m.Byte.Den)
}

// A Trail says which tables a packet or a copy of it ran and which hit, up to where it
// is: bit i is the i-th table of the graph.
type Trail struct {
	Graph uint64 // version; 0: nothing is known
	Ran   [4]uint64
	Hit   [4]uint64
}
