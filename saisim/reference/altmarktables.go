package reference

import "tamtam/tam/altmark"

// Alternate marking as the paper has it: "AM-PM: Efficient Network Telemetry using
// Alternate Marking", section 3. The rules below are those of its tables 1 to 6, as
// they are printed there; of those that match, the first counts.

// A rule is a row of a table: for what packets, and what it does.
type rule struct {
	match
	does
}

// A match is ternary: a * matches 0 and 1, and so does what is left out. TimeBits
// is the time bit, the lowest of the period's number; where there are three, the
// last two are the slot, the quarter of the period.
type match struct{ timeBits, reg, markBit string }

// What a rule does not say stays as it is.
type does struct {
	markBit, reg string
	counter      string
	timestamp    bool
}

// Table 1: step marking, the initiating MP.
var table1 = []rule{
	{match{timeBits: "0"}, does{markBit: "0", counter: "0"}},
	{match{timeBits: "1"}, does{markBit: "1", counter: "1"}},
}

// Table 2: step marking, the terminating MP.
var table2 = []rule{
	{match{markBit: "0"}, does{counter: "0"}},
	{match{markBit: "1"}, does{counter: "1"}},
}

// Table 3: pulse marking, the initiating MP.
var table3 = []rule{
	{match{timeBits: "1", reg: "0"}, does{markBit: "1", reg: "1", timestamp: true}},
	{match{timeBits: "1", reg: "1"}, does{markBit: "0", reg: "1"}},
	{match{timeBits: "0", reg: "1"}, does{markBit: "1", reg: "0", timestamp: true}},
	{match{timeBits: "0", reg: "0"}, does{markBit: "0", reg: "0"}},
}

// Table 4: pulse marking, the terminating MP.
var table4 = []rule{
	{match{markBit: "1"}, does{timestamp: true}},
}

// Table 5: muxed marking, the initiating MP.
var table5 = []rule{
	{match{timeBits: "010", reg: "0"}, does{markBit: "1", reg: "1", counter: "0", timestamp: true}},
	{match{timeBits: "010", reg: "1"}, does{markBit: "0", reg: "1", counter: "0"}},
	{match{timeBits: "0**", reg: "*"}, does{markBit: "0", reg: "0", counter: "0"}},
	{match{timeBits: "110", reg: "1"}, does{markBit: "0", reg: "0", counter: "1", timestamp: true}},
	{match{timeBits: "110", reg: "0"}, does{markBit: "1", reg: "0", counter: "1"}},
	{match{timeBits: "1**", reg: "*"}, does{markBit: "1", reg: "1", counter: "1"}},
}

// Table 6: muxed marking, the terminating MP.
var table6 = []rule{
	{match{timeBits: "001", markBit: "1"}, does{counter: "0", timestamp: true}},
	{match{timeBits: "010", markBit: "1"}, does{counter: "0", timestamp: true}},
	{match{timeBits: "101", markBit: "0"}, does{counter: "1", timestamp: true}},
	{match{timeBits: "110", markBit: "0"}, does{counter: "1", timestamp: true}},
	{match{timeBits: "***", markBit: "0"}, does{counter: "0"}},
	{match{timeBits: "***", markBit: "1"}, does{counter: "1"}},
}

// first does what the first rule says that matches.
func first(table []rule, timeBits, reg, markBit string) does {
	for _, r := range table {
		if ternary(r.timeBits, timeBits) && ternary(r.match.reg, reg) && ternary(r.match.markBit, markBit) {
			return r.does
		}
	}
	return does{}
}

// ternary compares the bits that the pattern has.
func ternary(pattern, bits string) bool {
	for i := range pattern {
		if pattern[i] != '*' && pattern[i] != bits[i] {
			return false
		}
	}
	return true
}

// tables returns the tables for a profile's mark and, where there is one, its
// second mark. Muxed marking without slots has none at the terminating MP.
func tables(p altmark.Session) (mark, mark2 []rule) {
	initiator := p.Role == altmark.Initiator
	switch p.Method {
	case altmark.Step:
		return either(initiator, table1, table2), nil
	case altmark.Pulse:
		return either(initiator, table3, table4), nil
	case altmark.Double: // step in one bit, pulse in the other
		return either(initiator, table1, table2), either(initiator, table3, table4)
	case altmark.Muxed:
		if initiator || p.SlotSync {
			return either(initiator, table5, table6), nil
		}
	}
	return nil, nil
}

func either(first bool, a, b []rule) []rule {
	if first {
		return a
	}
	return b
}
