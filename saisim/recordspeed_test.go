package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim/describe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// newRecordedLoad returns a load with a plan of seven tables. An entry selects all packets, and one of each r.sample
// packets is recorded. 0 means that no session records. Complete frames go to one port by ERSPAN, in another queue than
// packets.
func newRecordedLoad(t testing.TB, r recordedLoad) *load {
	t.Helper()
	l := newLoad(t, 0, false)
	l.pause = 24 // as fast as one port can send records
	session := l.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeEnhancedRemote,
		sai.MirrorSessionAttrMonitorPort, l.oid(l.Ports()[0]), sai.MirrorSessionAttrErspanEncapsulationType,
		sai.ErspanEncapsulationTypeIi,
		sai.MirrorSessionAttrIphdrVersion, sai.Uint(4), sai.MirrorSessionAttrTOS, sai.Uint(0),
		sai.MirrorSessionAttrGREProtocolType, sai.Uint(0x88be),
		sai.MirrorSessionAttrSrcIPAddress, v4(10, 0, 0, 250), sai.MirrorSessionAttrDstIPAddress, v4(10, 0, 0, 251),
		sai.MirrorSessionAttrSrcMACAddress, sai.MAC(host(250)), sai.MirrorSessionAttrDstMACAddress, sai.MAC(host(251)),
		sai.MirrorSessionAttrTC, sai.Uint(1), sai.MirrorSessionAttrLabel, sai.Text("tr:all"))
	var act []any
	if r.sample > 0 {
		act = []any{sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{session})}
	}
	table := l.acl(sai.ACLStagePreIngress, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
	l.entry(table, 1, act...)
	l.set(sai.ObjectTypeSwitch, l.sw, sai.SwitchAttrPreIngressACL, table)
	if !r.plan {
		return l
	}
	profile := profile.Default()
	p := record.ChipPlan{ID: 1, Switch: 7, PHV: "16+16", Graph: describe.Program(&profile, nil).Version}
	for i, table := range []string{"port", "trap", "acl", "learning", "router_mac", "fdb", "mtu"} {
		m := record.ChipMark{Table: "chip." + table, When: record.MarkRan, Bit: i}
		if i%2 == 1 {
			m.When, m.Bit = record.MarkHit, 16+i
		}
		p.Marks = append(p.Marks, m)
	}
	p.Sessions = []record.ChipSession{{Label: "tr:all", Sample: max(r.sample, 1), Identities: r.identities}}
	l.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName, sai.Bytes(record.ObjectPlan),
		sai.GenericProgrammableAttrEntry, entryOf(t, "plan", p))
	return l
}

// A recordedLoad defines which part of a load is recorded, and how.
type recordedLoad struct {
	name       string
	plan       bool
	sample     uint32
	identities bool
}

func recordedLoads() []recordedLoad {
	return []recordedLoad{
		{"no plan", false, 0, false}, {"a plan, nothing recorded", true, 0, false}, {"1 packet of 100", true, 100, false},
		{"every packet", true, 1, false}, {"every packet, with identities", true, 1, true},
	}
}

// Recording on the packet path does not allocate.
func TestRecordingDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for _, tt := range recordedLoads() {
		t.Run(tt.name, func(t *testing.T) {
			l := newRecordedLoad(t, tt)
			before := l.FrameCounts().Copies
			l.allocatesNothing(t, 10_000)
			l.drain()
			want := 0
			if tt.sample > 0 {
				want = 21_000 / int(tt.sample)
			}
			if records := l.FrameCounts().Copies - before; records != uint64(want) {
				t.Errorf("%d records, want %d", records, want)
			}
		})
	}
}
