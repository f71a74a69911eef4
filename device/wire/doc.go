// Package wire is the wires of a live switch: it moves frames between the interfaces of a Linux host and the ports
// of a simulated chip, and the chip's time with the wall clock.
//
// Frames are read from a ring that the kernel writes, in batches, each with the time at which the kernel got it,
// and written with one system call for many. What the kernel leaves undone on a virtual interface is done here, as
// a network card would: checksums are completed and long TCP segments cut, since the chip is to see frames as they
// are on a wire; at the way out TCP segments that follow each other are joined again for the kernel. A frame that
// is lost between the interface and the chip is counted, with the reason.
//
// What belongs here: what is of interfaces. Nothing here knows Redis, SAI or what the chip does with a frame.
package wire

import (
	"log/slog"
	"time"

	"tamtam/saisim"
	"tamtam/swss/schema"
)

// Config says what is wired.
type Config struct {
	Chip  *saisim.Chip
	Start time.Time         // the chip's cycle 0, with the monotonic clock
	Wires map[string]string // port -> interface
	Log   *slog.Logger
	// Links, if set, sets interfaces up and down with their ports.
	Links *Links
	// Punt, if set, takes the frames for the CPU; it is called with the chip locked, and must not keep them.
	Punt func(*saisim.Out)
	// Inject, if set, has what is to be done to the chip at the end of a turn, behind all that came in before, as
	// sending for the CPU.
	Inject <-chan func()
	// Look, if set, is called once per second with what every port has counted, in the order of their names.
	Look func([]Port)
}

// MaxPorts bounds how many ports may be wired.
const MaxPorts = 64

// Why frames are lost between an interface and the chip.
type Loss int

// The reasons.
const (
	RingFull      Loss = iota // received, but this process did not come to read them
	TooLong                   // received, longer than a slot of the ring, and the socket's room was full
	Malformed                 // received with an offload header that does not fit them
	Refused                   // received, not taken by the chip
	NoPort                    // received while the chip had no such port: nobody listened
	ExceedsMTU                // to be sent, longer than the interface's MTU permits
	LinkDown                  // to be sent while the interface was down or away
	InterfaceFull             // to be sent, the interface or who is behind it had no room
	SendFailed                // to be sent, any other error
	NumLosses
)

var _ = [1]struct{}{}[int(NumLosses)-len(schema.WireLosses)] // each has its name

func (l Loss) String() string { return schema.WireLosses[l].Name }

// A Port is what is known of the wire at one port.
type Port struct {
	Name, Interface string
	// There: the interface exists. Up: it is up and has a carrier. Taken: another switch has it, as Reason says.
	There, Up, Taken bool
	MTU              int    // of the interface, bytes of IP packet
	Reason           string // why it is not up
	Counters
}

// Counters are the totals of a wire since the chip's start. Frames are those that the chip sees, pieces of a long
// one each.
type Counters struct {
	Received, Sent uint64 // frames that the chip was given; that the interface has taken
	Cut            uint64 // frames that came uncut, each of which became several
	Summed         uint64 // frames whose checksum was completed
	Joined         uint64 // frames that went out inside a longer one
	Lost           [NumLosses]uint64
	// Late is the most by which the kernel's time of a frame was before the chip's when it came in: so much later
	// it is in the chip's account.
	Late time.Duration
}
