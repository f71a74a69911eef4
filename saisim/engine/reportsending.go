package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
	"tamtam/tam/dropreport"
)

// toReport is what is known of drops that are to be reported.
type toReport struct {
	during when
	noted  int // drops that wait
	flows  int // that are known, of all events
	lists  [numWhens]tm.Ring[notedDrop]
	wait   Cycle  // from a drop to its report
	age    uint32 // how many events there have been
	born   [config.MaxTAMEvents]uint32
	tams   []config.ID // of the switch
	always eventSet    // of the switch; derived
}

// A notedDrop is a drop that waits, with what would be other by the time of the report.
type notedDrop struct {
	at      Cycle
	pk      *packet // of which it is one more use
	in, out uint32  // interfaces; 0: none
	depth   uint32
	fillers [dropreport.Fillers]filler
	events  eventSet
	why     drop.Reason
	stage   dropreport.Stage
	flags   uint8
	queue   uint8
	queued  bool
}

// A tamEvent is an event that has drops reported.
type tamEvent struct {
	row     config.TAMEvent
	limiter *policer // nil: any number of reports
	seen    uint64   // drops, for sampling
	counts  [dropreport.WordSent]uint64
	layout  reportLayout
	every   Cycle // templates go again
	domain  uint32
	to      []*sending // derived
	table   *flowTable // nil: there was never a threshold
}

// A tamCollector is where reports go.
type tamCollector struct{ row config.TAMCollector }

// A sending is an event's reports to one collector, whose copies it marks.
type sending struct {
	of *tamCollector
	// What its templates depend on.
	layout     config.ReportLayout
	enterprise uint32

	row     config.TAMCollector
	policer *policer // of reports to the CPU; nil: none
	port    *port
	lag     *lag
	head    []byte // Ethernet, IP and UDP
	dscp    uint8
	nobody  bool // nobody knows where to

	encap     mirrorEncap
	began     bool // templates went once
	refreshed Cycle
	messages  int
	known     [dropreport.Masks / 64]uint64 // templates that went since
}

// reporting is what is compiled of rows that have drops reported.
type reporting struct {
	events  [config.MaxTAMEvents]*tamEvent
	streams map[streamKey]*stream
}

// A reportRecord is what a report says.
type reportRecord struct {
	event                     dropreport.Event
	at                        uint64
	delta, first, last, total uint64
	key                       flowKey
	pk                        *packet // whose frame stands in it; nil: none
	queue                     uint8
	queued                    bool
	depth                     uint32
	fillers                   [dropreport.Fillers]filler
}
