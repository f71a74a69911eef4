package saisim_test

import (
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// What FDB entries that are set do with frames to and from their address: host
// 2, whose entry is at port 6.
func TestFDBEntries(t *testing.T) {
	static := []any{sai.FDBEntryAttrType, sai.FDBEntryTypeStatic}
	act := func(a sai.Enum) []any { return append(slices.Clone(static), sai.FDBEntryAttrPacketAction, a) }
	cpu := saisim.CPUPort
	for _, tt := range []struct {
		name  string
		entry []any
		from  saisim.PortID // where host 2 sends from first; 6: from where its entry is
		first string        // drops there
		to    []saisim.PortID
		drops string
	}{
		{"static", static, 6, "", []saisim.PortID{6}, ""},
		{"static, seen elsewhere", static, 3, "learning=1 ", []saisim.PortID{6}, ""},
		{"static, may move", append(slices.Clone(static), sai.FDBEntryAttrAllowMACMove, sai.Bool(true)), 3, "",
			[]saisim.PortID{3}, ""},
		{"dynamic, moves", []any{sai.FDBEntryAttrType, sai.FDBEntryTypeDynamic}, 3, "", []saisim.PortID{3}, ""},
		{"drop", act(sai.PacketActionDrop), 6, "", []saisim.PortID{}, "fdb=1 "},
		{"trap", act(sai.PacketActionTrap), 6, "", []saisim.PortID{cpu}, ""},
		{"copy", act(sai.PacketActionCopy), 6, "", []saisim.PortID{6, cpu}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			vlan := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
			e := sai.FDBEntry{Switch: r.sw, MAC: sai.MAC(host(2)), BV: vlan}
			if err := r.CreateEntry(r.Context(), e, attrs(append(tt.entry, sai.FDBEntryAttrBridgePortID,
				r.bp(6))...)); err != nil {
				t.Fatal(err)
			}
			if r.send(tt.from, udpFrame(2, 9, 60)); r.dropped(tt.from) != tt.first {
				t.Errorf("from port %d: %q, want %q", tt.from, r.dropped(tt.from), tt.first)
			}
			got := portsOf(r.send(0, udpFrame(1, 2, 60)))
			slices.Sort(got)
			if !slices.Equal(got, tt.to) || r.dropped(0) != tt.drops {
				t.Errorf("to host 2: by %v, drops %q; want %v, %q", got, r.dropped(0), tt.to, tt.drops)
			}
		})
	}
}

// Flushing takes what it names: by port, by VLAN, by kind.
func TestFlush(t *testing.T) {
	for _, tt := range []struct {
		name string
		with func(r *rig, vlan sai.OID) []any
		left []byte // hosts
	}{
		{"dynamic", func(*rig, sai.OID) []any { return nil }, []byte{3}},
		{"all", func(*rig, sai.OID) []any { return []any{sai.FDBFlushAttrEntryType, sai.FDBFlushEntryTypeAll} }, nil},
		{"static", func(*rig, sai.OID) []any { return []any{sai.FDBFlushAttrEntryType, sai.FDBFlushEntryTypeStatic} },
			[]byte{1, 2, 4}},
		{"a port", func(r *rig, _ sai.OID) []any { return []any{sai.FDBFlushAttrBridgePortID, r.bp(1)} }, []byte{2, 3}},
		{"a VLAN", func(_ *rig, v sai.OID) []any { return []any{sai.FDBFlushAttrBvID, v} }, []byte{1, 2, 3}},
		{"a port in a VLAN", func(r *rig, v sai.OID) []any {
			return []any{sai.FDBFlushAttrBvID, v, sai.FDBFlushAttrBridgePortID, r.bp(2)}
		}, []byte{1, 2, 3, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			vlan1 := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
			vlan := r.vlan(100)
			r.member(vlan, r.bp(1), sai.VLANTaggingModeTagged)
			r.send(1, udpFrame(1, 9, 60))
			r.send(2, udpFrame(2, 9, 60))
			r.send(1, eth(host(9), host(4), tag(0x8100, 100), u16(0x88b5), make([]byte, 46)))
			e := sai.FDBEntry{Switch: r.sw, MAC: sai.MAC(host(3)), BV: vlan1}
			if err := r.CreateEntry(r.Context(), e, attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic,
				sai.FDBEntryAttrBridgePortID, r.bp(3))); err != nil {
				t.Fatal(err)
			}
			if err := r.FlushFDB(r.Context(), attrs(tt.with(r, vlan)...)); err != nil {
				t.Fatal(err)
			}
			var left []byte
			for _, row := range r.State().FDB {
				left = append(left, row.MAC[5])
			}
			slices.Sort(left)
			if !slices.Equal(left, tt.left) {
				t.Errorf("hosts %v are left, want %v", left, tt.left)
			}
		})
	}
}
