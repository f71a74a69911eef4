package objects

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// An object is a SAI object: its attributes as set, and in self the other state that the store keeps for it (*port,
// *vlan, ...).
type object struct {
	key     sai.Key
	attrs   []sai.Attr
	self    any
	cleared map[sai.StatID]uint64 // values of counters at their last clear
}

// clear resets a counter to zero. n is its current value.
func (o *object) clear(id sai.StatID, n uint64) {
	if o.cleared == nil {
		o.cleared = map[sai.StatID]uint64{}
	}
	o.cleared[id] = n
}

// attr returns an attribute's value: as set, or SAI's default, or nil.
func (o *object) attr(id sai.AttrID) sai.Value {
	if v, ok := sai.Find(o.attrs, id); ok {
		return v
	}
	return sai.Meta(id).Default
}

func (o *object) put(a sai.Attr) {
	for i := range o.attrs {
		if o.attrs[i].ID == a.ID {
			o.attrs[i] = a
			return
		}
	}
	o.attrs = append(o.attrs, a)
}

// with returns the object as it will be after an attribute is set.
func (o *object) with(a sai.Attr) *object {
	next := &object{key: o.key, attrs: slices.Clone(o.attrs), self: o.self}
	next.put(a)
	return next
}

// flag, number and similar functions read attributes whose type is known. An attribute that is not set and has no
// default is zero.
func (o *object) flag(id sai.AttrID) bool { v, _ := o.attr(id).(sai.Bool); return bool(v) }

func (o *object) number(id sai.AttrID) uint64 { v, _ := o.attr(id).(sai.Uint); return uint64(v) }

// A bound is the allowed range of a number.
type bound struct {
	id          sai.AttrID
	what        string // name in the error, followed by a space; may be empty
	least, most uint64
	status      sai.Status // status of the error; zero means the status of an invalid parameter
}

// within rejects numbers that are out of range.
func (o *object) within(bounds ...bound) error {
	for _, b := range bounds {
		if n := o.number(b.id); n < b.least || n > b.most {
			return badValue(b.id, cmp.Or(b.status, sai.StatusInvalidParameter), "%s%d, want %d to %d", b.what, n,
				b.least, b.most)
		}
	}
	return nil
}

// withinIfSet does the same as within, for attributes whose default need not be in range.
func (o *object) withinIfSet(bounds ...bound) error {
	return o.within(slices.DeleteFunc(bounds, func(b bound) bool {
		_, set := sai.Find(o.attrs, b.id)
		return !set
	})...)
}

func (o *object) enum(id sai.AttrID) sai.Enum { v, _ := o.attr(id).(sai.Enum); return v }

func (o *object) ref(id sai.AttrID) sai.OID { v, _ := o.attr(id).(sai.OID); return v }

func (o *object) text(id sai.AttrID) string { v, _ := o.attr(id).(sai.Text); return string(v) }

func (o *object) mac(id sai.AttrID) config.MAC { v, _ := o.attr(id).(sai.MAC); return config.MAC(v) }

// does returns the packet action for rows, which have SAI's order.
func (o *object) does(id sai.AttrID) config.PacketAction { return config.PacketAction(o.enum(id)) }

// id returns the name of an object in rows. refID and refIDs return the names of objects to which it refers.
func (o *object) id() config.ID { return config.ID(o.key.OID) }

func (o *object) refID(id sai.AttrID) config.ID { return config.ID(o.ref(id)) }

func (o *object) refIDs(id sai.AttrID) []config.ID {
	v, _ := o.attr(id).(sai.OIDs)
	return configIDs(v)
}

func configIDs(oids sai.OIDs) []config.ID {
	var ids []config.ID
	for _, oid := range oids {
		ids = append(ids, config.ID(oid))
	}
	return ids
}

func oidsOf(objects []*object) sai.OIDs {
	oids := sai.OIDs{}
	for _, o := range objects {
		oids = append(oids, o.key.OID)
	}
	return oids
}

// content returns the object's attributes as a text that does not depend on the order in which they were set.
func (o *object) content() string {
	var s []string
	for _, a := range o.attrs {
		v, _ := sai.FormatValue(a.ID, a.Value)
		s = append(s, a.ID.String()+"="+v)
	}
	slices.Sort(s)
	return strings.Join(s, ";")
}
