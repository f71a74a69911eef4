package saisim_test

import (
	"fmt"
	"testing"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// For profiles that request it, a chip sums up the arrival times of the packets of a colour. Packets that an initiator
// drops do not count, nor do packets of a flow that used the index before. Without such a profile a register read has
// no arrivals.
func TestArrivals(t *testing.T) {
	s := altmark.Session{Role: altmark.Initiator, Method: altmark.Step, Interval: -3, Mark: altmark.DSCP0, SlotSync: true,
		Foreign: altmark.DropForeign}
	none := func(m *marker, what string) {
		t.Helper()
		if got, ok := m.words(6)["arrivals"]; ok {
			t.Errorf("%s: arrivals are %v, want none", what, got)
		}
	}
	m := newMarker(t)
	m.profile(2, s, 0)
	m.flow(2, 6)
	m.sendMarked(m.within(s.Interval, 0, 500), 0)
	none(m, "nobody asks")

	s.MeanDelay = true
	m = newMarker(t)
	m.profile(3, s, 0)
	entries := m.flow(3, 6)
	none(m, "no packet")
	var want [2]altmark.ChipArrivals
	send := func(k, part uint64, bit byte, unsynchronised bool) {
		at := m.within(s.Interval, k, part)
		m.sendMarked(at, bit)
		if bit == 0 {
			want[k&1].Add(m.timeAt(at), unsynchronised)
		}
	}
	check := func(what string) {
		t.Helper()
		got := m.words(6)["arrivals"]
		if list := want[1].Words(want[0].Words(nil)); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("%s: arrivals are %v, want %v", what, got, list)
		}
	}
	send(1, 100, 0, false)
	send(1, 300, 0, false)
	send(1, 500, 1, false)
	send(2, 200, 0, false)
	check("three packets, and one that is dropped")
	m.SetClockSynchronised(false)
	send(2, 700, 0, true)
	check("one without a synchronised clock")
	for _, e := range entries {
		m.remove(sai.ObjectTypeACLEntry, e)
	}
	m.flow(3, 6)
	none(m, "new entries of the index")
	want = [2]altmark.ChipArrivals{}
	send(3, 700, 0, true)
	check("the first packet of the new flow")
}
