// Package earlier reads the ids of an earlier run of syncd from ASIC_DB, and finds those of objects that came with
// ports.
package earlier

import (
	"context"
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// IDs holds the ids of an earlier run in ASIC_DB. Own holds the objects that came with the switch or a port.
type IDs struct {
	VIDs map[sai.OID]sai.OID // virtual ids by real id
	Own  map[sai.OID]sai.ObjectType
	came map[sai.ObjectType]map[sai.OID][]sai.OID // what children returned
}

// Read reads the ids of an earlier run.
func Read(ctx context.Context, db *swss.DB) (*IDs, error) {
	o := &IDs{VIDs: map[sai.OID]sai.OID{}, Own: map[sai.OID]sai.ObjectType{},
		came: map[sai.ObjectType]map[sai.OID][]sai.OID{}}
	vids, err := db.Client().HGetAll(ctx, protocol.KeyVIDToRID).Result()
	if err != nil {
		return nil, err
	}
	cold, err := db.Client().HGetAll(ctx, protocol.KeyColdVIDs).Result()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{protocol.KeyRIDToVID, protocol.KeyHidden, protocol.KeyLanes} {
		if err := db.Client().HLen(ctx, key).Err(); err != nil {
			return nil, err // a map of the wrong type is written again later
		}
	}
	for v, r := range vids {
		vid, err := sai.ParseOID(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", protocol.KeyVIDToRID, err)
		}
		rid, err := sai.ParseOID(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", protocol.KeyVIDToRID, err)
		}
		o.VIDs[rid] = vid
	}
	for v := range cold {
		vid, err := sai.ParseOID(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", protocol.KeyColdVIDs, err)
		}
		if t, ok := protocol.VIDType(vid); ok {
			o.Own[vid] = t
		}
	}
	return o, nil
}

// Claim returns the virtual id that a discovered object had in the earlier run. Each id is used only once.
func (o *IDs) Claim(k sai.Key) (sai.OID, bool) {
	vid, ok := o.VIDs[k.OID]
	if !ok || o.Own[vid] != k.Type {
		return 0, false
	}
	delete(o.VIDs, k.OID)
	return vid, true
}

// children returns the former virtual ids of the objects of a type that came with ports of the client, by port. An ASIC
// numbers the objects of a type in the order in which it makes their ports. So if each port had equally many, the order
// of real ids distinguishes them, also if the client made all ports in one bulk request, before any of their objects
// had a virtual id. children returns nil if the ports had different numbers.
func (o *IDs) children(t sai.ObjectType) map[sai.OID][]sai.OID {
	if list, known := o.came[t]; known {
		return list
	}
	var ports, objects []sai.OID // real ids
	for rid, vid := range o.VIDs {
		if o.Own[vid] == t {
			objects = append(objects, rid)
		} else if kind, _ := protocol.VIDType(vid); kind == sai.ObjectTypePort {
			ports = append(ports, rid)
		}
	}
	o.came[t] = nil
	if len(ports) == 0 || len(objects)%len(ports) != 0 {
		return nil
	}
	slices.Sort(ports)
	slices.Sort(objects)
	each := len(objects) / len(ports)
	came := map[sai.OID][]sai.OID{}
	for i, port := range ports {
		for _, rid := range objects[i*each : (i+1)*each] {
			came[o.VIDs[port]] = append(came[o.VIDs[port]], o.VIDs[rid])
		}
	}
	o.came[t] = came
	return came
}

// Behind returns the former virtual id of an object of a type that came with a port: that of children if it is
// known. Otherwise it follows from the virtual ids, which syncd chooses in the order of the real ones, directly after
// the id of a port that is made alone. Each id is returned only once.
func (o *IDs) Behind(view *asicview.Graph, port sai.OID, t sai.ObjectType) (sai.OID, bool) {
	if came := o.children(t); came != nil {
		list := came[port]
		if len(list) == 0 {
			return 0, false
		}
		came[port] = list[1:]
		return list[0], true
	}
	end := sai.OID(1<<39 - 1) // upper bound for objects that came with this port: the id of the next port
	for other, n := range view.ByOID {
		if i := indexOf(other); n.Key.Type == sai.ObjectTypePort && i > indexOf(port) {
			end = min(end, i)
		}
	}
	var first, of sai.OID
	for rid, vid := range o.VIDs {
		i := indexOf(vid)
		if o.Own[vid] == t && i > indexOf(port) && i < end && (first == 0 || i < indexOf(first)) {
			first, of = vid, rid
		}
	}
	delete(o.VIDs, of)
	return first, first != 0
}

// indexOf returns the part of a virtual id that distinguishes the objects of a type.
func indexOf(vid sai.OID) sai.OID { return vid & (1<<39 - 1) }
