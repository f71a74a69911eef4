package saisim

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

func (c *store) fdbKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.FDBEntryAttrType, sai.FDBEntryAttrPacketAction, sai.FDBEntryAttrBridgePortID, sai.FDBEntryAttrAllowMACMove,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.FDBEntryAttrPacketAction: {sai.PacketActionForward, sai.PacketActionDrop, sai.PacketActionTrap,
				sai.PacketActionCopy},
		},
		create: c.createFDB,
		set:    c.setFDB,
		remove: func(o *object) error {
			c.drop(c.fdbRow(o, config.None, 0))
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			key, _ := c.fdbKeyFor(o)
			e := c.fdb.find(key)
			switch {
			case e == nil:
			case id == sai.FDBEntryAttrBridgePortID:
				return sai.OID(e.to.name)
			case id == sai.FDBEntryAttrType:
				return e.kind()
			}
			return nil
		},
	}
}

func (e *fdbEntry) kind() sai.Enum {
	if e.static {
		return sai.FDBEntryTypeStatic
	}
	return sai.FDBEntryTypeDynamic
}

// fdbKeyFor returns the table's key of an FDB entry object.
func (c *store) fdbKeyFor(o *object) (uint64, error) {
	k := o.key.Entry.(sai.FDBEntry)
	v, ok := self[*vlan](c, k.BV)
	if !ok {
		return 0, refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusNotSupported, "bridge %s: the chip bridges by VLAN",
			k.BV)
	}
	return fdbKey(v.id, mac48(k.MAC[:])), nil
}

func (c *store) createFDB(o *object) error {
	key, err := c.fdbKeyFor(o)
	if err != nil {
		return err
	}
	k := o.key.Entry.(sai.FDBEntry)
	if k.MAC[0]&1 != 0 {
		return refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusInvalidParameter, "%s is a group address", k.MAC)
	}
	bp, ok := self[*bridgePort](c, o.ref(sai.FDBEntryAttrBridgePortID))
	if !ok {
		return refuse("create", sai.ObjectTypeFDBEntry, sai.FDBEntryAttrBridgePortID, sai.StatusInvalidParameter,
			"want a bridge port")
	}
	if c.fdb.find(key) == nil && c.fdb.n >= c.fdb.max { // what was learned gives way
		return refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusTableFull, "all %d entries are in use", c.fdb.max)
	}
	c.put(c.fdbRow(o, bp.name, c.now))
	return nil
}

// fdbRow is what an FDB entry's attributes say, but for where the address is, which learning may have
// changed since, and when control last made it as fresh as one just learned.
func (c *store) fdbRow(o *object, to config.ID, fresh Cycle) config.FDBEntry {
	k := o.key.Entry.(sai.FDBEntry)
	r := config.FDBEntry{
		VLAN: config.ID(k.BV), MAC: config.MAC(k.MAC), BridgePort: to, Fresh: uint64(fresh),
		Static: o.enum(sai.FDBEntryAttrType) == sai.FDBEntryTypeStatic, Action: o.does(sai.FDBEntryAttrPacketAction),
		Moves: o.flag(sai.FDBEntryAttrAllowMACMove),
	}
	if v := at[*vlan](c.engine, r.VLAN); v != nil {
		r.VID = v.id
	}
	return r
}

func (c *store) setFDB(o *object, a sai.Attr) error {
	key, err := c.fdbKeyFor(o)
	if err != nil {
		return err
	}
	e := c.fdb.find(key)
	if e == nil {
		return badValue(a, sai.StatusItemNotFound, "the entry has aged")
	}
	to, fresh := e.to.name, Cycle(0)
	switch a.ID {
	case sai.FDBEntryAttrBridgePortID:
		bp, ok := self[*bridgePort](c, a.Value.(sai.OID))
		if !ok {
			return badValue(a, sai.StatusInvalidParameter, "want a bridge port")
		}
		to = bp.name
	case sai.FDBEntryAttrType:
		fresh = c.now
	}
	c.put(c.fdbRow(o.with(a), to, fresh))
	return nil
}

// noteLearned makes a learned FDB entry an object of the store when a call
// names it, and forgets the object of one that has gone.
func (c *store) noteLearned(k sai.Key) {
	fk, ok := k.Entry.(sai.FDBEntry)
	if !ok || c.sw == nil || fk.Switch != c.sw.key.OID {
		return
	}
	v, ok := self[*vlan](c, fk.BV)
	if !ok {
		return
	}
	e := c.fdb.find(fdbKey(v.id, mac48(fk.MAC[:])))
	switch known := c.entries[fk] != nil; {
	case e == nil && known:
		c.forget(sai.EntryKey(fk))
	case e != nil && !known:
		c.entries[fk] = &object{key: sai.EntryKey(fk)}
		c.live[sai.ObjectTypeFDBEntry]++
		c.valid.Found(sai.EntryKey(fk))
	}
}

// flush removes the FDB entries that the attributes of an FDB_FLUSH select.
func (c *store) flush(attrs []sai.Attr) error {
	if c.sw == nil {
		return refuse("flush", sai.ObjectTypeFDBFlush, 0, sai.StatusUninitialized, "there is no switch")
	}
	var bp *bridgePort
	var vid uint64
	kind := sai.FDBFlushEntryTypeDynamic
	for _, a := range attrs {
		ok := true
		switch v := a.Value.(type) {
		case sai.OID:
			if v == sai.NullOID {
				continue
			}
			if a.ID == sai.FDBFlushAttrBridgePortID {
				bp, ok = self[*bridgePort](c, v)
			} else {
				var vl *vlan
				if vl, ok = self[*vlan](c, v); ok {
					vid = uint64(vl.id)
				}
			}
		case sai.Enum:
			kind = v
		}
		if !ok {
			return refuse("flush", sai.ObjectTypeFDBFlush, a.ID, sai.StatusInvalidParameter, "no such object")
		}
	}
	c.flushFDB(func(e *fdbEntry) bool {
		return (bp == nil || e.to == bp) && (vid == 0 || e.key>>48 == vid) &&
			(kind == sai.FDBFlushEntryTypeAll || e.static == (kind == sai.FDBFlushEntryTypeStatic))
	})
	return nil
}

// fdbEvent is told what becomes of an address, tells those who want to know, and forgets the object of
// one that is gone.
func (c *store) fdbEvent(what fdbEvent, e *fdbEntry) {
	k := c.fdbKeyOf(e)
	if c.fdbNotify {
		event := [...]sai.Enum{fdbLearned: sai.FDBEventLearned, fdbMoved: sai.FDBEventMove, fdbAged: sai.FDBEventAged,
			fdbFlushed: sai.FDBEventFlushed}
		c.notify(sai.FDBEvent{Event: event[what], Entry: k, Attrs: []sai.Attr{
			{ID: sai.FDBEntryAttrType, Value: e.kind()},
			{ID: sai.FDBEntryAttrBridgePortID, Value: sai.OID(e.to.name)},
		}})
	}
	if what == fdbAged || what == fdbFlushed {
		c.forget(sai.EntryKey(k))
		gone := config.Step{Row: config.FDBEntry{VLAN: config.ID(k.BV), MAC: config.MAC(k.MAC)}, Gone: true}
		c.tables.Apply(config.Change{gone})
	}
}

func (c *store) fdbKeyOf(e *fdbEntry) sai.FDBEntry {
	k := sai.FDBEntry{Switch: c.sw.key.OID, MAC: macBytes(e.key)}
	if v := c.vlans[e.key>>48]; v != nil {
		k.BV = sai.OID(v.name)
	}
	return k
}
