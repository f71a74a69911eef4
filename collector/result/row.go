package result

// All times are in nanoseconds since 1970 (TAI or UTC as the switches have it), all latencies in nanoseconds.

// A Window is the time that a row is about: from Start, Length long. Windows lie end to end from 0 on.
type Window struct {
	Start  int64
	Length int64
}

// Flags say why a row may not be the whole truth. Rows of one window, flow and place add up. Without flags the sum is
// exact for the messages that were sent: none of the sources was silent or lost a message, and nothing was left out for
// room.
type Flags uint16

const (
	// Gap: a source's messages of this time were lost (its numbers have a gap), or it did not hear all of this time, as
	// where it begins or ends, or was killed.
	Gap Flags = 1 << iota
	// Late: the row has what came after its window was closed. Rows of the same window, flow and place add up; those
	// from before were not the whole.
	Late
	// Silent: the window was closed though a source had not said that it was past it.
	Silent
	// Overflow: there were more flows, paths or packets in the window than there was room for.
	Overflow
	// Cut: frames were cut, so that stamps or records may be missing.
	Cut
	// Unsynchronised: clocks of two switches are compared that nobody vouches for, or a time is by a clock that was
	// seen to be wrong.
	Unsynchronised
	// Missing: a switch that a packet must have come from, or gone to, has no record of it. It was lost on the wire, or
	// not recorded there, or that record was lost.
	Missing
	// Edge: a packet's way reaches to the end of what is joined together, so that there may be more of it.
	Edge
	// Twice: frames may be counted more than once, since they were captured more than once: in the same place, or on
	// their way and farther on it. Of the same place that is known by the order in which they left the last switch.
	Twice
	// Searched: records of tail-stamping were found by search, behind or between bytes that belong to none, such as an
	// undeclared FCS. With a small probability one is no record.
	Searched
)

// A Hop is one switch on one way of one flow, in a window, from tail-stamps.
type Hop struct {
	Window   Window
	Flow     string // as collector.Flow prints it
	Path     string // the switches and ports of the whole way: equal for all hops of it
	Index    int    // on the way, from 0
	Switch   uint32 // id
	In, Out  uint16 // ports as in the stamps
	Packets  int64
	Unknown  int64        // of them, those whose residence is not known (a stamp was not taken or is out of sync)
	Resident Distribution // departure minus arrival
	Link     Distribution // arrival minus the departure at the hop before; of hop 0 nothing
	Flags    Flags
}

// A Drop is how many packets died in one place for one reason, in a window.
type Drop struct {
	Window      Window
	Switch      string
	Port        string // "" if the packet died before or without one
	Queue       int    // -1: in none, or it is not told
	Reason      string // SAI's or ours, as `show drops` prints it
	Rule        string // of an ACL; "" if none decided
	Flow        string
	Packets     int64
	First, Last int64
	Source      string // ipfix, sflow or record
	Flags       Flags
}

// A Loss is what alternate marking says of one period between two places. Of several of the same flow, places, start
// and period the last one holds: the others say less.
type Loss struct {
	Flow     string // or the name of the path or graph
	Cluster  string // of the graph; "" for a whole path
	From, To string
	Period   uint64
	Window   Window // of the period
	Status   string // ok, or why it is not
	Known    bool   // Sent, Received and Lost are known
	Excess   bool   // Lost is not, for more packets came somewhere than were sent; Sent and Received are, as counted
	Sent     int64
	Received int64
	Lost     int64
	Delay    Distribution // of single packets
	Mean     MeanDelay
	Detail   string // flags of the period in words
	Flags    Flags  // beside what Status says
}

// A MeanDelay is the mean delay of all packets of a period (RFC 9341), where switches measure it.
type MeanDelay struct {
	Known   bool
	Delay   int64  // rounded to the nearest ns
	Sum     string // decimal, of up to 128 bits; divided by Received it is the exact mean. "" of a way there and back
	Unknown string // why it is not known; "" where it is, and where no switch measures it
}

// A Journey is one packet's way through the network, from where it was first seen.
type Journey struct {
	Time      int64 // its first arrival, by that switch's clock
	Flow      string
	Key       string // alike for packets that are alike
	From      string // the host, or where else it came from as far as is known; "": not told
	Hops      []JourneyHop
	End       string // forwarded out of the network, dropped: REASON, not seen again; of copies all, "; " between them
	Ambiguous bool   // packets are alike: it may have come from, or gone on as, more than one; the row has what is certain
	Candidate int    // 1 if Ambiguous
	Of        int    // the most that are alike at one place; at least
	Flags     Flags
}

// A JourneyHop is a visit of a switch. Parent is the index of the hop that it came from, -1 for the first.
type JourneyHop struct {
	Parent    int
	Switch    string
	In, Out   string
	Arrival   int64 // 0: not known
	Departure int64 // 0: not known
	Queue     int   // -1: not known
	Depth     int64 // bytes; -1: not known
	Tables    string
	Dropped   string // the reason; "" if it went on
	// Perhaps are the visits of which one is the next, if it is not certain which.
	Perhaps string
}

// A Sketch is an answer of a FlyMon task.
type Sketch struct {
	Time     int64
	Switch   string
	Task     string
	Key      string
	Estimate float64
	Low      float64 // bound
	High     float64
	Bounded  bool
	Truth    float64
	Known    bool // Truth is known (simulations)
	Flags    string
}

// A Source is who sends messages, and how that goes, as of the last message that went into a batch. Number and Promise
// are as of the message before Position.Low.
type Source struct {
	Name    string
	Kind    string // tailstamp, record, drop, altmark, sketch
	Batches int64
	Events  int64
	Lost    int64 // batches, by gaps in numbers
	Twice   int64 // batches that came again, and were dropped
	Bad     int64 // batches that could not be read
	Late    int64 // events that came behind the watermark
	LeftOut int64 // events that could not be joined, as those of switches that nobody knows; -1: not known
	Latest  int64 // event time; 0 if there was none
	Told    int64 // up to when it said that all is there, or that something is missing; 0: it has not
	Silent  bool  // it was left out of the watermark
	Number  uint64
	Promise int64
}

// A Position is where a partition stands: what a worker must know to go on as if it had never stopped.
type Position struct {
	Last uint64 // the last message that went into a batch; 0: none did
	// Closed is the watermark: all windows that end by then are closed, and those of the messages up to Last are in
	// batches.
	Closed int64
	// Low is the first message with events of a window that is still open, or Last+1: those before are not needed.
	Low     uint64
	Sources []Source
	// Gaps are times after Closed from which events may be missing.
	Gaps []Amend
}

// A Batch is what came of some messages of a partition: of windows that were closed, and events that came late.
type Batch struct {
	Partition string
	First     uint64 // of the messages that went in; the last is Position.Last
	Position
	Hops     []Hop
	Drops    []Drop
	Losses   []Loss
	Journeys []Journey
	Sketches []Sketch
	// Amends are flags of windows that are closed, with or without rows: they hold for all that is and is not there.
	Amends []Amend
}

// An Amend says of windows that are closed that something may be missing: some source had lost a message, or was
// silent.
type Amend struct {
	From, To int64 // of the times that are in doubt, both included
	Flags    Flags
}
