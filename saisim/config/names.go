package config

import "fmt"

// An ID names a row; rows refer to each other by it. It is never used twice.
type ID uint64

// None is no row.
const None ID = 0

func (id ID) String() string { return fmt.Sprintf("%#x", uint64(id)) }

// A MAC is a MAC address.
type MAC [6]byte

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// A PortID names a port on the chip: it is the port's first lane. So it depends
// on what the port is, not on when it was made.
type PortID uint16

// CPUPort is the port to the CPU.
const CPUPort PortID = 0xffff

// A PacketAction says what is done with a packet, in the order of SAI.
type PacketAction uint8

// The packet actions.
const (
	Drop PacketAction = iota
	Forward
	Copy // to the CPU, and forward
	CopyCancel
	Punt // to the CPU, and drop
	Log
	Deny
	Transit
)

// Copies says that an action has a copy go to the CPU.
func (a PacketAction) Copies() bool { return a == Copy || a == Punt || a == Log }

// A Stage is that of an ACL.
type Stage uint8

// The stages.
const (
	Ingress Stage = iota
	Egress
	PreIngress // behind the parser, before anything is decided
	NumStages
)

// A HostInterface is a HOSTIF object of a port: the device of Linux that SAI asks for.
type HostInterface struct {
	Name string
	Up   bool // SAI_HOSTIF_ATTR_OPER_STATUS: it has a carrier
}
