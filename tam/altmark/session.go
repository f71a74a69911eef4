package altmark

import (
	"errors"
	"fmt"
	"time"
)

// A Session is what one measurement point does with the packets of one flow group. Its settings,
// apart from the role, must be those of the other points.
type Session struct {
	Role        Role
	Method      Method
	Interval    Interval
	Mark, Mark2 Mark // Mark2 is the pulse bit of Double
	Clear       bool // the terminator clears the marks
	Foreign     ForeignMarks
	Trust       ClockTrust // in this switch's clock
	// FlowMonID: of the flow group's packets only those with this one in their AltMark option.
	// With Encap it is that of the header.
	FlowMonID FlowMonID
	Encap     Encap // of IPv6, with an AltMark option, that an initiator puts around packets and a terminator takes off
	// SlotSync says that the clocks are synchronised well enough to tell the slots of muxed
	// marking. If not, steps are detected in the mark itself.
	SlotSync bool
	// MeanDelay: the arrivals of all packets of a period are summed up.
	MeanDelay bool
	// ClockError is A, the greatest error between the clocks of two points; MinDelay
	// and MaxDelay bound the delay between the first point and this one.
	ClockError, MinDelay, MaxDelay time.Duration
}

// Defaults of a session's bounds on its path, as fractions of its interval.
const (
	DefaultClockErrorPart = 64 // A = L/64
	DefaultMaxDelayPart   = 8  // Dmax = L/8
)

// Guard is A + Dmax: for that long after a period has ended, by this point's clock, packets of it
// may still arrive. RFC 9341, section 5, has d = A + Dmax - Dmin, since it lets the periods of a
// point begin Dmin later; here they begin at kL by every clock.
func (s Session) Guard() time.Duration { return s.ClockError + s.MaxDelay }

// Early is A: that long before a period begins, by this point's clock, packets of it may arrive.
// Only the clocks can make a packet early.
func (s Session) Early() time.Duration { return s.ClockError }

// Check returns an error if the session is not possible, with the numbers if its interval cannot
// hold the guard.
func (s Session) Check() error {
	if !s.Interval.Valid() {
		return errors.Join(fmt.Errorf("interval is %d, want %d to %d: 2^n seconds", s.Interval, MinInterval, MaxInterval))
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Clear && s.Role != Terminator {
		bad("clear is true, but the role is %s: only a terminator clears the mark", s.Role)
	}
	if s.Foreign != CountForeign && s.Role != Initiator {
		bad("foreign-marks is %s, but the role is %s: only an initiator keeps other marks out", s.Foreign, s.Role)
	}
	if err := s.checkMarks(); err != nil {
		errs = append(errs, err)
	}
	if s.FlowMonID.Given && s.Mark == IPv4Reserved {
		bad("flow-mon-id is %s and mark is %s: no packet has both", s.FlowMonID, s.Mark)
	}
	if !s.SlotSync && s.Method != Muxed {
		bad("slot-sync is false, but only muxed marking has slots")
	}
	if err := s.checkEncap(); err != nil {
		errs = append(errs, err)
	}
	if s.MeanDelay && s.Method == Pulse {
		bad("mean-delay is true, but pulse marking does not tell the packets of a period, want step, double or muxed")
	}
	if err := s.checkTimes(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkMarks requires two bits of one kind of packet for double marking, and one bit for other methods.
func (s Session) checkMarks() error {
	switch {
	case s.Method != Double && s.Mark2 == NoMark:
		return nil
	case s.Method != Double:
		return fmt.Errorf("mark2 is %s, but only double marking has two bits", s.Mark2)
	case s.Mark2 == NoMark:
		return errors.New("mark2 is not given: double marking needs a second bit, for the pulse")
	case s.Mark2 == s.Mark:
		return fmt.Errorf("mark2 is %s, as mark is: double marking needs two bits", s.Mark2)
	case s.Mark.family() != s.Mark2.family():
		return fmt.Errorf("mark is %s and mark2 is %s: no packet has both", s.Mark, s.Mark2)
	}
	return nil
}

// checkTimes requires possible bounds of clocks and delays, and then an interval that holds the guard.
func (s Session) checkTimes() error {
	if s.ClockError < 0 || s.MinDelay < 0 || s.MaxDelay < s.MinDelay {
		return fmt.Errorf("clock-error %v, delay-min %v, delay-max %v: want 0 or more, and delay-max not below delay-min",
			s.ClockError, s.MinDelay, s.MaxDelay)
	}
	return s.checkGuard()
}

// checkGuard requires a period's packets to arrive before the reading in the middle of the next: A
// + Dmax < L/2; with slots, before the quarter after their own: A + Dmax < L/4; for step detection
// in the mark also Dmax - Dmin < L/8.
func (s Session) checkGuard() error {
	l := s.Interval.Duration()
	switch {
	case s.Method == Muxed && s.SlotSync && 4*(s.ClockError+s.MaxDelay) >= l:
		return fmt.Errorf("interval of %s is too short for muxed marking: A + Dmax = %v + %v = %v, want less than L/4 = %v",
			s.Interval, s.ClockError, s.MaxDelay, s.ClockError+s.MaxDelay, l/4)
	case s.Method != Pulse && 2*s.Guard() >= l:
		return fmt.Errorf("interval of %s is too short: A + Dmax = %v + %v = %v, want less than L/2 = %v",
			s.Interval, s.ClockError, s.MaxDelay, s.Guard(), l/2)
	case s.Method == Pulse && s.ClockError+s.MaxDelay >= l:
		return fmt.Errorf("interval of %s is too short for pulses: A + Dmax = %v + %v = %v, want less than L",
			s.Interval, s.ClockError, s.MaxDelay, s.ClockError+s.MaxDelay)
	case s.Method == Muxed && !s.SlotSync && 8*(s.MaxDelay-s.MinDelay) >= l:
		return fmt.Errorf("interval of %s is too short for muxed marking without slots: "+
			"Dmax - Dmin = %v - %v = %v, want less than L/8 = %v",
			s.Interval, s.MaxDelay, s.MinDelay, s.MaxDelay-s.MinDelay, l/8)
	}
	return nil
}

// Delay reports whether the session measures delays, so that its clock matters.
func (s Session) Delay() bool { return s.Method.Delay() || s.MeanDelay }

// PulseTooLate reports whether a pulse that left the initiator at t may come too
// late for its slots at the other end: later than 3L/4 - (A + Dmax) in its period.
// Only muxed marking has this bound.
func (s Session) PulseTooLate(t Time) bool {
	if s.Method != Muxed {
		return false
	}
	end := s.Interval.QuarterStart(s.Interval.Period(t), 3)
	return end.Sub(t) < s.ClockError+s.MaxDelay
}

// family says which header has the mark.
func (m Mark) family() int {
	switch {
	case m.DSCPBit() != 0:
		return 1
	case m == IPv4Reserved:
		return 1 // IPv4 packets have both
	}
	return familyOption
}

// familyOption is that of the bits of the AltMark option.
const familyOption = 2

// A Period is what one measurement point reports about one period of one flow group.
type Period struct {
	Number      uint64 // floor(time of day / interval)
	Colour      uint8  // its lowest bit
	Packets     uint64
	Bytes       uint64 // of frames as received, with FCS
	Captures    uint32 // pulses whose time was captured
	Timestamp   Time   // of the last of them; zero if there is none
	Digest      uint32 // of the last of them: the same packet has the same at every point
	OutOfWindow uint64 // packets at times when the guard condition allows none
	Foreign     uint64 // packets that came to an initiator with a mark; of those it drops, none is in Packets
	Arrivals    Arrivals
	ReadAt      Time // when the counters were read, by the switch's clock
	Flags       Flags
	Clock       Clock // what vouches for the switch's clock
	// Match is which packets the session gets, in words: those that its flow group matches, without those of sessions
	// above it. Bits of its marks and interfaces are not part of it. It is the same wherever the same packets count.
	Match string
}

// MaxMatch is the length of the longest [Period.Match] in bytes.
const MaxMatch = 256
