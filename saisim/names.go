package saisim

import (
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

// What those who have a chip at hand give it and get from it is defined by the packet path.
type (
	// PortID names a port on the chip: it is the port's first lane.
	PortID = config.PortID
	// Cycle is a count of the chip's clock since the chip was made.
	Cycle = engine.Cycle
	// Frame is an Ethernet frame without FCS.
	Frame = engine.Frame
	// Arrival is a frame on its way to a port's ingress MAC, as [Chip.Receive] takes it.
	Arrival = engine.Arrival
	// Out is a frame that leaves the chip.
	Out = engine.Out
	// HostInterface is the device of Linux that a HOSTIF object of a port stands for.
	HostInterface = config.HostInterface
	// Sample is what the chip says of a frame that it has sampled.
	Sample = engine.Sample
	// Ledger keeps account of frames by their ids.
	Ledger = engine.Ledger
	// Books account for every frame.
	Books = engine.Books
	// PortCounters are the totals of a port since it was created.
	PortCounters = engine.PortCounters
	// QueueState is what a queue holds and has counted.
	QueueState = engine.QueueState
	// FDBRow is an address in a VLAN.
	FDBRow = engine.FDBRow
	// ACLCount is what an ACL counter has counted.
	ACLCount = engine.ACLCount
	// Batch is what control does to the programs in the pipes at one cycle.
	Batch = engine.Batch
	// BatchResult is what a batch has read.
	BatchResult = engine.BatchResult
	// Moment is one step in the history of a frame.
	Moment = engine.Moment
	// What happened to a frame, or to one copy of it, in a [Moment].
	What = engine.What
	// Drop is the end of a packet, or of one copy of it, that nobody gets.
	Drop = engine.Drop
	// Kept is the end of a packet, or of one copy of it, as the chip keeps it.
	Kept = engine.Kept
	// Unkept are parts of a path that are not kept.
	Unkept = engine.Unkept
	// Flow says which packets are watched.
	Flow = engine.Flow
	// RingState is how many ends are kept, and forgotten.
	RingState = engine.RingState
	// ByteTime is the time of one byte on a wire.
	ByteTime = engine.ByteTime
	// Trail says which tables a packet or a copy of it ran and which hit.
	Trail = engine.Trail
)

// CPUPort is the port to the CPU.
const CPUPort = config.CPUPort

// MaxClockRate bounds drift and rate of the clock, in parts per billion.
const MaxClockRate = engine.MaxClockRate

// What happens to frames, in the order in which it does.
const (
	MomentReceived   = engine.MomentReceived
	MomentInjected   = engine.MomentInjected
	MomentEntered    = engine.MomentEntered
	MomentReplicated = engine.MomentReplicated
	MomentMirrored   = engine.MomentMirrored
	MomentQueued     = engine.MomentQueued
	MomentDequeued   = engine.MomentDequeued
	MomentSent       = engine.MomentSent
	MomentPunted     = engine.MomentPunted
	MomentDropped    = engine.MomentDropped
)
