package engine

import "tamtam/saisim/config"

// A PortID names a port on the chip: it is the port's first lane.
type PortID = config.PortID

// CPUPort is the port to the CPU.
const CPUPort = config.CPUPort

// A Frame is an Ethernet frame without FCS.
type Frame struct {
	Data []byte
	// Len is the frame's length before a capture cut it. It is at least len(Data) and at most 262144, or 0 for
	// len(Data).
	Len int
	// ID is the sender's id for the frame. It is not on the wire, but accompanies every copy, so that a test or the
	// truth oracle can identify the copy's origin.
	ID uint64
	// Late is the number of cycles by which the frame is received later than it arrived, because the chip's time was
	// already past that. The frame is treated as if it arrived when it is received. Only alternate marking uses the
	// true time, see marking.go.
	Late Cycle
}

// length returns the frame's length before a capture cut it.
func (f *Frame) length() int {
	if f.Len == 0 {
		return len(f.Data)
	}
	return f.Len
}

// An Arrival is a frame that will arrive at a port's ingress MAC, with the cycle of its timestamp point.
type Arrival struct {
	Port PortID
	At   Cycle
	Frame
}

// maxFrame is the longest frame that Receive accepts. It is longer than any MTU, so that frames above the MTU still
// occupy the wire.
const maxFrame = 1 << 18

// An Out is a frame that leaves the chip.
type Out struct {
	Port PortID // CPUPort if it was punted
	In   PortID // CPUPort if it was injected
	// At is the cycle of the timestamp point at the egress MAC. For the CPU port, it is the cycle of leaving the pipe.
	At      Cycle
	Data    []byte      // valid only during the call
	Len     int         // length before a capture cut it
	Stamped bool        // true if a record was appended here
	ID      uint64      // ID of the original frame
	Trap    config.Trap // trap that sent it to the CPU
	Queue   uint8       // queue of the CPU port
	// VLAN is the VLAN in which a frame for the CPU arrived, zero at a router interface of a port or LAG.
	VLAN uint16
	// Sample describes the sample, if the frame is one.
	Sample Sample
}

const ethernetHeader = 14
