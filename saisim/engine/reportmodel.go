package engine

import (
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
)

// Drops are noted where packets end, and reported a fixed time later. Parts of the chip run ahead of each other by up
// to half a wheel's span. After that time and the time through the ingress pipe, all drops of a cycle are known. They
// are reported in the order of the cycle's work, whichever part ran first.

// An eventSet is a set of TAM events, by index.
type eventSet uint16

// A when is a part of a cycle's work, in the order of the work.
type when uint8

const (
	whenSent       when = iota // at egress MACs
	whenManaged                // queues and the egress pipe
	whenReceived               // at ingress MACs
	whenEntering               // at the entry of the ingress pipe
	whenControlled             // between two cycles
	numWhens
)

// A filler is an interface, and the number of its bytes in a queue.
type filler struct{ port, bytes uint32 }

// A fill holds the bytes in a queue, by ingress port. The last element is for bytes from no port.
type fill []uint64

// A tamSet is a TAM object with the events that it lists.
type tamSet struct {
	row config.TAM
	set eventSet // the events as a bit set
}

// A streamKey identifies a stream of messages with sequence numbers.
type streamKey struct {
	src, dst netip.AddrPort
	domain   uint32
}

// A stream is the state of the messages from one observation domain to one collector.
type stream struct {
	sequence uint32
	counts   [dropreport.NumWords]uint64 // only the words from WordSent on are used
	used     bool
}

// A reportLayout holds the parts from which an event's messages are made.
type reportLayout struct {
	base   uint16 // number of the template without groups
	fixed  bool
	always templatePart
	groups [dropreport.NumGroups]templatePart
	info   [][]byte // type information of own elements, one record each
}

// A templatePart holds some fields of a template.
type templatePart struct {
	fields int
	bytes  []byte
}

// A flowKey identifies a flow of drops.
type flowKey struct {
	src, dst     [2]uint64
	dmac, smac   uint64 // for frames that are not IP
	in, out      uint32
	l4src, l4dst uint16
	etherType    uint16
	mask         uint16 // bit set of the groups whose fields are valid
	proto, flags uint8
	why          drop.Reason
	stage        dropreport.Stage
}

// A dropFlow is a flow of drops for one reason.
type dropFlow struct {
	key            flowKey
	first, last    uint64 // NTP times of the first and the last drop
	timing         uint8  // flags of first and last
	total, pending uint64 // number of packets, and number of packets not reported yet
	more           bool   // true if the interval had further drops
	until          Cycle  // end of the current interval
	next           int32  // next flow with the same hash
	newer, older   int32  // neighbours in the order by last drop
	sooner, later  int32  // neighbours in the order by end of the interval
	queue          uint8
	queued         bool
	depth          uint32
	fillers        [dropreport.Fillers]filler
}

// A flowTable holds a limited number of flows. Places are numbered from 1. Place 0 is before the first and after the
// last in both orders.
type flowTable struct {
	aging   Cycle
	n       int
	flows   [config.DropFlows + 1]dropFlow
	buckets [2 * config.DropFlows]int32
	free    int32 // head of the free list, linked by next
}
