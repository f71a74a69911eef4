package altmark

import (
	"cmp"
	"fmt"
	"time"
)

// Names of the extension objects of a chip that marks by itself; docs/internals/extensions.md has their
// JSON. A profile is configuration, flows are a window.
const (
	ObjectProfile = "tamtam.altmark.profile"
	ObjectFlows   = "tamtam.altmark.flows"
	ObjectFlow    = "tamtam.altmark.flow"
)

// Attributes of their entries: those of requests, and those that a get of flows returns.
const (
	AttrProfile = "profile" // a ChipProfile
	AttrFlow    = "flow"    // a ChipFlowOf
	AttrFlows   = "flows"   // indices, at most MaxChipFlows

	AttrTime        = "time"        // ChipClock.Words
	AttrKernel      = "kernel"      // KernelClock.Words; only of a chip whose clock follows a kernel's
	AttrGenerations = "generations" // of each flow
	AttrCounters    = "counters"    // ChipCounts.Words of colour 0 and of colour 1 of each flow
	AttrOuter       = "outer"       // OuterCounts.Words of each flow; without, none has counted anything
	AttrLate        = "late"        // LatePeriods of each flow: First, Last; without, no frame was given late
	AttrProgram     = "program"     // 1: a program runs, and no header is put on or taken off; without, none runs
	AttrArrivals    = "arrivals"    // ChipArrivals.Words as of counters; without, nothing was summed up
)

// MaxChipFlows are the flows of one window: more may be longer than a list of SAI on the wire,
// 65536 bytes.
const MaxChipFlows = 128

// MaxChipArrivals is the same where arrivals are summed up.
const MaxChipArrivals = 96

// A ChipProfile has the settings that the sessions of a lane share.
type ChipProfile struct {
	Lane     int    `json:"lane"`
	Role     string `json:"role"`
	Method   string `json:"method"`
	Interval int    `json:"interval"` // n: periods are 2^n seconds
	Mark     string `json:"mark"`
	Mark2    string `json:"mark2"`
	Clear    bool   `json:"clear"`
	SlotSync bool   `json:"slot-sync"`
	GuardNS  int64  `json:"guard-ns"`
	EarlyNS  int64  `json:"early-ns"`
	Drop     bool   `json:"drop-marked"`
	Encap    bool   `json:"encap,omitempty"` // an initiator's: packets are marked in the header that they get
	// MeanDelay: the arrivals of packets are summed up.
	MeanDelay bool `json:"mean-delay,omitempty"`
}

// ChipProfile returns what the session needs of its lane, with lane 0.
func (s Session) ChipProfile() ChipProfile {
	return ChipProfile{
		Role: s.Role.String(), Method: s.Method.String(), Interval: int(s.Interval),
		Mark: s.Mark.String(), Mark2: s.Mark2.String(), Clear: s.Clear, SlotSync: s.SlotSync,
		GuardNS: int64(s.Guard()), EarlyNS: int64(s.Early()), Drop: s.Foreign == DropForeign,
		Encap:     s.Role == Initiator && s.Encap.Given(),
		MeanDelay: s.MeanDelay,
	}
}

// A ChipFlowOf is what the chip wants of the packets of an index besides what its ACL entries match.
type ChipFlowOf struct {
	Index     uint32 `json:"index"`
	FlowMonID uint32 `json:"flow-mon-id"`
	// Encap is the header that they get, with this FlowMonID in its option; nil: none.
	Encap *ChipEncap `json:"encap,omitempty"`
	// Decap is the header that is taken off those with this FlowMonID; nil: none. It has addresses only.
	Decap *ChipEncap `json:"decap,omitempty"`
}

// ChipFlow returns what the session wants of the packets of an index, false if that is nothing.
func (s Session) ChipFlow(index uint32) (f ChipFlowOf, wants bool) {
	f = ChipFlowOf{Index: index, FlowMonID: s.FlowMonID.ID}
	if e := s.Encap; e.Given() {
		x := &ChipEncap{Src: e.Src.String(), Dst: e.Dst.String()}
		if s.Role == Initiator {
			x.HopByHop, x.HopLimit = e.Header == HopByHopOptions, int(cmp.Or(e.HopLimit, DefaultEncapHopLimit))
			f.Encap = x
		} else {
			f.Decap = x
		}
	}
	return f, s.FlowMonID.Given
}

// A ChipEncap is a header of IPv6 that packets get around them, or that is taken off again.
type ChipEncap struct {
	Src      string `json:"src"`
	Dst      string `json:"dst"`
	HopByHop bool   `json:"hop-by-hop,omitempty"`
	HopLimit int    `json:"hop-limit,omitempty"`
}

// A ChipClock is what a window says about the chip's clock.
type ChipClock struct {
	At           Time
	Synchronised bool
	Steps        uint64       // how often the clock was set
	Started      uint64       // when the chip started, ns since 1970: it changes if the chip is replaced
	Kernel       *KernelClock // that it follows; nil: none. Not part of Words
	// Programmed: a program runs on the chip, which then puts no headers on and takes none off. Not part of Words.
	Programmed bool
}

// chipClockWords is how many numbers encode a chip's clock.
const chipClockWords = 5

// Words are the clock as numbers.
func (c ChipClock) Words() []uint64 {
	return []uint64{c.At.Seconds, uint64(c.At.Nanoseconds), word(c.Synchronised), c.Steps, c.Started}
}

// ParseChipClock reads the words of a clock.
func ParseChipClock(w []uint64) (c ChipClock, err error) {
	if len(w) != chipClockWords {
		return c, fmt.Errorf("%d numbers as %s, want %d", len(w), AttrTime, chipClockWords)
	}
	c.At, err = chipTime(w[0], w[1])
	c.Synchronised, c.Steps, c.Started = w[2] != 0, w[3], w[4]
	return c, err
}

func chipTime(seconds, nanoseconds uint64) (Time, error) {
	if seconds >= 1<<48 || nanoseconds >= 1e9 {
		return Time{}, fmt.Errorf("the time %d s %d ns, want seconds below 2^48 and nanoseconds below 10^9", seconds,
			nanoseconds)
	}
	return Time{Seconds: seconds, Nanoseconds: uint32(nanoseconds)}, nil
}

// kernelWords is how many numbers encode a kernel's clock.
const kernelWords = 6

// Words are the clock as numbers.
func (k KernelClock) Words() []uint64 {
	return []uint64{k.Boot[0], k.Boot[1], word(k.Known), word(k.Synchronised), uint64(k.MaxError), uint64(k.Ahead)}
}

// ParseKernelClock reads the words of a kernel's clock.
func ParseKernelClock(w []uint64) (k KernelClock, err error) {
	const most = 1 << 62
	if len(w) != kernelWords {
		return k, fmt.Errorf("%d numbers as %s, want %d", len(w), AttrKernel, kernelWords)
	}
	if w[4] > most || time.Duration(w[5]).Abs() > most {
		return k, fmt.Errorf("a kernel's clock with an error of %d ns, and %d ns off, want at most 2^62", w[4], int64(w[5]))
	}
	return KernelClock{
		Boot: [2]uint64{w[0], w[1]}, Known: w[2] != 0, Synchronised: w[3] != 0,
		MaxError: time.Duration(w[4]), Ahead: time.Duration(w[5]),
	}, nil
}

// A ChipFlow is what a window says about a flow.
type ChipFlow struct {
	Generation uint64 // how often the flow's state was zeroed
	Of         [2]ChipCounts
	Late       LatePeriods
	Outer      OuterCounts
}

// OuterCounts are what became of packets of a flow that get a header around them, or have it taken off.
type OuterCounts struct {
	Encapsulated, Decapsulated uint64
	TooLong                    uint64 // of those that got it: dropped, since they are longer than an MTU
	Damaged                    uint64 // not taken off, since headers are damaged
}

// outerWords is how many numbers encode them.
const outerWords = 4

// Words appends the counts to a list of numbers.
func (c OuterCounts) Words(list []uint64) []uint64 {
	return append(list, c.Encapsulated, c.Decapsulated, c.TooLong, c.Damaged)
}

// LatePeriods are the periods that packets which the chip was given late may belong to, from the first to the one in
// which they are counted. The zero value: none.
type LatePeriods struct{ First, Last uint64 }

// Add adds the periods of one more packet. What lies more than two periods before is forgotten: it has been read.
func (l *LatePeriods) Add(more LatePeriods) {
	switch {
	case more == LatePeriods{}:
	case *l == LatePeriods{} || more.Last > l.Last+2:
		*l = more
	default:
		l.First, l.Last = min(l.First, more.First), max(l.Last, more.Last)
	}
}

// Has reports whether a period is one of them.
func (l LatePeriods) Has(k uint64) bool { return l != LatePeriods{} && l.First <= k && k <= l.Last }

// ChipCounts are the counts of a colour, cumulative except for the time.
type ChipCounts struct {
	Packets, Bytes, Captures uint64
	Captured                 Time // the last
	Unsynchronised           bool // at that time
	Outside                  uint64
	PulseBytes               uint64 // of muxed marking without slots: of the captured packets
	Foreign, ForeignBytes    uint64 // of packets that came with a mark
	Digest                   uint32 // of the last captured packet
	Arrivals                 ChipArrivals
}

// countWords is how many numbers encode the counts of a colour.
const countWords = 11

// Words appends the counts to a list of numbers, without the arrivals.
func (c ChipCounts) Words(list []uint64) []uint64 {
	return append(list, c.Packets, c.Bytes, c.Captures, c.Captured.Seconds, uint64(c.Captured.Nanoseconds),
		word(c.Unsynchronised), c.Outside, c.PulseBytes, c.Foreign, c.ForeignBytes, uint64(c.Digest))
}

// ParseChipFlows reads the generations and counters of the given number of flows, the periods of late packets, and what
// was done with headers: nil of a chip that has none.
func ParseChipFlows(flows int, generations, counters, late, outer []uint64) ([]ChipFlow, error) {
	if len(generations) != flows {
		return nil, fmt.Errorf("%d numbers as %s, want %d for %d flows", len(generations), AttrGenerations, flows, flows)
	}
	if want := 2 * countWords * flows; len(counters) != want {
		return nil, fmt.Errorf("%d numbers as %s, want %d for %d flows", len(counters), AttrCounters, want, flows)
	}
	if want := 2 * flows; late != nil && len(late) != want {
		return nil, fmt.Errorf("%d numbers as %s, want %d for %d flows", len(late), AttrLate, want, flows)
	}
	if want := outerWords * flows; outer != nil && len(outer) != want {
		return nil, fmt.Errorf("%d numbers as %s, want %d for %d flows", len(outer), AttrOuter, want, flows)
	}
	list := make([]ChipFlow, flows)
	for i := range list {
		list[i].Generation = generations[i]
		if outer != nil {
			w := outer[outerWords*i:]
			list[i].Outer = OuterCounts{Encapsulated: w[0], Decapsulated: w[1], TooLong: w[2], Damaged: w[3]}
		}
		if late != nil {
			list[i].Late = LatePeriods{late[2*i], late[2*i+1]}
		}
		if l := list[i].Late; l.First > l.Last {
			return nil, fmt.Errorf("packets that came late in periods %d to %d, want the first not behind the last",
				l.First, l.Last)
		}
		for colour := range list[i].Of {
			w := counters[(2*i+colour)*countWords:]
			at, err := chipTime(w[3], w[4])
			if err != nil {
				return nil, err
			}
			list[i].Of[colour] = ChipCounts{
				Packets: w[0], Bytes: w[1], Captures: w[2], Captured: at, Unsynchronised: w[5] != 0, Outside: w[6],
				PulseBytes: w[7], Foreign: w[8], ForeignBytes: w[9], Digest: uint32(w[10]),
			}
		}
	}
	return list, nil
}

// word is 1 for true.
func word(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
