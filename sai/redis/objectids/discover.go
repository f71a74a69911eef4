package objectids

import (
	"context"

	"tamtam/sai"
)

// listRoom is the capacity of lists of objects in a first get.
const listRoom = 16

// A Discovery finds the objects of the ASIC. All ids are real.
type Discovery struct{ backend sai.API }

// oids returns the objects that an attribute names; none if the backend lacks the attribute.
func (d Discovery) oids(ctx context.Context, k sai.Key, id sai.AttrID) []sai.OID {
	got, err := d.backend.Get(ctx, k, []sai.Attr{sai.Want(id, listRoom)})
	if status, _ := sai.StatusOf(err); status == sai.StatusBufferOverflow && len(got) == 1 {
		n, _ := sai.ListLen(got[0].Value)
		got, err = d.backend.Get(ctx, k, []sai.Attr{sai.Want(id, n)})
	}
	if err != nil || len(got) != 1 {
		return nil
	}
	var list []sai.OID
	sai.References(got[0].Value, func(o sai.OID) { list = append(list, o) })
	return list
}

// typeOf returns the type of an object that an attribute names.
func (d Discovery) typeOf(ctx context.Context, id sai.AttrID, rid sai.OID) (sai.ObjectType, bool) {
	types := sai.Meta(id).Objects
	if len(types) == 1 {
		return types[0], true
	}
	for _, t := range types {
		m := sai.ObjectMeta(t)
		if m == nil || len(m.Attrs) == 0 {
			continue
		}
		_, err := d.backend.Get(ctx, sai.Obj(t, rid), []sai.Attr{sai.Want(m.Attrs[0].ID, 1)})
		switch status, _ := sai.StatusOf(err); status {
		case sai.StatusItemNotFound, sai.StatusInvalidParameter, sai.StatusInvalidObjectID, sai.StatusInvalidObjectType:
		default:
			return t, true
		}
	}
	return 0, false
}

// A PortLane is a lane and its port.
type PortLane struct {
	Lane uint64
	Port sai.OID
}

// PortLanes returns the lanes of all ports (real ids).
func (d Discovery) PortLanes(ctx context.Context, sw sai.Key) []PortLane {
	var list []PortLane
	for _, port := range d.oids(ctx, sw, sai.SwitchAttrPortList) {
		got, err := d.backend.Get(ctx, sai.Obj(sai.ObjectTypePort, port), []sai.Attr{sai.Want(sai.PortAttrHWLaneList, 16)})
		if err != nil {
			continue
		}
		if l, ok := got[0].Value.(sai.Uints); ok {
			for _, n := range l {
				list = append(list, PortLane{n, port})
			}
		}
	}
	return list
}
