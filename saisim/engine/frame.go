package engine

import "tamtam/saisim/config"

// A PortID names a port on the chip: it is the port's first lane.
type PortID = config.PortID

// CPUPort is the port to the CPU.
const CPUPort = config.CPUPort

// A Frame is an Ethernet frame without FCS.
type Frame struct {
	Data []byte
	// Len is the frame's length before a capture cut it; at least len(Data), at
	// most 262144, or 0 for len(Data).
	Len int
	// ID is the sender's name for the frame. It is in no byte on the wire: it comes
	// out with every copy, so that a test or the truth oracle knows what became of it.
	ID uint64
	// Late is by how many cycles it is received later than it came: the chip's time was past that already. The frame is
	// treated as one that came when it is received; alternate marking knows better, see marking.go.
	Late Cycle
}

// length is the frame's length before a capture cut it.
func (f *Frame) length() int {
	if f.Len == 0 {
		return len(f.Data)
	}
	return f.Len
}

// An Arrival is a frame on its way to a port's ingress MAC, its timestamp point at a cycle.
type Arrival struct {
	Port PortID
	At   Cycle
	Frame
}

// maxFrame is the longest frame that Receive takes (longer than any MTU, so
// that such frames still take their time on the wire).
const maxFrame = 1 << 18

// An Out is a frame that leaves the chip.
type Out struct {
	Port PortID // CPUPort: punted
	In   PortID // CPUPort: injected
	// At is the cycle of the timestamp point at the egress MAC; for the CPU
	// port, of leaving the pipe.
	At      Cycle
	Data    []byte      // valid during the call only
	Len     int         // before a capture cut it
	Stamped bool        // a record was appended here
	ID      uint64      // of the frame that it is a copy of
	Trap    config.Trap // why the CPU has it
	Queue   uint8       // of the CPU port, in which the CPU has it
	// VLAN is that in which a frame for the CPU came in; 0: at a router interface of a port or LAG.
	VLAN uint16
	// Sample says what a sample is of.
	Sample Sample
}

const ethernetHeader = 14
