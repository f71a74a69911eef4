package saisim

import "tamtam/saisim/config"

// A PortID names a port on the chip: it is the port's first lane.
type PortID = config.PortID

// CPUPort is the port to the CPU.
const CPUPort = config.CPUPort
