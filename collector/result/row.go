package result

// All times are in nanoseconds since 1970 (TAI or UTC, as on the switches). All latencies are in nanoseconds.

// A Window is the time range of a row: Length from Start on. Windows follow each other without gaps, from 0 on.
type Window struct {
	Start  int64
	Length int64
}

// Flags describe why a row may be inexact. Rows of one window, flow and place add up. Without flags the sum is exact
// for the messages that were sent: no source was silent or lost a message, and no limit was exceeded.
type Flags uint16

const (
	// Gap means that messages of a source for this time were lost (its numbers have a gap). Or the source did not
	// observe all of this time, for example because it started, ended or was killed.
	Gap Flags = 1 << iota
	// Late means that the row contains events that arrived after its window was closed. Rows of the same window, flow
	// and place add up. The earlier rows were incomplete.
	Late
	// Silent means that the window was closed although the watermark of a source had not passed it.
	Silent
	// Overflow means that flows, paths or packets in the window exceeded a limit.
	Overflow
	// Cut means that frames were truncated, so stamps or records may be missing.
	Cut
	// Unsynchronised means that clocks of two switches are compared without evidence of their accuracy, or that a time
	// is from a clock that proved wrong.
	Unsynchronised
	// Missing means that a switch that a packet must have come from, or gone to, has no record of it. Either the packet
	// was lost on the wire, or the switch did not record it, or the record was lost.
	Missing
	// Edge means that a packet's path reaches the edge of the joined time range, so it may be incomplete.
	Edge
	// Twice means that frames may be counted more than once, because they were captured more than once: at the same
	// place, or at several places on their path. Repeated captures at the same place are detected by the order in which
	// frames left the last switch.
	Twice
	// Searched means that tail-stamp records were found by search, after or between bytes that belong to no record,
	// such as an undeclared FCS. With a small probability, such a find is not a record.
	Searched
)

// A Hop is one switch on one path of a flow in a window, from tail-stamps.
type Hop struct {
	Window   Window
	Flow     string // as collector.Flow prints it
	Path     string // switches and ports of the whole path, equal for all its hops
	Index    int    // position on the path, from 0
	Switch   uint32 // id of the switch
	In, Out  uint16 // ingress and egress port as in the stamps
	Packets  int64
	Unknown  int64        // number of packets with an unknown residence, because a stamp is missing or not synchronised
	Resident Distribution // departure minus arrival
	Link     Distribution // arrival minus departure at the previous hop; empty for hop 0
	Flags    Flags
}

// A Drop is the number of packets dropped at one place for one reason in a window.
type Drop struct {
	Window      Window
	Switch      string
	Port        string // "" if the packet was dropped before it had a port, or without one
	Queue       int    // number of the queue that the packet was for, UnknownQueue or NoQueue
	Reason      string // name of SAI or of tamtam, as `show drops` prints it
	Rule        string // ACL rule that decided, or "" if none did
	Flow        string
	Packets     int64
	First, Last int64
	Source      string // ipfix, sflow or record
	Flags       Flags
}

// Values of Drop.Queue that are no numbers of queues.
const (
	UnknownQueue = -1
	NoQueue      = -2 // it is known that the packet was dropped before it was for a queue
)

// A Loss is a result of alternate marking for one period between two places. If several have the same flow, places,
// start and period, the last one is valid: it contains the most.
type Loss struct {
	Flow     string // flow, or the name of the path or graph
	Cluster  string // cluster of the graph, or "" for a whole path
	From, To string
	Period   uint64
	Window   Window // window of the period
	Status   string // ok, or the reason why the result is not ok
	Known    bool   // true if Sent, Received and Lost are valid
	// Lost is not valid because more packets arrived somewhere than were sent; Sent and Received are as counted
	Excess   bool
	Sent     int64
	Received int64
	Lost     int64
	Delay    Distribution // delays of single packets
	Mean     MeanDelay
	Detail   string // flags of the period as text
	Flags    Flags  // in addition to Status
}

// A MeanDelay is the mean delay of all packets of a period (RFC 9341), if switches measure it.
type MeanDelay struct {
	Known   bool
	Delay   int64  // mean delay, rounded to the nearest ns
	Sum     string // decimal, up to 128 bits; Sum / Received is the exact mean; "" for a round trip
	Unknown string // reason why the mean is unknown; "" if it is known or no switch measures it
}

// A Journey is one packet's path through the network, from its first sighting.
type Journey struct {
	Time int64 // time of the first arrival, by that switch's clock
	Flow string
	Key  string // equal for equal packets
	From string // host or other known origin; "" if unknown
	Hops []JourneyHop
	// forwarded out of the network, dropped: REASON, not seen again; the ends of all copies, separated by "; "
	End string
	// several equal packets exist, so the packet may have come from, or continued as, more than one; the row contains
	// only the certain hops
	Ambiguous bool
	Candidate int // 1 if Ambiguous
	Of        int // lower bound of the greatest number of equal packets at one place
	Flags     Flags
}

// A JourneyHop is a visit of a switch. Parent is the index of the previous hop, or -1 for the first.
type JourneyHop struct {
	Parent    int
	Switch    string
	In, Out   string
	Arrival   int64 // time of arrival; zero if unknown
	Departure int64 // time of departure; zero if unknown
	Queue     int   // number of the queue; -1 if unknown
	Depth     int64 // number of bytes in the queue; -1 if unknown
	Tables    string
	Dropped   string // drop reason, or "" if the packet continued
	// Perhaps lists the possible next visits, if the next one is not certain.
	Perhaps string
}

// A Sketch is an answer of a FlyMon task for an epoch, which ends at Time.
type Sketch struct {
	Start    int64 // start of the epoch; zero if unknown
	Time     int64
	Switch   string
	Task     string
	Key      string
	Estimate float64
	Low      float64 // lower bound
	High     float64
	Bounded  bool
	Truth    float64
	Known    bool // true if Truth is known, as in simulations
	Flags    string
}

// A Source is a sender of messages, with its statistics up to the last message in a batch. Number and Watermark are as
// of the message before Position.Low.
type Source struct {
	Name    string
	Kind    string // tailstamp, record, drop, altmark, sketch
	Batches int64
	Events  int64
	Lost    int64 // number of lost batches, by gaps in numbers
	Twice   int64 // number of repeated batches, which were dropped
	Bad     int64 // number of batches that could not be decoded
	Late    int64 // number of events that arrived after the watermark had passed them
	LeftOut int64 // number of events that could not be joined, such as those of unknown switches; -1 if unknown
	Latest  int64 // latest event time; 0 if there was none
	// time up to which the source reported its data as complete or as lost; 0 if it has not reported
	ReportedUntil int64
	Silent        bool // true if the source was left out of the watermark
	Number        uint64
	Watermark     int64
}

// A Position is the state of a partition: all that a worker needs to continue as if it had never stopped.
type Position struct {
	Last uint64 // number of the last message in a batch; 0 if there is none
	// Closed is the watermark. All windows that end by then are closed, and their events in messages up to Last are in
	// batches.
	Closed int64
	// Low is the first message with events of an open window, or Last+1. Earlier messages are not needed.
	Low     uint64
	Sources []Source
	// Gaps lists times after Closed from which events may be missing.
	Gaps []Amend
}

// A Batch is the result of some messages of a partition: closed windows, and events that arrived late.
type Batch struct {
	Partition string
	First     uint64 // number of the first message of the batch; the last one is Position.Last
	Position
	Hops     []Hop
	Drops    []Drop
	Losses   []Loss
	Journeys []Journey
	Sketches []Sketch
	// Amends are flags of closed windows, with or without rows. They hold for all existing and missing rows.
	Amends []Amend
}

// An Amend reports that something may be missing in closed windows: a source had lost a message or was silent.
type Amend struct {
	From, To int64 // range of uncertain times, inclusive
	Flags    Flags
}
