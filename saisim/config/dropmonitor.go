package config

import (
	"net/netip"
	"time"
)

// Limits of a chip that reports drops.
const (
	MaxTAMEvents       = 16 // maximum number of events; each has a bit in sets of events
	MaxTAMCollectors   = 32
	MaxEventCollectors = 8
	// DropFlows is the maximum number of concurrent flows of an event with a threshold.
	DropFlows = 1024
	// ReportMessages is the number of messages of an event to a collector after which templates are sent again.
	ReportMessages = 1000
	// MinReportMTU is enough for every template and description, and for a record without its frame.
	MinReportMTU, MaxReportMTU = 576, 9216
	// MinAging and MaxAging are the limits for the interval of a threshold.
	MinAging, MaxAging = time.Microsecond, 30 * 24 * time.Hour
)

// A TAM lists events. It is bound to the switch, to ports, and by ACL entries.
type TAM struct {
	ID     ID
	Events []ID
	Domain uint32 // observation domain of the reports
	IFA    ID     // TAM INT object of the transit of IFA; None if there is none
}

// A TAMEvent causes drops to be reported. Reports are limited in number, or one of Sample drops is reported. With a
// threshold, a flow is reported when it begins, after each Aging while it continues, and when it has ended.
type TAMEvent struct {
	ID          ID
	Index       int // its bit in the sets of events; the lowest that was free
	Collectors  []ID
	Layout      ReportLayout
	Enterprise  uint32 // enterprise number of the elements that IANA does not define
	Templates   time.Duration
	Sample      uint32 // one of Sample drops is reported; zero means all
	Rate, Burst uint64 // reports per second, and in a burst; zero means no limit
	Aging       time.Duration
	DSCP        uint8 // DSCP of reports if the collector's DSCP is 0
}

// A ReportLayout is the layout of a drop in a message.
type ReportLayout uint8

// The layouts.
const (
	// ReportFields has a field for each known value, and a template for each set of known fields.
	ReportFields ReportLayout = iota
	// ReportFixed is the layout of sonic-mgmt's tests: one template, and 0 for unknown values.
	ReportFixed
	// ReportIFA reports a packet with its stack of IFA data. All reports use one template, without elements of an
	// enterprise.
	ReportIFA
)

// A TAMCollector is a receiver of reports, reached through the CPU or a port.
type TAMCollector struct {
	ID         ID
	Local      bool
	ToCPU          // used if Local is true
	To         ID  // port or LAG; None means that reports are not sent
	SMAC, DMAC MAC // zero SMAC means the switch's; with a zero DMAC reports are not sent
	Src, Dst   netip.Addr
	SrcPort    uint16
	DstPort    uint16
	DSCP       uint8
	MTU        int // maximum length of packets, IP header included
	Truncate   int // maximum bytes of a frame in a report; zero means as many as fit
}
