package altmark

import "strconv"

// MaxFlowMonID is the greatest FlowMonID: it has 20 bits.
const MaxFlowMonID = 1<<20 - 1

// A FlowMonID is what the AltMark option of IPv6 calls a monitored flow (RFC 9343), if one is given: 0 is one, too.
type FlowMonID struct {
	Given bool
	ID    uint32
}

// String is the number, empty if none is given.
func (f FlowMonID) String() string {
	if !f.Given {
		return ""
	}
	return strconv.FormatUint(uint64(f.ID), 10)
}
