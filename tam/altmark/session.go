package altmark

import (
	"errors"
	"fmt"
	"time"
)

// A Session is the configuration of one measurement point for the packets of one flow group. All points must have the
// same settings, except for the role.
type Session struct {
	Role        Role
	Method      Method
	Interval    Interval
	Mark, Mark2 Mark // Mark2 is the pulse bit of Double
	Clear       bool // true if the terminator clears the marks
	Foreign     ForeignMarks
	Trust       ClockTrust // required evidence for the accuracy of this switch's clock
	// FlowMonID restricts the flow group to packets with this ID in their AltMark option. With Encap it is the ID in
	// the outer header.
	FlowMonID FlowMonID
	Encap     Encap // IPv6 header with an AltMark option that an initiator adds and a terminator removes
	// SlotSync means that the clocks are synchronised well enough to distinguish the slots of muxed marking. Without
	// it, steps are detected in the mark itself.
	SlotSync bool
	// MeanDelay adds up the arrivals of all packets of a period.
	MeanDelay bool
	// ClockError is A, the maximum error between the clocks of two points. MinDelay and MaxDelay bound the delay from
	// the first point to this one.
	ClockError, MinDelay, MaxDelay time.Duration
}

// Defaults of a session's error and delay bounds, as fractions of its interval.
const (
	DefaultClockErrorPart = 64 // A = L/64
	DefaultMaxDelayPart   = 8  // Dmax = L/8
)

// Guard returns A + Dmax, the time after a period's end, by this point's clock, during which its packets may still
// arrive. RFC 9341, section 5, has d = A + Dmax - Dmin, because the periods of a point may begin Dmin later there. Here
// they begin at kL by every clock.
func (s Session) Guard() time.Duration { return s.ClockError + s.MaxDelay }

// Early returns A, the time before a period's begin, by this point's clock, during which its packets may already
// arrive. Only clock errors can make a packet early.
func (s Session) Early() time.Duration { return s.ClockError }

// Check returns an error if the session is impossible. If the interval cannot hold the guard, the error contains the
// numbers.
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
		bad("mean-delay is true, but pulse marking does not separate the packets of a period, want step, double or muxed")
	}
	if err := s.checkTimes(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkMarks requires two bits of the same kind of packet for double marking, and one bit for other methods.
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

// checkTimes requires valid bounds of clocks and delays, and then an interval that can hold the guard.
func (s Session) checkTimes() error {
	if s.ClockError < 0 || s.MinDelay < 0 || s.MaxDelay < s.MinDelay {
		return fmt.Errorf("clock-error %v, delay-min %v, delay-max %v: want 0 or more, and delay-max not below delay-min",
			s.ClockError, s.MinDelay, s.MaxDelay)
	}
	return s.checkGuard()
}

// checkGuard requires that a period's packets arrive before the counters are read in the middle of the next period: A +
// Dmax < L/2. With slots they must arrive before the quarter after their own: A + Dmax < L/4. Step detection in the
// mark also requires Dmax - Dmin < L/8.
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

// Delay reports whether the session measures delays, for which its clock must be accurate.
func (s Session) Delay() bool { return s.Method.Delay() || s.MeanDelay }

// PulseTooLate reports whether a pulse that left the initiator at t may miss its slots at the other end. It may if it
// left later than 3L/4 - (A + Dmax) in its period. Only muxed marking has this limit.
func (s Session) PulseTooLate(t Time) bool {
	if s.Method != Muxed {
		return false
	}
	end := s.Interval.QuarterStart(s.Interval.Period(t), 3)
	return end.Sub(t) < s.ClockError+s.MaxDelay
}

// family returns a number for the header that contains the mark.
func (m Mark) family() int {
	switch {
	case m.DSCPBit() != 0:
		return 1
	case m == IPv4Reserved:
		return 1 // IPv4 packets can have both marks
	}
	return familyOption
}

// familyOption is the family of the AltMark option's bits.
const familyOption = 2

// A Period is the report of one measurement point about one period of one flow group.
type Period struct {
	Number      uint64 // floor(time of day / interval)
	Colour      uint8  // lowest bit of the number
	Packets     uint64
	Bytes       uint64 // bytes of frames as received, including the FCS
	Captures    uint32 // number of pulses with a captured time
	Timestamp   Time   // time of the last capture, or zero if there is none
	Digest      uint32 // digest of the last captured packet, which is the same at every point
	OutOfWindow uint64 // packets that arrived when the guard condition allows none
	Foreign     uint64 // packets that reached an initiator with a mark; if it drops them, Packets excludes them
	Arrivals    Arrivals
	ReadAt      Time // time at which the counters were read, by the switch's clock
	Flags       Flags
	Clock       Clock // evidence for the accuracy of the switch's clock
	// Match describes the packets of the session in words: those that its flow group matches, minus those of sessions
	// with a higher priority. It omits mark bits and interfaces. It is equal at all points that count the same packets.
	Match string
}

// MaxPackets is the maximum packet count of a period. It exceeds what all links of a switch carry in the longest
// period, and the counts of all switches can be added without overflow.
const MaxPackets = 1 << 48

// MaxMatch is the maximum length of [Period.Match] in bytes.
const MaxMatch = 256
