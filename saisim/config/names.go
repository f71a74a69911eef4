package config

import "fmt"

// An ID names a row. Rows refer to each other by ID. An ID is never used twice.
type ID uint64

// None refers to no row.
const None ID = 0

func (id ID) String() string { return fmt.Sprintf("%#x", uint64(id)) }

// A MAC is a MAC address.
type MAC [6]byte

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// A PortID names a port on the chip: it is the port's first lane. So it depends on the port's position, not on the time
// of its creation.
type PortID uint16

// CPUPort is the port to the CPU.
const CPUPort PortID = 0xffff

// A PacketAction is an action on a packet, in the order of SAI.
type PacketAction uint8

// The packet actions.
const (
	Drop PacketAction = iota
	Forward
	Copy // to the CPU and forwarded
	CopyCancel
	Punt // to the CPU and dropped
	Log
	Deny
	Transit
)

// Copies reports whether an action sends a copy to the CPU.
func (a PacketAction) Copies() bool { return a == Copy || a == Punt || a == Log }

// A Stage is a stage of ACLs.
type Stage uint8

// The stages.
const (
	Ingress Stage = iota
	Egress
	PreIngress // after the parser, before any decision
	NumStages
)

// A HostInterface is the Linux device for the HOSTIF object of a port.
type HostInterface struct {
	Name string
	Up   bool    // SAI_HOSTIF_ATTR_OPER_STATUS: true if it has a carrier
	MAC  [6]byte // SAI_SWITCH_ATTR_SRC_MAC_ADDRESS
}
