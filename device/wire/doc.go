// Package wire connects a live switch to a network. It moves frames between the interfaces of a Linux host and the
// ports of a simulated chip. It advances the chip's time with the wall clock.
//
// Frames are read in batches from a ring that the kernel writes, each with the time at which the kernel received it.
// One system call writes many frames. On a virtual interface, the kernel leaves work to the network card, which this
// package does. It completes checksums and cuts long TCP segments, since the chip must receive frames as they are on a
// wire. On output, consecutive TCP segments are joined again for the kernel. A frame that is lost between the interface
// and the chip is counted, with the reason.
//
// What belongs here: the handling of interfaces. This package does not depend on Redis, SAI or the chip's forwarding.
package wire

import (
	"log/slog"
	"time"

	"tamtam/saisim"
	"tamtam/swss/schema"
)

// Config describes the chip, its wires, and the functions that Run calls.
type Config struct {
	Chip  *saisim.Chip
	Start time.Time         // time of the chip's cycle 0, with the monotonic clock
	Wires map[string]string // port -> interface
	Log   *slog.Logger
	// Links, if set, sets interfaces up and down with their ports.
	Links *Links
	// Punt, if set, receives the frames for the CPU. It is called with the chip locked, and must not keep them.
	Punt func(*saisim.Out)
	// Inject, if set, delivers functions that act on the chip, such as sending for the CPU. They run at the end of a
	// turn, after all frames that arrived before.
	Inject <-chan func()
	// Look, if set, is called once per second with the counters of every port, in the order of their names.
	Look func([]Port)
}

// MaxPorts is the largest number of ports that may be wired.
const MaxPorts = 64

// A Loss is the reason why frames are lost between an interface and the chip.
type Loss int

// The reasons.
const (
	RingFull      Loss = iota // received, but this process did not read them in time
	TooLong                   // received, longer than a slot of the ring, and the socket's buffer was full
	Malformed                 // received with an offload header that does not match them
	Refused                   // received, but rejected by the chip
	NoPort                    // received while the chip had no such port
	ExceedsMTU                // to be sent, but longer than the interface's MTU permits
	LinkDown                  // to be sent while the interface was down or missing
	InterfaceFull             // to be sent, but the interface or its peer had no space
	SendFailed                // to be sent, but failed with any other error
	NumLosses
)

var _ = [1]struct{}{}[int(NumLosses)-len(schema.WireLosses)] // a compile-time check that each loss has a name

func (l Loss) String() string { return schema.WireLosses[l].Name }

// A Port describes the wire at one port.
type Port struct {
	Name, Interface string
	// There means that the interface exists, Up that it is up and has a carrier. Taken means that another switch has
	// it; Reason then names the holder.
	There, Up, Taken bool
	MTU              int    // of the interface, in bytes of IP packet
	Reason           string // why the interface is not up
	Counters
}

// Counters holds the totals of a wire since the chip's start. They count frames as the chip receives or sends them, so
// each piece of a long frame counts.
type Counters struct {
	Received, Sent uint64 // frames passed to the chip; frames accepted by the interface
	Cut            uint64 // frames that arrived uncut, each of which became several
	Summed         uint64 // frames whose checksum was completed
	Joined         uint64 // frames that were sent as part of a longer one
	Lost           [NumLosses]uint64
	// Late is the largest delay from the kernel's time of a frame to the cycle at which it entered the chip. The
	// chip's measurements are late by that much.
	Late time.Duration
}
