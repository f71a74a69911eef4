package earlier

import (
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
)

// Objects that came with ports get their former virtual ids, also if the client made all ports in one bulk request, so
// that no virtual id of them is between those of the ports.
func TestObjectsOfBulkPorts(t *testing.T) {
	const port, queue = sai.OID(0x1000000000000), sai.OID(0x15000000000000)
	old := &IDs{VIDs: map[sai.OID]sai.OID{}, Own: map[sai.OID]sai.ObjectType{},
		came: map[sai.ObjectType]map[sai.OID][]sai.OID{}}
	view := asicview.NewGraph()
	for i := range sai.OID(2) {
		old.VIDs[port+0x21+i] = port + 0x371 + i
		view.Add(sai.Obj(sai.ObjectTypePort, port+0x371+i), false)
		for q := range sai.OID(2) {
			vid := queue + 0x391 + 2*i + q
			old.VIDs[queue+0x41+2*i+q], old.Own[vid] = vid, sai.ObjectTypeQueue
		}
	}
	for i := range sai.OID(2) {
		at := port + 0x371 + (1 - i) // in another order than before
		for q := range sai.OID(2) {
			want := queue + 0x391 + 2*(1-i) + q
			if vid, ok := old.Behind(view, at, sai.ObjectTypeQueue); !ok || vid != want {
				t.Errorf("queue %d of port %s is %s, want %s", q, at, vid, want)
			}
		}
		if vid, ok := old.Behind(view, at, sai.ObjectTypeQueue); ok {
			t.Errorf("port %s has a third queue %s", at, vid)
		}
	}
}
