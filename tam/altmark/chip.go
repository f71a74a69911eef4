package altmark

import (
	"cmp"
	"fmt"
	"time"
)

// Names of the extension objects of a chip that marks by itself. Their JSON is in docs/internals/extensions.md. Profile
// and flow are configuration, flows is a register read.
const (
	ObjectProfile = "tamtam.altmark.profile"
	ObjectFlows   = "tamtam.altmark.flows"
	ObjectFlow    = "tamtam.altmark.flow"
)

// Attributes of their entries. The first group belongs to requests, the second is returned by a get of flows.
const (
	AttrProfile = "profile" // a ChipProfile
	AttrFlow    = "flow"    // a ChipFlowOf
	AttrFlows   = "flows"   // flow indexes, at most MaxChipFlows

	AttrTime        = "time"        // ChipClock.Words
	AttrKernel      = "kernel"      // KernelClock.Words; present only if the chip's clock follows a kernel's
	AttrGenerations = "generations" // generation of each flow
	AttrCounters    = "counters"    // ChipCounts.Words of colour 0 and of colour 1 of each flow
	AttrOuter       = "outer"       // OuterCounts.Words of each flow; absent if all are zero
	AttrLate        = "late"        // LatePeriods of each flow as First, Last; absent if no frame arrived late
	// 1 while a program runs, which prevents encapsulation and decapsulation; absent otherwise
	AttrProgram  = "program"
	AttrArrivals = "arrivals" // ChipArrivals.Words, arranged as in counters; absent if nothing was added up
)

// MaxChipFlows is the maximum number of flows in one read. More could exceed the length of a SAI list on the wire,
// 65536 bytes.
const MaxChipFlows = 128

// MaxChipArrivals is the maximum number of flows in one read if they have arrivals.
const MaxChipArrivals = 96

// A ChipProfile holds the settings that the sessions of a lane share.
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
	Encap    bool   `json:"encap,omitempty"` // an initiator encapsulates packets and marks them in the outer header
	// MeanDelay makes the chip add up the arrivals of packets.
	MeanDelay bool `json:"mean-delay,omitempty"`
}

// ChipProfile returns the profile that the session needs for its lane, with lane 0.
func (s Session) ChipProfile() ChipProfile {
	return ChipProfile{
		Role: s.Role.String(), Method: s.Method.String(), Interval: int(s.Interval),
		Mark: s.Mark.String(), Mark2: s.Mark2.String(), Clear: s.Clear, SlotSync: s.SlotSync,
		GuardNS: int64(s.Guard()), EarlyNS: int64(s.Early()), Drop: s.Foreign == DropForeign,
		Encap:     s.Role == Initiator && s.Encap.Given(),
		MeanDelay: s.MeanDelay,
	}
}

// A ChipFlowOf holds the conditions and the encapsulation of an index's packets, in addition to the matches of its ACL
// entries.
type ChipFlowOf struct {
	Index     uint32 `json:"index"`
	FlowMonID uint32 `json:"flow-mon-id"`
	// Encap is the header that is put around packets, with this FlowMonID in its option. Nil means no encapsulation.
	Encap *ChipEncap `json:"encap,omitempty"`
	// Decap is the header that is removed from packets with this FlowMonID. It has addresses only. Nil means no
	// decapsulation.
	Decap *ChipEncap `json:"decap,omitempty"`
}

// ChipFlow returns the chip's settings for the packets of an index. It returns false if the session needs no settings.
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

// A ChipEncap is an outer IPv6 header that is put around packets or removed.
type ChipEncap struct {
	Src      string `json:"src"`
	Dst      string `json:"dst"`
	HopByHop bool   `json:"hop-by-hop,omitempty"`
	HopLimit int    `json:"hop-limit,omitempty"`
}

// A ChipClock is the state of the chip's clock in a read.
type ChipClock struct {
	At           Time
	Synchronised bool
	Steps        uint64       // number of times that the clock was set
	Started      uint64       // start of the chip in ns since 1970; it changes if the chip is replaced
	Kernel       *KernelClock // kernel clock that the chip's clock follows, or nil if there is none; not part of Words
	// Programmed means that a program runs on the chip, which then neither encapsulates nor decapsulates. It is not
	// part of Words.
	Programmed bool
}

// chipClockWords is the number of words that encode a ChipClock.
const chipClockWords = 5

// Words returns the clock as words.
func (c ChipClock) Words() []uint64 {
	return []uint64{c.At.Seconds, uint64(c.At.Nanoseconds), word(c.Synchronised), c.Steps, c.Started}
}

// ParseChipClock decodes the words of a clock.
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

// kernelWords is the number of words that encode a KernelClock.
const kernelWords = 6

// Words returns the clock as words.
func (k KernelClock) Words() []uint64 {
	return []uint64{k.Boot[0], k.Boot[1], word(k.Known), word(k.Synchronised), uint64(k.MaxError), uint64(k.Ahead)}
}

// ParseKernelClock decodes the words of a kernel's clock.
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

// A ChipFlow is the state of a flow in a read.
type ChipFlow struct {
	Generation uint64 // number of times that the flow's state was zeroed
	Of         [2]ChipCounts
	Late       LatePeriods
	Outer      OuterCounts
}

// OuterCounts counts the packets of a flow that were encapsulated or decapsulated.
type OuterCounts struct {
	Encapsulated, Decapsulated uint64
	TooLong                    uint64 // encapsulated packets that were dropped because they exceed an MTU
	Damaged                    uint64 // packets that were not decapsulated because headers are damaged
}

// outerWords is the number of words that encode an OuterCounts.
const outerWords = 4

// Words appends the encoded counts to a list of words.
func (c OuterCounts) Words(list []uint64) []uint64 {
	return append(list, c.Encapsulated, c.Decapsulated, c.TooLong, c.Damaged)
}

// LatePeriods is the range of periods that late packets may belong to, up to the one in which they are counted. A
// packet is late if the chip received it late. The zero value means that there was none.
type LatePeriods struct{ First, Last uint64 }

// Add adds the periods of one more packet. Ranges that end more than two periods earlier are dropped: they have been
// read.
func (l *LatePeriods) Add(more LatePeriods) {
	switch {
	case more == LatePeriods{}:
	case *l == LatePeriods{} || more.Last > l.Last+2:
		*l = more
	default:
		l.First, l.Last = min(l.First, more.First), max(l.Last, more.Last)
	}
}

// Has reports whether period k is in the range.
func (l LatePeriods) Has(k uint64) bool { return l != LatePeriods{} && l.First <= k && k <= l.Last }

// ChipCounts holds the counters of a colour. They are cumulative, except for the time.
type ChipCounts struct {
	Packets, Bytes, Captures uint64
	Captured                 Time // time of the last capture
	Unsynchronised           bool // true if the clock was not synchronised at that time
	Outside                  uint64
	PulseBytes               uint64 // bytes of the captured packets, for muxed marking without slots only
	Foreign, ForeignBytes    uint64 // packets that arrived with a mark, and their bytes
	Digest                   uint32 // digest of the last captured packet
	Arrivals                 ChipArrivals
}

// countWords is the number of words that encode a ChipCounts.
const countWords = 11

// Words appends the encoded counters to a list of words, without the arrivals.
func (c ChipCounts) Words(list []uint64) []uint64 {
	return append(list, c.Packets, c.Bytes, c.Captures, c.Captured.Seconds, uint64(c.Captured.Nanoseconds),
		word(c.Unsynchronised), c.Outside, c.PulseBytes, c.Foreign, c.ForeignBytes, uint64(c.Digest))
}

// ParseChipFlows decodes the generations, counters, periods of late packets and encapsulation counters of the given
// number of flows. late and outer may be nil.
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

// word returns 1 for true and 0 for false.
func word(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
