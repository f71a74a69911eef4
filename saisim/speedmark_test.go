package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// newMarkedLoad returns a load in which each host's packets are a flow, with further flows that have no packets.
func newMarkedLoad(t testing.TB, s altmark.Session, flows int) *load {
	t.Helper()
	l := newLoad(t, 0, false)
	l.profile(0, s, 0)
	table := l.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true), sai.ACLTableAttrFieldSrcIP,
		sai.Bool(true))
	var counters, entries [][]sai.Attr
	for range 2 * flows {
		counters = append(counters, attrs(sai.ACLCounterAttrTableID, table,
			sai.ACLCounterAttrEnablePacketCount, sai.Bool(true), sai.ACLCounterAttrEnableByteCount, sai.Bool(true)))
	}
	oids := l.bulk(sai.ObjectTypeACLCounter, counters)
	for i := range 2 * flows {
		flow, colour := i/2, i%2
		entries = append(entries, attrs(append([]any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(5),
			sai.ACLEntryAttrFieldSrcIP, sai.Match(v4(10, 0, byte((flow+1)>>8), byte(flow+1)), v4(255, 255, 255, 255)),
			sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint(8|colour), sai.Uint(9)),
			sai.ACLEntryAttrActionCounter, sai.Do(oids[i])}, yields(0, colour, flow)...)...))
	}
	l.bulk(sai.ObjectTypeACLEntry, entries)
	for _, id := range l.Ports() {
		l.set(sai.ObjectTypePort, l.oid(id), sai.PortAttrIngressACL, table)
	}
	return l
}

func (l *load) bulk(t sai.ObjectType, objs [][]sai.Attr) []sai.OID {
	l.Helper()
	oids, errs := l.BulkCreate(l.Context(), t, objs)
	for _, err := range errs {
		if err != nil {
			l.Fatal(err)
		}
	}
	return oids
}

func markedLoads() map[string]altmark.Session {
	end := altmark.Session{Role: altmark.Terminator, Method: altmark.Muxed, Interval: -10, Mark: altmark.DSCP0,
		SlotSync: true, Clear: true}
	unsynced := end
	unsynced.SlotSync = false
	begin := muxedStart
	begin.Interval = -10
	return map[string]altmark.Session{"initiator": begin, "terminator": end, "terminator without slots": unsynced,
		"initiator, summed up": summedUp(begin), "terminator without slots, summed up": summedUp(unsynced)}
}

func summedUp(s altmark.Session) altmark.Session {
	s.MeanDelay = true
	return s
}

// Marking on the packet path does not allocate.
func TestMarkingDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for name, s := range markedLoads() {
		t.Run(name, func(t *testing.T) {
			l := newMarkedLoad(t, s, 100)
			l.allocatesNothing(t, 10_000)
			l.drain()
			if c := l.colours(0); c[0].packets+c[1].packets < 600 {
				t.Errorf("%v, want every 32nd packet in the first flow", c)
			}
		})
	}
}
