package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
	"tamtam/tam/dropreport"
)

// toReport holds the drops that are to be reported.
type toReport struct {
	during when
	noted  int // number of waiting drops
	flows  int // number of flows of all events
	lists  [numWhens]tm.Ring[notedDrop]
	wait   Cycle  // cycles from a drop to its report
	age    uint32 // number of events ever created
	born   [config.MaxTAMEvents]uint32
	tams   []config.ID // TAM objects of the switch
	always eventSet    // events of the switch; derived
}

// A notedDrop is a drop that waits, with the values that may change before its report.
type notedDrop struct {
	at      Cycle
	pk      *packet // the dropped packet, of which it holds a reference
	in, out uint32  // numbers of interfaces; zero means none
	depth   uint32
	fillers [dropreport.Fillers]filler
	events  eventSet
	why     drop.Reason
	stage   dropreport.Stage
	flags   uint8
	queue   uint8
	queued  bool
}

// A tamEvent is an event that reports drops.
type tamEvent struct {
	row     config.TAMEvent
	limiter *policer // nil means no limit on reports
	seen    uint64   // number of drops, for sampling
	counts  [dropreport.WordSent]uint64
	layout  reportLayout
	every   Cycle // cycles after which templates are sent again
	domain  uint32
	to      []*sending // one per collector; derived
	table   *flowTable // nil if there was never a threshold
}

// A tamCollector is a receiver of reports.
type tamCollector struct{ row config.TAMCollector }

// A sending holds an event's reports to one collector. The copies that carry the reports refer to its encap.
type sending struct {
	of *tamCollector
	// Values on which its templates depend.
	layout     config.ReportLayout
	enterprise uint32

	row     config.TAMCollector
	policer *policer // policer of reports to the CPU; nil if there is none
	port    *port
	lag     *lag
	head    []byte // headers of Ethernet, IP and UDP
	dscp    uint8
	unknown bool // true if the destination is unknown

	encap     mirrorEncap
	began     bool // true once templates were sent
	refreshed Cycle
	messages  int
	known     [dropreport.Masks / 64]uint64 // bit set of the templates sent since refreshed
}

// reporting holds the compiled rows of drop reporting.
type reporting struct {
	events  [config.MaxTAMEvents]*tamEvent
	streams map[streamKey]*stream
}

// A reportRecord holds the values of a report.
type reportRecord struct {
	event                     dropreport.Event
	at                        uint64
	delta, first, last, total uint64
	key                       flowKey
	pk                        *packet // packet whose frame is included; nil if there is none
	queue                     uint8
	queued                    bool
	depth                     uint32
	fillers                   [dropreport.Fillers]filler
}
