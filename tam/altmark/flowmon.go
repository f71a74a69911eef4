package altmark

import "strconv"

// MaxFlowMonID is the greatest FlowMonID: it has 20 bits.
const MaxFlowMonID = 1<<20 - 1

// A FlowMonID identifies a monitored flow in the AltMark option of IPv6 (RFC 9343). Zero is a valid ID, so Given
// reports whether there is one.
type FlowMonID struct {
	Given bool
	ID    uint32
}

// String returns the number, or "" if no ID is given.
func (f FlowMonID) String() string {
	if !f.Given {
		return ""
	}
	return strconv.FormatUint(uint64(f.ID), 10)
}
