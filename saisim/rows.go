package saisim

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// put and drop note what a call of SAI does to the tables; commit carries it out.
func (c *store) put(r config.Row)  { c.change.Put(r) }
func (c *store) drop(r config.Row) { c.change.Remove(r) }

// commit has what was noted take effect, all at once.
func (c *store) commit() {
	if len(c.change) == 0 {
		return
	}
	c.tables.Apply(c.change)
	c.engine.apply(c.change)
	clear(c.change)
	c.change = c.change[:0]
}

// discard forgets what a call that fails has noted.
func (c *store) discard() { c.change = c.change[:0] }

// with returns the object as it will be when an attribute is set.
func (o *object) with(a sai.Attr) *object {
	next := &object{key: o.key, attrs: slices.Clone(o.attrs), self: o.self}
	next.put(a)
	return next
}

// id returns the name that rows have for an object, and for those that it refers to.
func (o *object) id() config.ID                 { return config.ID(o.key.OID) }
func (o *object) refID(id sai.AttrID) config.ID { return config.ID(o.ref(id)) }
func (o *object) refIDs(id sai.AttrID) []config.ID {
	v, _ := o.attr(id).(sai.OIDs)
	return configIDs(v)
}
func (o *object) text(id sai.AttrID) string    { v, _ := o.attr(id).(sai.Text); return string(v) }
func (o *object) mac(id sai.AttrID) config.MAC { v, _ := o.attr(id).(sai.MAC); return config.MAC(v) }

func configIDs(oids sai.OIDs) []config.ID {
	var ids []config.ID
	for _, oid := range oids {
		ids = append(ids, config.ID(oid))
	}
	return ids
}

// does is what a packet action is called in rows: they go in the order of SAI.
func (o *object) does(id sai.AttrID) config.PacketAction { return config.PacketAction(o.enum(id)) }
