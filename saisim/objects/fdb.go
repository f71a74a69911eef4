package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

func (b *bridge) fdbKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.FDBEntryAttrType, sai.FDBEntryAttrPacketAction, sai.FDBEntryAttrBridgePortID, sai.FDBEntryAttrAllowMACMove,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.FDBEntryAttrPacketAction: {sai.PacketActionForward, sai.PacketActionDrop, sai.PacketActionTrap,
				sai.PacketActionCopy},
		},
		create: b.createFDB,
		set:    b.setFDB,
		gone:   func(o *object) { b.drop(b.fdbRow(o, config.None, 0)) },
		get: func(o *object, id sai.AttrID) sai.Value {
			vid, _ := b.vlanOf(o)
			e, ok := b.engine.Address(vid, config.MAC(o.key.Entry.(sai.FDBEntry).MAC))
			switch {
			case !ok:
			case id == sai.FDBEntryAttrBridgePortID:
				return sai.OID(e.BridgePort)
			case id == sai.FDBEntryAttrType:
				return fdbType(e)
			}
			return nil
		},
	}
}

func fdbType(e engine.FDBRow) sai.Enum {
	if e.Static {
		return sai.FDBEntryTypeStatic
	}
	return sai.FDBEntryTypeDynamic
}

// vlanOf returns the VLAN of an FDB entry object.
func (b *bridge) vlanOf(o *object) (uint16, error) {
	k := o.key.Entry.(sai.FDBEntry)
	v, ok := row[config.VLAN](b.core, k.BV)
	if !ok {
		return 0, refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusNotSupported, "bridge %s: the chip bridges by VLAN",
			k.BV)
	}
	return v.VID, nil
}

func (b *bridge) createFDB(o *object) error {
	vid, err := b.vlanOf(o)
	if err != nil {
		return err
	}
	k := o.key.Entry.(sai.FDBEntry)
	if k.MAC[0]&1 != 0 {
		return refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusInvalidParameter, "%s is a group address", k.MAC)
	}
	bp, ok := row[config.BridgePort](b.core, o.ref(sai.FDBEntryAttrBridgePortID))
	if !ok {
		return badCreate(sai.FDBEntryAttrBridgePortID, sai.StatusInvalidParameter, "want a bridge port")
	}
	_, learned := b.engine.Address(vid, config.MAC(k.MAC)) // the learned entry is replaced
	if !learned && b.engine.AddressesLeft() == 0 {
		return refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusTableFull, "all %d entries are in use", b.prof.FDB)
	}
	b.put(b.fdbRow(o, bp.ID, b.engine.Now()))
	return nil
}

// fdbRow returns the row of an FDB entry's attributes. The bridge port is an argument, since learning may have changed
// it. fresh is the cycle at which the entry was last learned or created.
func (b *bridge) fdbRow(o *object, to config.ID, fresh engine.Cycle) config.FDBEntry {
	k := o.key.Entry.(sai.FDBEntry)
	r := config.FDBEntry{
		VLAN: config.ID(k.BV), MAC: config.MAC(k.MAC), BridgePort: to, Fresh: uint64(fresh),
		Static: o.enum(sai.FDBEntryAttrType) == sai.FDBEntryTypeStatic, Action: o.does(sai.FDBEntryAttrPacketAction),
		Moves: o.flag(sai.FDBEntryAttrAllowMACMove),
	}
	r.VID, _ = b.vlanOf(o)
	return r
}

func (b *bridge) setFDB(o *object, a sai.Attr) error {
	vid, err := b.vlanOf(o)
	if err != nil {
		return err
	}
	e, ok := b.engine.Address(vid, config.MAC(o.key.Entry.(sai.FDBEntry).MAC))
	if !ok {
		return badValue(a.ID, sai.StatusItemNotFound, "the entry has aged")
	}
	to, fresh := e.BridgePort, e.Seen
	switch a.ID {
	case sai.FDBEntryAttrBridgePortID:
		bp, ok := row[config.BridgePort](b.core, a.Value.(sai.OID))
		if !ok {
			return badValue(a.ID, sai.StatusInvalidParameter, "want a bridge port")
		}
		to = bp.ID
	case sai.FDBEntryAttrType:
		fresh = b.engine.Now()
	}
	b.put(b.fdbRow(o.with(a), to, fresh))
	return nil
}

// noteLearned makes a learned FDB entry an object of the store when a call names it. It removes the object if the entry
// is gone.
func (b *bridge) noteLearned(k sai.Key) {
	fk, ok := k.Entry.(sai.FDBEntry)
	if !ok || b.sw == nil || fk.Switch != b.sw.key.OID {
		return
	}
	v, ok := row[config.VLAN](b.core, fk.BV)
	if !ok {
		return
	}
	_, there := b.engine.Address(v.VID, config.MAC(fk.MAC))
	switch known := b.entries[fk] != nil; {
	case !there && known:
		b.forget(sai.EntryKey(fk))
	case there && !known:
		b.entries[fk] = &object{key: sai.EntryKey(fk)}
		b.live[sai.ObjectTypeFDBEntry]++
		b.valid.Found(sai.EntryKey(fk))
	}
}

// flush removes the FDB entries that the attributes of an FDB_FLUSH select.
func (b *bridge) flush(attrs []sai.Attr) error {
	if b.sw == nil {
		return refuse("flush", sai.ObjectTypeFDBFlush, 0, sai.StatusUninitialized, "there is no switch")
	}
	var bp config.ID
	var vid uint16
	kind := sai.FDBFlushEntryTypeDynamic
	for _, a := range attrs {
		ok := true
		switch v := a.Value.(type) {
		case sai.OID:
			if v == sai.NullOID {
				continue
			}
			if a.ID == sai.FDBFlushAttrBridgePortID {
				_, ok = row[config.BridgePort](b.core, v)
				bp = config.ID(v)
			} else {
				var r config.VLAN
				r, ok = row[config.VLAN](b.core, v)
				vid = r.VID
			}
		case sai.Enum:
			kind = v
		}
		if !ok {
			return refuse("flush", sai.ObjectTypeFDBFlush, a.ID, sai.StatusInvalidParameter, "no such object")
		}
	}
	b.engine.Flush(func(e engine.FDBRow) bool {
		return (bp == config.None || e.BridgePort == bp) && (vid == 0 || e.VLAN == vid) &&
			(kind == sai.FDBFlushEntryTypeAll || e.Static == (kind == sai.FDBFlushEntryTypeStatic))
	})
	return nil
}

// fdbEvent handles an address that the packet path has learned, moved or removed. It sends a notification if enabled,
// and removes the object of an entry that is gone.
func (b *bridge) fdbEvent(what engine.FDBEvent, e engine.FDBRow) {
	k := sai.FDBEntry{Switch: b.sw.key.OID, MAC: sai.MAC(e.MAC), BV: b.vlanIDs[e.VLAN]}
	if b.fdbNotify {
		event := [...]sai.Enum{engine.FDBLearned: sai.FDBEventLearned, engine.FDBMoved: sai.FDBEventMove,
			engine.FDBAged:    sai.FDBEventAged,
			engine.FDBFlushed: sai.FDBEventFlushed}
		b.notify(sai.FDBEvent{Event: event[what], Entry: k, Attrs: []sai.Attr{
			{ID: sai.FDBEntryAttrType, Value: fdbType(e)},
			{ID: sai.FDBEntryAttrBridgePortID, Value: sai.OID(e.BridgePort)},
		}})
	}
	if what == engine.FDBAged || what == engine.FDBFlushed {
		b.forget(sai.EntryKey(k))
		gone := config.Change{{Row: config.FDBEntry{VLAN: config.ID(k.BV), MAC: e.MAC}, Gone: true}}
		b.tables.Apply(gone)
		b.cfg.Changed(gone)
	}
}
