package config

import (
	"net/netip"
	"time"
)

// Bounds of a chip that reports drops.
const (
	MaxTAMEvents       = 16 // events, which have each a bit in the sets of events
	MaxTAMCollectors   = 32
	MaxEventCollectors = 8
	// DropFlows is how many flows an event with a threshold knows at a time.
	DropFlows = 1024
	// ReportMessages is after how many messages of an event to a collector templates go again.
	ReportMessages = 1000
	// MinReportMTU has room for every template and description, and for a record without its frame.
	MinReportMTU, MaxReportMTU = 576, 9216
	// MinAging and MaxAging bound the interval of a threshold.
	MinAging, MaxAging = time.Microsecond, 30 * 24 * time.Hour
)

// A TAM lists events. It is bound to the switch, to ports, and by ACL entries.
type TAM struct {
	ID     ID
	Events []ID
	Domain uint32 // observation domain of their reports
	IFA    ID     // TAM INT object of the transit of IFA; None: none
}

// A TAMEvent has drops reported. Reports are bounded by number, or one drop in Sample is reported; of flows with a
// threshold there are reports when they begin, each Aging while they go on, and when they have ended.
type TAMEvent struct {
	ID          ID
	Index       int // its bit in the sets of events, the lowest that was free
	Collectors  []ID
	Layout      ReportLayout
	Enterprise  uint32 // of own elements
	Templates   time.Duration
	Sample      uint32 // 0: no drop is left out
	Rate, Burst uint64 // reports in a second, and at once; 0: any
	Aging       time.Duration
	DSCP        uint8 // of reports, where that of the collector is 0
}

// A ReportLayout is how a drop stands in a message.
type ReportLayout uint8

// The layouts.
const (
	// ReportFields has a field for all that is known, and a template for each set of fields that are.
	ReportFields ReportLayout = iota
	// ReportFixed is that of sonic-mgmt's tests: one template, and 0 for what is not known.
	ReportFixed
	// ReportIFA has a packet with its stack of IFA: one template, the same for all, without own elements.
	ReportIFA
)

// A TAMCollector is where reports go: to the CPU, or by a port.
type TAMCollector struct {
	ID         ID
	Local      bool
	ToCPU          // if Local
	To         ID  // port or LAG; None: nowhere, reports are not sent
	SMAC, DMAC MAC // zero: the switch's; nobody's, reports are not sent
	Src, Dst   netip.Addr
	SrcPort    uint16
	DstPort    uint16
	DSCP       uint8
	MTU        int // of packets, IP header included
	Truncate   int // bytes of a frame at most in a report; 0: as many as there is room for
}
