package altmark

import (
	"fmt"
	"slices"
	"strings"
)

// A Role is the role of a measurement point.
type Role uint8

// The roles.
const (
	Initiator  Role = iota + 1 // writes the mark
	Transit                    // reads the mark
	Terminator                 // reads the mark, and may clear it
)

// A Method defines how the mark is used.
type Method uint8

// The methods, section 2 of the paper.
const (
	Step   Method = iota + 1 // the mark changes with each period, to measure loss
	Pulse                    // one packet per period is marked, to measure delay
	Double                   // steps in one bit, pulses in another
	Muxed                    // the XOR of step and pulse in one bit
)

// A Mark is a bit of the packet.
type Mark uint8

// The marks. ECN bits cannot be used: RFC 3168 uses both.
const (
	NoMark       Mark = iota
	DSCP0             // the lowest bit of the DSCP
	DSCP1             //
	DSCP2             //
	DSCP3             //
	DSCP4             //
	DSCP5             //
	IPv4Reserved      // the reserved flag of the IPv4 header
	IPv6Loss          // L of the AltMark option, RFC 9343
	IPv6Delay         // D of the AltMark option
)

var (
	roleWords   = []string{"", "initiator", "transit", "terminator"}
	methodWords = []string{"", "step", "pulse", "double", "muxed"}
	markWords   = []string{
		"", "dscp0", "dscp1", "dscp2", "dscp3", "dscp4", "dscp5", "ipv4-reserved", "ipv6-altmark-l", "ipv6-altmark-d",
	}
)

// RoleWords lists the words for roles in configuration.
func RoleWords() []string { return slices.Clone(roleWords[1:]) }

// MethodWords lists the words for methods in configuration.
func MethodWords() []string { return slices.Clone(methodWords[1:]) }

// MarkWords lists the words for marks in configuration; NoMark has none.
func MarkWords() []string { return slices.Clone(markWords[1:]) }

// ParseRole parses the word for a role. An error lists the words.
func ParseRole(s string) (Role, error) {
	w, err := parseWord("role", s, roleWords)
	return Role(w), err
}

// ParseMethod parses the word for a method. An error lists the words.
func ParseMethod(s string) (Method, error) {
	w, err := parseWord("method", s, methodWords)
	return Method(w), err
}

// ParseMark parses the word for a mark. An error lists the words.
func ParseMark(s string) (Mark, error) {
	w, err := parseWord("mark", s, markWords)
	return Mark(w), err
}

func parseWord(what, s string, words []string) (int, error) {
	if i := slices.Index(words, s); i > 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s %q, want %s", what, s, strings.Join(words[1:], ", "))
}

// String returns the word used in configuration, or "" if there is no role.
func (r Role) String() string { return wordAt(roleWords, int(r)) }

// String returns the word used in configuration, or "" if there is no method.
func (m Method) String() string { return wordAt(methodWords, int(m)) }

// String returns the word used in configuration, or "" for NoMark.
func (m Mark) String() string { return wordAt(markWords, int(m)) }

func wordAt(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprint(i)
}

// DSCPBit returns the mark's bit in the DSCP, 1 << 0..5, or 0 for other marks.
func (m Mark) DSCPBit() uint8 {
	if m >= DSCP0 && m <= DSCP5 {
		return 1 << (m - DSCP0)
	}
	return 0
}

// Loss reports whether the method measures loss.
func (m Method) Loss() bool { return m != Pulse }

// Delay reports whether the method measures delay.
func (m Method) Delay() bool { return m != Step }

// ForeignMarks is an initiator's treatment of packets that arrive with a mark. The mark may come from another domain,
// or from another initiator on the path. The edge of a domain must not admit such marks (RFC 9341, section 7.1).
type ForeignMarks uint8

// The treatments of packets with a foreign mark. All such packets are counted.
const (
	CountForeign ForeignMarks = iota // the packet is marked like all others, and the period is flagged
	CleanForeign                     // the packet is marked like all others, without a flag
	DropForeign                      // the packet is dropped
)

var foreignWords = []string{"count", "clean", "drop"}

// ForeignWords lists the words for the treatment of unexpected marks, the default first.
func ForeignWords() []string { return slices.Clone(foreignWords) }

// ParseForeign parses the word for a treatment of unexpected marks. An error lists the words.
func ParseForeign(s string) (ForeignMarks, error) {
	if i := slices.Index(foreignWords, s); i >= 0 {
		return ForeignMarks(i), nil
	}
	return 0, fmt.Errorf("foreign-marks %q, want %s", s, strings.Join(foreignWords, ", "))
}

// String returns the word used in configuration.
func (f ForeignMarks) String() string { return wordAt(foreignWords, int(f)) }

// Flags describe problems of a period's report. A report without flags is complete.
type Flags uint16

// The flags.
const (
	First          Flags = 1 << iota // the measurement began (again) in this period or the previous one of its colour
	LateRead                         // the counters were read when they were no longer stable
	ClockStep                        // the clock was set in this period
	Unsynchronised                   // the clock was not synchronised
	OutOfWindow                      // packets arrived when the guard condition allows none
	ManyPulses                       // the period has more than one pulse
	LatePulse                        // the pulse left too late for its slot at the other end
	CounterReset                     // a counter is lower than before
	Shadowed                         // another flow group may have captured packets of this one
	Foreign                          // packets arrived at the initiator with a mark
	LateFrames                       // packets that the chip received late belong to this period, or are counted in it
	// Interfaces means that packets may arrive at other interfaces or with other fields. Either the flow group's
	// interfaces changed since the measurement began. Or no packet arrived, and the flow group is limited to interfaces
	// or matches fields that change from link to link.
	Interfaces
)

var flagWords = []string{
	"first", "late-read", "clock-step", "unsynchronised", "out-of-window", "many-pulses", "late-pulse", "counter-reset",
	"shadowed", "foreign-marks", "late-frames", "interfaces",
}

// VoidsLoss reports whether the counts of a period with these flags must not be compared.
func (f Flags) VoidsLoss() bool {
	return f&(First|LateRead|ClockStep|OutOfWindow|LatePulse|CounterReset|Shadowed|Foreign|LateFrames|Interfaces) != 0
}

// VoidsDelay reports whether the timestamp of a period with these flags must not be compared with that of another
// clock.
func (f Flags) VoidsDelay() bool {
	return f&(First|LateRead|ClockStep|Unsynchronised|ManyPulses|LatePulse|CounterReset|Foreign) != 0
}

// Words lists the set flags.
func (f Flags) Words() []string {
	words := []string{}
	for i, w := range flagWords {
		if f>>i&1 != 0 {
			words = append(words, w)
		}
	}
	return words
}

// String returns the words, separated by commas.
func (f Flags) String() string { return strings.Join(f.Words(), ",") }

// ParseFlags parses the output of [Flags.String]. An error names the invalid word.
func ParseFlags(s string) (f Flags, err error) {
	if s == "" {
		return 0, nil
	}
	for w := range strings.SplitSeq(s, ",") {
		i := slices.Index(flagWords, w)
		if i < 0 {
			return 0, fmt.Errorf("flag %q, want %s", w, strings.Join(flagWords, ", "))
		}
		f |= 1 << i
	}
	return f, nil
}
