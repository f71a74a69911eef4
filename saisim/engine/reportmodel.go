package engine

import (
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
)

// Drops are noted where packets end, and reported a fixed time later. Parts of the chip run ahead of each other for up
// to half a wheel's span; behind that, and behind the ingress pipe, all drops of a cycle are known, and are reported in
// the order of the cycle's work, whichever part ran first.

// An eventSet is a set of TAM events, by index.
type eventSet uint16

// A when says which part of a cycle's work is being done, in its order.
type when uint8

const (
	whenSent       when = iota // at egress MACs
	whenManaged                // queues and the egress pipe
	whenReceived               // at ingress MACs
	whenEntering               // at the entry of the ingress pipe
	whenControlled             // between two cycles
	numWhens
)

// A filler is an interface, and how many bytes of it stand in a queue.
type filler struct{ port, bytes uint32 }

// A fill is the bytes that stand in a queue, by where they came in; the last are those of no port.
type fill []uint64

// A tamSet is a TAM object: the events that it lists.
type tamSet struct {
	row config.TAM
	set eventSet // derived
}

// A streamKey names a stream of messages with numbers in sequence.
type streamKey struct {
	src, dst netip.AddrPort
	domain   uint32
}

// A stream is the messages from one observation domain to one collector.
type stream struct {
	sequence uint32
	counts   [dropreport.NumWords]uint64 // those from WordSent on
	used     bool
}

// A reportLayout is what an event's messages are made from.
type reportLayout struct {
	base   uint16 // number of the template without groups
	fixed  bool
	always templatePart
	groups [dropreport.NumGroups]templatePart
	info   [][]byte // type information of own elements, a record each
}

// A templatePart is some fields of a template.
type templatePart struct {
	fields int
	bytes  []byte
}

// A flowKey tells flows of drops apart.
type flowKey struct {
	src, dst     [2]uint64
	dmac, smac   uint64 // of what is not IP
	in, out      uint32
	l4src, l4dst uint16
	etherType    uint16
	mask         uint16 // which of these there are
	proto, flags uint8
	why          drop.Reason
	stage        dropreport.Stage
}

// A dropFlow is a flow of drops for one reason.
type dropFlow struct {
	key            flowKey
	first, last    uint64 // when, as NTP has it
	timing         uint8  // flags of these
	total, pending uint64 // packets; those that no report has
	more           bool   // there were more in its interval
	until          Cycle  // the end of its interval
	next           int32  // of those with its hash
	newer, older   int32  // by their last drop
	sooner, later  int32  // by the end of their interval
	queue          uint8
	queued         bool
	depth          uint32
	fillers        [dropreport.Fillers]filler
}

// A flowTable knows a bounded number of flows. Places are numbered from 1; place 0 is before the first and behind the
// last of both orders.
type flowTable struct {
	aging   Cycle
	n       int
	flows   [config.DropFlows + 1]dropFlow
	buckets [2 * config.DropFlows]int32
	free    int32 // a list, by next
}
