package saisim

import (
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/stream"
)

// Types of the packet path that are part of the chip's interface.
type (
	// PortID names a port on the chip: it is the port's first lane.
	PortID = config.PortID
	// Cycle is a number of cycles of the chip's clock since the chip was made.
	Cycle = engine.Cycle
	// IdealClock reads the time of an ideal clock, as [Chip.TrueTime] does.
	IdealClock = engine.IdealClock
	// Frame is an Ethernet frame without FCS.
	Frame = engine.Frame
	// Arrival is a frame on its way to a port's ingress MAC, for [Chip.ReceiveAll].
	Arrival = engine.Arrival
	// Out is a frame that leaves the chip.
	Out = engine.Out
	// HostInterface is the Linux device of a port's HOSTIF object.
	HostInterface = config.HostInterface
	// Sample describes a sampled frame.
	Sample = engine.Sample
	// StreamMessage is an encoded message of a stream of statistics.
	StreamMessage = stream.Message
	// StreamChannel is the group of generic netlink to which a stream goes.
	StreamChannel = stream.Channel
	// StreamCounts counts the records of a stream.
	StreamCounts = stream.Counts
	// Ledger keeps account of frames by their ids.
	Ledger = engine.Ledger
	// FrameCounts accounts for every frame.
	FrameCounts = engine.FrameCounts
	// PortCounters holds the totals of a port since it was created.
	PortCounters = engine.PortCounters
	// QueueState holds a queue's fill and counts.
	QueueState = engine.QueueState
	// TrimTotals counts the trimmed packets of all ports.
	TrimTotals = engine.TrimTotals
	// Burst is a time in which a queue held much.
	Burst = engine.Burst
	// BurstLimits defines the bursts of a queue.
	BurstLimits = engine.BurstLimits
	// BurstFlow is a flow in a burst.
	BurstFlow = engine.BurstFlow
	// FlowID names a flow in a queue by its headers.
	FlowID = engine.FlowID
	// BurstReading holds bursts that have ended, and those that are open.
	BurstReading = engine.BurstReading
	// GroupState holds the fill and the counts of an ingress priority group.
	GroupState = engine.GroupState
	// PauseCounts holds the counts of priority flow control of a port, by priority.
	PauseCounts = engine.PauseCounts
	// PauseCount holds the counts of priority flow control of a priority in one direction.
	PauseCount = engine.PauseCount
	// PoolState holds the fill of a pool of the packet memory.
	PoolState = engine.PoolState
	// FDBRow is an address in a VLAN.
	FDBRow = engine.FDBRow
	// ACLCount holds the values of an ACL counter.
	ACLCount = engine.ACLCount
	// Batch is a change to the programs in the pipes at one cycle, with reads.
	Batch = engine.Batch
	// BatchResult holds the values that a batch has read.
	BatchResult = engine.BatchResult
	// Moment is one step in the history of a frame.
	Moment = engine.Moment
	// What is the kind of event in a [Moment].
	What = engine.What
	// Drop is the end of a packet, or of one copy of it, that reaches no receiver.
	Drop = engine.Drop
	// Kept is the end of a packet, or of one copy of it, as the chip keeps it.
	Kept = engine.Kept
	// Unkept is a set of parts of a path that are not kept.
	Unkept = engine.Unkept
	// Flow selects packets.
	Flow = engine.Flow
	// RingState holds the numbers of kept and overwritten ends.
	RingState = engine.RingState
	// ByteTime is the duration of one byte on a wire.
	ByteTime = engine.ByteTime
	// Trail holds the tables that a packet or a copy of it has run and that hit.
	Trail = engine.Trail
)

// CPUPort is the port to the CPU.
const CPUPort = config.CPUPort

// MaxClockRate is the maximum of the clock's drift and rate, in parts per billion.
const MaxClockRate = engine.MaxClockRate

// Moments of frames, in the order in which they occur.
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
	MomentTrimmed    = engine.MomentTrimmed
)
