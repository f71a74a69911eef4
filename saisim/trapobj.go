package saisim

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// applyTrap makes the state of a trap from its object. Nil, or a trap group that
// is administratively down: as without one.
func (c *store) applyTrap(r trapRow, o *object) {
	s := trapState{act: r.standing}
	if o != nil && c.trapGroupUp(o.ref(sai.HostifTrapAttrTrapGroup)) {
		s = trapState{
			act: packetAction(o.enum(sai.HostifTrapAttrPacketAction)), set: true,
			priority: uint32(o.number(sai.HostifTrapAttrTrapPriority)),
		}
	}
	c.traps[r.trap] = s
	c.trapsIP = false
	for t := config.TrapDHCP; t < config.TrapIP2ME; t++ {
		c.trapsIP = c.trapsIP || c.traps[t].set
	}
}

func (c *store) trapGroupUp(oid sai.OID) bool {
	o := c.objects[oid]
	return o == nil || o.flag(sai.HostifTrapGroupAttrAdminState)
}

// trapRowOf returns the row of a HOSTIF_TRAP object.
func trapRowOf(o *object) trapRow {
	rows := trapRows()
	return rows[slices.IndexFunc(rows, func(r trapRow) bool { return r.kind == o.enum(sai.HostifTrapAttrTrapType) })]
}

func (c *store) trapKind() *kind {
	var types []sai.Enum
	for _, r := range trapRows() {
		types = append(types, r.kind)
	}
	slices.Sort(types)
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifTrapAttrTrapType, sai.HostifTrapAttrPacketAction, sai.HostifTrapAttrTrapPriority, sai.HostifTrapAttrTrapGroup,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifTrapAttrTrapType: types},
		create: func(o *object) error {
			c.applyTrap(trapRowOf(o), o)
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			c.applyTrap(trapRowOf(o), o)
			return nil
		},
		remove: func(o *object) error {
			c.applyTrap(trapRowOf(o), nil)
			return nil
		},
	}
}

// trapGroupKind keeps trap groups. The chip has no policers; the queue of the CPU
// port is kept, but what goes to the CPU does not wait there.
func (c *store) trapGroupKind() *kind {
	return &kind{
		attrs: []sai.AttrID{sai.HostifTrapGroupAttrAdminState, sai.HostifTrapGroupAttrQueue},
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			for _, trap := range c.objects {
				if trap.key.Type == sai.ObjectTypeHostifTrap && trap.ref(sai.HostifTrapAttrTrapGroup) == o.key.OID {
					c.applyTrap(trapRowOf(trap), trap)
				}
			}
			return nil
		},
	}
}
