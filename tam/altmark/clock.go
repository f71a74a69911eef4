package altmark

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ClockTrust is what a session accepts as vouching for its switch's clock.
type ClockTrust uint8

// What can vouch for a switch's clock.
const (
	CheckedClock  ClockTrust = iota // what the chip and the kernel that its clock follows say
	DeclaredClock                   // the operator: it is within A of those of the other points
)

var trustWords = []string{"checked", "declared"}

// TrustWords lists the words of what vouches for a clock, the default first.
func TrustWords() []string { return slices.Clone(trustWords) }

// ParseTrust reads the word of what vouches for a clock; an error lists the words.
func ParseTrust(s string) (ClockTrust, error) {
	if i := slices.Index(trustWords, s); i >= 0 {
		return ClockTrust(i), nil
	}
	return 0, fmt.Errorf("clock-trust %q, want %s", s, strings.Join(trustWords, ", "))
}

// String returns the word used in configuration.
func (t ClockTrust) String() string { return wordAt(trustWords, int(t)) }

// A KernelClock is what a kernel says about its time of day, which a chip's clock follows. The zero
// value says nothing.
type KernelClock struct {
	Boot         [2]uint64     // the kernel's boot ID, the same for all that share its clock; 0: not known
	Known        bool          // the fields below are known
	Synchronised bool          // something disciplines it: NTP, or PTP by phc2sys or the like
	MaxError     time.Duration // at most this far from true time
	Ahead        time.Duration // the chip's clock of the kernel's: it does not follow when that is set
}

// ID is the boot ID as a UUID; empty if it is not known.
func (k KernelClock) ID() string {
	a, b := k.Boot[0], k.Boot[1]
	if a == 0 && b == 0 {
		return ""
	}
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
}

// A Clock is what vouches for the clock of a measurement point. The zero value means the chip itself.
type Clock struct {
	Says   string        // in words, or why nothing does
	Kernel string        // ID of the kernel whose clock it follows; empty: not known
	Ahead  time.Duration // of the kernel's clock
	Error  time.Duration // from true time at most; 0 if nothing tells
}

// Words of a Clock, without numbers.
const (
	SaysDeclared   = "declared by the operator"
	saysNothing    = "what the kernel says of its clock cannot be read"
	saysNotInSync  = "the kernel says that its clock is not synchronised"
	clockErrorWant = ", A is %v"
)

// Vouch says what vouches for a clock that follows a kernel's, and whether delays can be measured by
// it: the operator vouches, or the kernel says that it is synchronised and its greatest error within
// A.
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
		c.Says = fmt.Sprintf("the kernel's clock says a maximum error of %v"+clockErrorWant, k.MaxError, s.ClockError)
	case k.MaxError+off > s.ClockError:
		c.Says = fmt.Sprintf("the kernel's clock was set: the chip's is %v off, with a maximum error of %v"+clockErrorWant,
			off, k.MaxError, s.ClockError)
	default:
		c.Says = fmt.Sprintf("the kernel's clock says a maximum error of %v", k.MaxError)
		c.Error, trusted = k.MaxError+off, true
	}
	return c, trusted
}
