package reference

import "tamtam/tam/altmark"

// This file has alternate marking as in the paper: "AM-PM: Efficient Network Telemetry using Alternate Marking",
// section 3. The rules below are the paper's tables 1 to 6 as printed. The first matching rule counts.

// A rule is a row of a table: a match and its actions.
type rule struct {
	match
	does
}

// A match is ternary: a * matches 0 and 1, and so does an omitted field. timeBits is the time bit, the lowest bit of
// the period's number. If there are three bits, the last two are the slot, the quarter of the period.
type match struct{ timeBits, reg, markBit string }

// does holds the actions of a rule. Values that a rule does not name stay unchanged.
type does struct {
	markBit, reg string
	counter      string
	timestamp    bool
}

// table1 is for step marking, at the initiating MP.
var table1 = []rule{
	{match{timeBits: "0"}, does{markBit: "0", counter: "0"}},
	{match{timeBits: "1"}, does{markBit: "1", counter: "1"}},
}

// table2 is for step marking, at the terminating MP.
var table2 = []rule{
	{match{markBit: "0"}, does{counter: "0"}},
	{match{markBit: "1"}, does{counter: "1"}},
}

// table3 is for pulse marking, at the initiating MP.
var table3 = []rule{
	{match{timeBits: "1", reg: "0"}, does{markBit: "1", reg: "1", timestamp: true}},
	{match{timeBits: "1", reg: "1"}, does{markBit: "0", reg: "1"}},
	{match{timeBits: "0", reg: "1"}, does{markBit: "1", reg: "0", timestamp: true}},
	{match{timeBits: "0", reg: "0"}, does{markBit: "0", reg: "0"}},
}

// table4 is for pulse marking, at the terminating MP.
var table4 = []rule{
	{match{markBit: "1"}, does{timestamp: true}},
}

// table5 is for muxed marking, at the initiating MP.
var table5 = []rule{
	{match{timeBits: "010", reg: "0"}, does{markBit: "1", reg: "1", counter: "0", timestamp: true}},
	{match{timeBits: "010", reg: "1"}, does{markBit: "0", reg: "1", counter: "0"}},
	{match{timeBits: "0**", reg: "*"}, does{markBit: "0", reg: "0", counter: "0"}},
	{match{timeBits: "110", reg: "1"}, does{markBit: "0", reg: "0", counter: "1", timestamp: true}},
	{match{timeBits: "110", reg: "0"}, does{markBit: "1", reg: "0", counter: "1"}},
	{match{timeBits: "1**", reg: "*"}, does{markBit: "1", reg: "1", counter: "1"}},
}

// table6 is for muxed marking, at the terminating MP.
var table6 = []rule{
	{match{timeBits: "001", markBit: "1"}, does{counter: "0", timestamp: true}},
	{match{timeBits: "010", markBit: "1"}, does{counter: "0", timestamp: true}},
	{match{timeBits: "101", markBit: "0"}, does{counter: "1", timestamp: true}},
	{match{timeBits: "110", markBit: "0"}, does{counter: "1", timestamp: true}},
	{match{timeBits: "***", markBit: "0"}, does{counter: "0"}},
	{match{timeBits: "***", markBit: "1"}, does{counter: "1"}},
}

// first returns the actions of the first matching rule.
func first(table []rule, timeBits, reg, markBit string) does {
	for _, r := range table {
		if ternary(r.timeBits, timeBits) && ternary(r.match.reg, reg) && ternary(r.match.markBit, markBit) {
			return r.does
		}
	}
	return does{}
}

// ternary compares the bits that the pattern contains.
func ternary(pattern, bits string) bool {
	for i := range pattern {
		if pattern[i] != '*' && pattern[i] != bits[i] {
			return false
		}
	}
	return true
}

// tables returns the tables for a profile's mark and for its second mark, if it has one. Muxed marking without slots
// has none at the terminating MP.
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
