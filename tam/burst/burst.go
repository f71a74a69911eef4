// Package burst defines the records of bursts of queues as a chip returns them, in the JSON of the extension
// tamtam.bursts. docs/internals/extensions.md specifies it.
//
// What belongs here: this format. Limits of queues do not: they are SAI's objects.
package burst

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The extension, and its attributes.
const (
	Object     = "tamtam.bursts"
	AttrRead   = "read"   // a Request
	AttrBursts = "bursts" // a Reading
)

// MaxRecords is the maximum number of bursts in one reading, besides the open ones.
const MaxRecords = 8

// MaxOpen is the maximum number of open bursts in one reading. The others are counted only.
const MaxOpen = 8

// A Request selects bursts by their position since the start of the chip.
type Request struct {
	From uint64 `json:"from"`
}

// A Reading holds bursts that have ended, in the order of their ends, and open ones.
type Reading struct {
	Started int64    `json:"started"` // start of the chip in ns since 1970; another value means another chip
	Ended   uint64   `json:"ended"`   // bursts that have ended since the start
	First   uint64   `json:"first"`   // position of the first of List; larger than requested if earlier ones are lost
	List    []Record `json:"list"`
	Open    []Record `json:"open"`
	Opened  int      `json:"opened"` // open bursts, including those beyond Open
}

// A Record is a burst of a queue. Times are ns since 1970 by the chip's clock.
type Record struct {
	Port  uint16 `json:"port"` // N of EthernetN
	Queue uint8  `json:"queue"`
	Index uint64 `json:"index"` // number of the queue's burst, from 1 on; a new port begins again
	State State  `json:"state"`
	High  uint64 `json:"high"` // limits in bytes
	Low   uint64 `json:"low"`

	Begin    int64  `json:"begin"`
	End      int64  `json:"end"` // of an open burst: the time of the reading
	PeakAt   int64  `json:"peak-at"`
	Cycles   uint64 `json:"cycles"`   // duration in cycles of the chip
	Duration uint64 `json:"duration"` // the same in ns, rounded down
	Unsynced bool   `json:"unsynced"` // true if the clock was not synchronised, or was set, during the burst

	Peak         uint64 `json:"peak"` // bytes
	Packets      uint64 `json:"packets"`
	Bytes        uint64 `json:"bytes"`    // of all packets that were in the queue during the burst
	Standing     uint64 `json:"standing"` // the part of Bytes that was there when it began
	Dropped      uint64 `json:"dropped"`  // packets
	DroppedBytes uint64 `json:"dropped-bytes"`

	Flows []Flow `json:"flows"` // those with the most bytes first
	Rest  uint64 `json:"rest"`  // other flows have at most so many bytes each; 0 means that there are none
}

// A State is the state of a burst.
type State string

// States of a burst.
const (
	Ended State = "ended"
	Open  State = "open"
	Cut   State = "cut" // ended by a change of the limits, or with the port
)

// A Flow is a flow in a burst. It has at most Bytes, and at least Bytes - Over. Frames that are not IP have MAC
// addresses.
type Flow struct {
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	SrcPort   uint16 `json:"src-port,omitempty"`
	DstPort   uint16 `json:"dst-port,omitempty"`
	Protocol  uint8  `json:"protocol,omitempty"`
	EtherType uint16 `json:"ether-type,omitempty"` // only of frames that are not IP
	Bytes     uint64 `json:"bytes"`
	Over      uint64 `json:"over,omitempty"`
}

// String returns the flow as words NAME=VALUE.
func (f Flow) String() string {
	s := fmt.Sprintf("src=%s dst=%s", f.Src, f.Dst)
	if f.EtherType > 0 {
		s += fmt.Sprintf(" ether-type=%#04x", f.EtherType)
	} else {
		s += fmt.Sprintf(" protocol=%d src-port=%d dst-port=%d", f.Protocol, f.SrcPort, f.DstPort)
	}
	return s + fmt.Sprintf(" bytes=%d over=%d", f.Bytes, f.Over)
}

// At returns a time of a record.
func At(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// Covers reports whether a packet that was in the queue between two times, in ns since 1970, met the burst.
func (r *Record) Covers(from, to int64) bool { return r.Begin <= to && from <= r.End }

// ByTime sorts records by their begin.
func ByTime(all []Record) {
	slices.SortStableFunc(all, func(x, y Record) int { return cmp.Compare(x.Begin, y.Begin) })
}
