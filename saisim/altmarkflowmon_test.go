package saisim_test

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

func flowJSON(index, id int) sai.Bytes {
	return sai.Bytes(fmt.Sprintf(`{"attributes":[{"flow":{"value":{"index":%d,"flow-mon-id":%d}}}]}`, index, id))
}

// monitored returns a frame with an AltMark option in a header of the given kind, after the headers in before.
func monitored(kind byte, id uint32, before ...byte) []byte {
	option := []byte{17, 0, 0x12, 4, byte(id >> 12), byte(id >> 4), byte(id << 4), 0}
	next := kind
	if len(before) > 0 {
		next = 43
		before[0] = kind
	}
	return eth(host(2), host(1), ip6(1, 2, next, append(append(before, option...), udp(1, 2, 8)...)))
}

// If flows have equal entries, each counts the packets with its FlowMonID, wherever the parser finds the option. A
// packet with another FlowMonID or none belongs to no flow.
func TestFlowMonID(t *testing.T) {
	m := newMarker(t)
	m.profile(0, altmark.Session{Role: altmark.Transit, Method: altmark.Step, Interval: 0, Mark: altmark.IPv6Loss,
		SlotSync: true}, 0)
	ids := []uint32{0, 1, 0x12345, altmark.MaxFlowMonID}
	for i, id := range ids {
		m.extension(altmark.ObjectFlow, flowJSON(i, int(id)))
		m.flow(0, i)
	}
	for i, id := range ids {
		for range i + 1 {
			m.send(0, monitored(0, id))
			m.send(0, monitored(60, id))
			m.send(0, monitored(60, id, 0, 0, 0, 0, 0, 0, 0, 0)) // the option follows a routing header
		}
	}
	for bit := range 20 { // an id that differs in one bit, unless it is also in use
		if id := uint32(0x12345 ^ 1<<bit); id != 1 {
			m.send(0, monitored(0, id))
		}
	}
	m.send(0, eth(host(2), host(1), ip6(1, 2, 17, udp(1, 2, 8))))
	m.send(0, udpFrame(1, 2, 60))
	for i, id := range ids {
		if c := m.colours(i)[0]; c.packets != uint64(3*(i+1)) {
			t.Errorf("FlowMonID %#x has counted %d packets, want %d", id, c.packets, 3*(i+1))
		}
	}
}

// Entries may be created before or after the object. The object may change, pass its index to another object, and be
// removed.
func TestFlowMonIDChanges(t *testing.T) {
	m := newMarker(t)
	m.profile(0, altmark.Session{Role: altmark.Transit, Method: altmark.Step, Interval: 0, Mark: altmark.IPv6Loss,
		SlotSync: true}, 0)
	m.flow(0, 3)
	sent := uint64(0)
	count := func(what string, id uint32, counts bool) {
		t.Helper()
		if m.send(0, monitored(0, id)); counts {
			sent++
		}
		if got := m.colours(3)[0].packets; got != sent {
			t.Errorf("%s: %d packets, want %d", what, got, sent)
		}
	}
	change := func(oid sai.OID, index, id int) {
		m.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry, flowJSON(index, id))
	}
	count("any", 7, true)
	a := m.extension(altmark.ObjectFlow, flowJSON(3, 8))
	count("another", 7, false)
	count("the one", 8, true)
	change(a, 3, 7)
	count("the one that it became", 7, true)
	b := m.extension(altmark.ObjectFlow, flowJSON(4, 9))
	change(b, 3, 9) // syncd sets the two objects one after the other to exchange their indices
	count("another's", 7, false)
	change(a, 4, 7)
	count("the one that took it", 9, true)
	m.remove(sai.ObjectTypeGenericProgrammable, a)
	count("the one that stays", 9, true)
	count("not the one that went", 7, false)
	change(b, 5, 9)
	count("any, for it is another index", 7, true)
	change(b, 3, 9)
	m.remove(sai.ObjectTypeGenericProgrammable, b)
	count("any again", 7, true)
	if n := m.available(altmark.ObjectFlow); n != 64 {
		t.Errorf("%d available, want one for each index", n)
	}
}

// An invalid index object is refused with all errors.
func TestFlowObjectRefusals(t *testing.T) {
	const index, id = "index is missing, want 0 to 63", "flow-mon-id is missing, want 0 to 1048575"
	for _, tt := range []struct{ value, want string }{
		{`{}`, index + "\n" + id},
		{`{"index":64,"flow-mon-id":1048576}`, "index is 64, want 0 to 63\nflow-mon-id is 1048576, want 0 to 1048575"},
		{`{"index":1,"flow-mon-id":-1}`, "flow: flow-mon-id is a number -1, want uint32"},
		{`{"index":1,"flow-mon-id":2,"l":1}`, `flow: json: unknown field "l"`},
		{`{"index":2,"flow-mon-id":2}`, "index is 2, want one that no other object has"},
	} {
		r := newRig(t, profile.Small())
		r.extension(altmark.ObjectFlow, flowJSON(2, 1))
		_, err := r.Create(t.Context(), sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
			sai.Bytes(altmark.ObjectFlow), sai.GenericProgrammableAttrEntry,
			sai.Bytes(`{"attributes":[{"flow":{"value":`+tt.value+`}}]}`)))
		r.wantStatus(err, sai.StatusInvalidParameter)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.value, err, tt.want)
		}
	}
}
