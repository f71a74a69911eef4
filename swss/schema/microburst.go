package schema

import (
	"fmt"
	"strings"
)

// Microbursts: the bursts of queues with a threshold.
const (
	CfgMicroburst      = "MICROBURST"
	AppMicroburst      = "MICROBURST_TABLE"
	CountersMicroburst = "MICROBURST_COUNTERS" // :port:queue -> see microburstCounters
	CountersBurst      = "MICROBURST_RECORD"   // :port:queue:number -> one burst
)

// BurstRecords is the maximum number of records of a queue in COUNTERS_DB. A new one replaces the oldest.
const BurstRecords = 64

// Microburst is a row of MICROBURST and MICROBURST_TABLE: the limits of a queue.
type Microburst struct {
	Port      string
	Queue     uint8
	Threshold uint32 // bytes; a burst begins when the queue holds as many
	End       uint32 // bytes; a burst ends when the queue holds fewer; 0 means half of Threshold
}

// Low returns the bytes below which a burst ends.
func (m *Microburst) Low() uint32 {
	if m.End > 0 {
		return m.End
	}
	return max(1, m.Threshold/2)
}

// Check returns an error if a burst would end before it begins.
func (m *Microburst) Check() error {
	if m.End > m.Threshold {
		return fmt.Errorf("end_threshold %q: want at most threshold, %d", utoa(m.End), m.Threshold)
	}
	return nil
}

func (m *Microburst) layout() layout {
	return layout{
		table: CfgMicroburst,
		key: key{form: microburstKey, read: func(r *reader, key string) {
			port, number, _ := strings.Cut(key, "|")
			n, ok := decimal(number)
			if m.Port, m.Queue = port, uint8(n); !ok || number != utoa(n) || n > maxQueue || !IsPortName(port) {
				r.bad("", key, microburstKey+", the queue in "+rangeForm(0, maxQueue))
			}
		}},
		fields: []field{
			number("threshold", 1, 1<<32-1, 0, &m.Threshold, "Bytes in the queue with which a burst begins.").needed(),
			number("end_threshold", 0, 1<<32-1, 0, &m.End,
				"A burst ends when fewer bytes are in the queue; 0 is half of threshold.").ifSet(),
		},
	}
}

const microburstKey = "EthernetN|queue, such as Ethernet0|3"

// Counters of the bursts of a queue. Counts continue over restarts of the chip.
const (
	CountBursts        = "BURSTS"
	CountBurstsLost    = "LOST"
	CountBurstNanos    = "DURATION"
	CountBurstPeak     = "PEAK"
	CountBurstDrops    = "DROPPED"
	CountBurstStarted  = "CHIP_STARTED"
	CountBurstPosition = "CHIP_POSITION"
	CountBurstIndex    = "CHIP_INDEX"
)

func microburstCounters() []field {
	peak := counter(CountBurstPeak, "Largest number of bytes in the queue in a recorded burst.").
		metric("microburst_peak_bytes", "")
	peak.gauge = true
	chip := func(name, words string) field {
		f := counter(name, words)
		f.gauge = true
		return f
	}
	return []field{
		counter(CountBursts, "Bursts that have ended.").metric("microbursts_total", ""),
		counter(CountBurstsLost, "The part of them without a record, because they were too many between two readings.").
			metric("microbursts_lost_total", ""),
		counter(CountBurstNanos, "Duration of the recorded bursts, together, in ns.").
			metric("microburst_seconds_total", ""),
		peak,
		counter(CountBurstDrops, "Packets that the queue dropped in recorded bursts.").
			metric("microburst_dropped_packets_total", ""),
		chip(CountBurstStarted, "Start of the chip with the last recorded burst, in ns since 1970."),
		chip(CountBurstPosition, "Position of the next burst among those that have ended there."),
		chip(CountBurstIndex, "Number of the last recorded burst among those of the queue there."),
		sinceAll("Start of all counters."),
	}
}

func microburstTables() []Table {
	count := func(name, words string) Field { return Field{Name: name, Form: "a number", Words: words} }
	return []Table{
		of(Table{Config: CfgMicroburst, Appl: AppMicroburst, State: AppMicroburst,
			Words: "The threshold of a queue whose bursts are recorded."}, Microburst{}),
		counted(Table{Counters: CountersMicroburst, Labels: []string{"port", "queue"},
			Words: "The bursts of a queue. Rows stay when the queue has no threshold any more."},
			"EthernetN:queue", microburstCounters()...),
		{Counters: CountersBurst, Words: "The last bursts of a queue, each once; an open one is overwritten until it ends.",
			Key: "EthernetN:queue:number", Fields: []Field{
				{Name: BurstState, Form: "ended, open or cut", Words: "Whether it has ended; cut: by a change of " +
					"the thresholds, or with the port."},
				{Name: BurstBegin, Form: "a time as in RFC 3339", Words: "When it began, by the switch's clock."},
				{Name: BurstEnd, Form: "a time as in RFC 3339", Words: "When it ended, or was read."},
				{Name: BurstPeakAt, Form: "a time as in RFC 3339", Words: "When the queue first held the most."},
				count(BurstDuration, "Duration in ns."), count(BurstCycles, "Duration in cycles of the chip."),
				{Name: BurstUnsynced, Form: "true or false",
					Words: "Whether the clock was not synchronised, or was set, during the burst."},
				count(BurstPeak, "Largest number of bytes in the queue."),
				count(BurstThreshold, "Bytes with which it began."), count(BurstLow, "Bytes below which it ends."),
				count(BurstPackets, "Packets that were in the queue during the burst."),
				count(BurstBytes, "Their bytes, without FCS."),
				count(BurstStanding, "The part of these bytes that was in the queue when the burst began."),
				count(BurstDropped, "Packets that the queue did not admit during the burst."),
				count(BurstDroppedBytes, "Their bytes."),
				{Name: BurstFlows, Form: "JSON", Words: "The flows of the packets, with the most bytes first. A flow has at " +
					"most bytes, and at least bytes less over."},
				count(BurstRest, "Bytes that each flow outside of the list has at most; zero if there is none."),
			}},
	}
}

// Fields of a record.
const (
	BurstState        = "state"
	BurstBegin        = "begin"
	BurstEnd          = "end"
	BurstPeakAt       = "peak-at"
	BurstDuration     = "duration"
	BurstCycles       = "cycles"
	BurstUnsynced     = "unsynced"
	BurstPeak         = "peak"
	BurstThreshold    = "threshold"
	BurstLow          = "end-threshold"
	BurstPackets      = "packets"
	BurstBytes        = "bytes"
	BurstStanding     = "standing-bytes"
	BurstDropped      = "dropped-packets"
	BurstDroppedBytes = "dropped-bytes"
	BurstFlows        = "flows"
	BurstRest         = "rest-bytes"
)
