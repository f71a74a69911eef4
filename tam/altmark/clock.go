package altmark

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ClockTrust is the evidence that a session accepts for the accuracy of its switch's clock.
type ClockTrust uint8

// The kinds of evidence.
const (
	CheckedClock  ClockTrust = iota // the state of the chip, and of the kernel whose clock it follows
	DeclaredClock                   // the operator's declaration that the clock is accurate within A
)

var trustWords = []string{"checked", "declared"}

// TrustWords lists the words for clock trust in configuration, the default first.
func TrustWords() []string { return slices.Clone(trustWords) }

// ParseTrust parses a word for clock trust. An error lists the words.
func ParseTrust(s string) (ClockTrust, error) {
	if i := slices.Index(trustWords, s); i >= 0 {
		return ClockTrust(i), nil
	}
	return 0, fmt.Errorf("clock-trust %q, want %s", s, strings.Join(trustWords, ", "))
}

// String returns the word used in configuration.
func (t ClockTrust) String() string { return wordAt(trustWords, int(t)) }

// A KernelClock is the state of a kernel's time of day, which a chip's clock follows. The zero value means that nothing
// is known.
type KernelClock struct {
	Boot         [2]uint64     // the kernel's boot ID, which is equal for all that share its clock; zero if unknown
	Known        bool          // true if the fields below are valid
	Synchronised bool          // true if NTP, or PTP by phc2sys or similar, disciplines the clock
	MaxError     time.Duration // maximum error against true time
	// Ahead is the time by which the chip's clock is ahead of the kernel's. It changes when the kernel's clock is set.
	Ahead time.Duration
}

// ID returns the boot ID as a UUID, or "" if it is unknown.
func (k KernelClock) ID() string {
	a, b := k.Boot[0], k.Boot[1]
	if a == 0 && b == 0 {
		return ""
	}
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
}

// A Clock is the evidence for the accuracy of a measurement point's clock. The zero value means the chip itself.
type Clock struct {
	Says   string        // the evidence in words, or the reason why there is none
	Kernel string        // ID of the kernel whose clock this clock follows, or "" if unknown
	Ahead  time.Duration // time by which this clock is ahead of the kernel's clock
	Error  time.Duration // maximum error against true time, or zero if unknown
}

// Texts for a Clock, without numbers.
const (
	SaysDeclared   = "declared by the operator"
	saysNothing    = "the kernel's report on its clock cannot be read"
	saysNotInSync  = "the kernel reports that its clock is not synchronised"
	clockErrorWant = ", A is %v"
)

// Vouch returns the evidence for a clock that follows a kernel's, and whether delays can be measured with it. They can
// if the operator declared it, or if the kernel reports a synchronised clock with a maximum error within A.
func (s Session) Vouch(k KernelClock) (c Clock, trusted bool) {
	c = Clock{Kernel: k.ID()}
	if k.Known {
		c.Ahead = k.Ahead
	}
	switch off := k.Ahead.Abs(); {
	case s.Trust == DeclaredClock:
		c.Says, trusted = SaysDeclared, true
	case !k.Known:
		c.Says = saysNothing
	case !k.Synchronised:
		c.Says = saysNotInSync
	case k.MaxError > s.ClockError:
		c.Says = fmt.Sprintf("the kernel's clock has a maximum error of %v"+clockErrorWant, k.MaxError, s.ClockError)
	case k.MaxError+off > s.ClockError:
		c.Says = fmt.Sprintf("the kernel's clock was set: the chip's is %v off, with a maximum error of %v"+clockErrorWant,
			off, k.MaxError, s.ClockError)
	default:
		c.Says = fmt.Sprintf("the kernel's clock has a maximum error of %v", k.MaxError)
		c.Error, trusted = k.MaxError+off, true
	}
	return c, trusted
}
