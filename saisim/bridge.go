package saisim

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/profile"
)

// A bridgePort is a port or LAG as the 802.1Q bridge sees it.
type bridgePort struct {
	o        *object
	port     *port // one of the two; both nil once it is removed
	lag      *lag
	admin    bool
	learning learning
	vlans    [64]memberships // of 64 VLANs each; derived from the VLAN members
}

// memberships are those of a bridge port in 64 VLANs, one bit each.
type memberships struct{ members, untagged, priorityTagged uint64 }

type learning uint8

const (
	learnOn learning = iota
	learnOff
	learnDrop // drop frames from unknown addresses
)

// order sorts bridge ports by what they are.
func (bp *bridgePort) order() int {
	if bp.lag != nil {
		return profile.MaxLanes + int(bp.lag.first())
	}
	if bp.port != nil {
		return int(bp.port.id)
	}
	return int(CPUPort) * 2
}

func (c *store) bridgeKind() *kind {
	return &kind{
		max:    1,
		attrs:  []sai.AttrID{sai.BridgeAttrType, sai.BridgeAttrPortList},
		enums:  map[sai.AttrID][]sai.Enum{sai.BridgeAttrType: {sai.BridgeType1q}},
		remove: refuseRemove("the default bridge stays"),
		get: func(_ *object, id sai.AttrID) sai.Value {
			if id != sai.BridgeAttrPortList {
				return nil
			}
			oids := sai.OIDs{}
			for _, bp := range c.bridgePorts {
				oids = append(oids, bp.o.key.OID)
			}
			return oids
		},
	}
}

func (c *store) bridgePortKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.BridgePortAttrType, sai.BridgePortAttrPortID, sai.BridgePortAttrBridgeID, sai.BridgePortAttrAdminState,
			sai.BridgePortAttrFDBLearningMode, sai.BridgePortAttrIngressFiltering,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.BridgePortAttrType: {sai.BridgePortTypePort},
			sai.BridgePortAttrFDBLearningMode: {sai.BridgePortFDBLearningModeHW,
				sai.BridgePortFDBLearningModeDisable, sai.BridgePortFDBLearningModeDrop},
		},
		create: c.createBridgePort,
		set:    c.setBridgePort,
		remove: c.removeBridgePort,
		get: func(_ *object, id sai.AttrID) sai.Value {
			if id == sai.BridgePortAttrIngressFiltering {
				return sai.Bool(true) // the chip always filters
			}
			return nil
		},
	}
}

func (c *store) createBridgePort(o *object) error {
	bp := &bridgePort{o: o}
	oid := o.ref(sai.BridgePortAttrPortID)
	bad := func(s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeBridgePort, sai.BridgePortAttrPortID, s, "%s", why)
	}
	if l, ok := self[*lag](c, oid); ok {
		switch {
		case l.bridgePort != nil:
			return bad(sai.StatusItemAlreadyExists, "the LAG has a bridge port already")
		case l.rif != nil:
			return bad(sai.StatusObjectInUse, "the LAG is a router interface")
		}
		bp.lag = l
	} else if p, ok := self[*port](c, oid); ok {
		switch {
		case p.bridgePort != nil:
			return bad(sai.StatusItemAlreadyExists, "the port has a bridge port already")
		case p.lag != nil:
			return bad(sai.StatusObjectInUse, "the port is a member of a LAG")
		case p.rif != nil:
			return bad(sai.StatusObjectInUse, "the port is a router interface")
		}
		bp.port = p
	} else {
		return bad(sai.StatusInvalidParameter, "want a port or a LAG")
	}
	o.self = bp
	for _, a := range o.attrs {
		if err := c.setBridgePort(o, a); err != nil {
			return err
		}
	}
	if bp.lag != nil {
		bp.lag.bridgePort = bp
	} else {
		bp.port.bridgePort = bp
	}
	c.bridgePorts = append(c.bridgePorts, bp)
	c.stale = true
	return nil
}

func (c *store) setBridgePort(o *object, a sai.Attr) error {
	bp := o.self.(*bridgePort)
	switch v := a.Value.(type) {
	case sai.Bool:
		if a.ID == sai.BridgePortAttrAdminState {
			bp.admin = bool(v)
		}
	case sai.Enum:
		if a.ID == sai.BridgePortAttrFDBLearningMode {
			bp.learning = map[sai.Enum]learning{
				sai.BridgePortFDBLearningModeHW: learnOn, sai.BridgePortFDBLearningModeDisable: learnOff,
				sai.BridgePortFDBLearningModeDrop: learnDrop,
			}[v]
		}
	}
	return nil
}

// removeBridgePort takes the addresses learned there with it, those too that were
// then made static (what was created static holds the bridge port). Packets that are
// on their way to it find it without port.
func (c *store) removeBridgePort(o *object) error {
	bp := o.self.(*bridgePort)
	c.flushFDB(func(e *fdbEntry) bool { return e.to == bp })
	if bp.lag != nil {
		bp.lag.bridgePort = nil
	} else {
		bp.port.bridgePort = nil
	}
	bp.port, bp.lag, bp.admin = nil, nil, false
	c.bridgePorts = slices.DeleteFunc(c.bridgePorts, func(x *bridgePort) bool { return x == bp })
	c.stale = true
	return nil
}

func (c *store) fdbKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.FDBEntryAttrType, sai.FDBEntryAttrPacketAction, sai.FDBEntryAttrBridgePortID, sai.FDBEntryAttrAllowMACMove,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.FDBEntryAttrPacketAction: {sai.PacketActionForward, sai.PacketActionDrop, sai.PacketActionTrap, sai.PacketActionCopy},
		},
		create: c.createFDB,
		set:    c.setFDB,
		remove: func(o *object) error {
			key, _ := c.fdbKeyFor(o)
			c.fdb.remove(key)
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			key, _ := c.fdbKeyFor(o)
			e := c.fdb.find(key)
			switch {
			case e == nil:
			case id == sai.FDBEntryAttrBridgePortID:
				return e.to.o.key.OID
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
		return 0, refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusNotSupported, "bridge %s: the chip bridges by VLAN", k.BV)
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
		return refuse("create", sai.ObjectTypeFDBEntry, sai.FDBEntryAttrBridgePortID, sai.StatusInvalidParameter, "want a bridge port")
	}
	e := fdbEntry{
		key: key, to: bp, seen: c.now,
		static: o.enum(sai.FDBEntryAttrType) == sai.FDBEntryTypeStatic,
		moves:  o.flag(sai.FDBEntryAttrAllowMACMove),
		act:    packetAction(o.enum(sai.FDBEntryAttrPacketAction)),
	}
	if old := c.fdb.find(key); old != nil {
		*old = e // what was learned gives way
	} else if c.fdb.insert(e) == nil {
		return refuse("create", sai.ObjectTypeFDBEntry, 0, sai.StatusTableFull, "all %d entries are in use", c.fdb.max)
	}
	c.sweepFor(c.now + c.fdb.age)
	return nil
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
	switch v := a.Value.(type) {
	case sai.OID:
		bp, ok := self[*bridgePort](c, v)
		if !ok {
			return badValue(a, sai.StatusInvalidParameter, "want a bridge port")
		}
		e.to = bp
	case sai.Enum:
		if a.ID == sai.FDBEntryAttrType {
			e.static, e.seen = v == sai.FDBEntryTypeStatic, c.now
			c.sweepFor(c.now + c.fdb.age)
		} else {
			e.act = packetAction(v)
		}
	case sai.Bool:
		e.moves = bool(v)
	}
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
		event := [...]sai.Enum{fdbLearned: sai.FDBEventLearned, fdbMoved: sai.FDBEventMove, fdbAged: sai.FDBEventAged, fdbFlushed: sai.FDBEventFlushed}
		c.notify(sai.FDBEvent{Event: event[what], Entry: k, Attrs: []sai.Attr{
			{ID: sai.FDBEntryAttrType, Value: e.kind()},
			{ID: sai.FDBEntryAttrBridgePortID, Value: e.to.o.key.OID},
		}})
	}
	if what == fdbAged || what == fdbFlushed {
		c.forget(sai.EntryKey(k))
	}
}

func (c *store) fdbKeyOf(e *fdbEntry) sai.FDBEntry {
	k := sai.FDBEntry{Switch: c.sw.key.OID, MAC: macBytes(e.key)}
	if v := c.vlans[e.key>>48]; v != nil {
		k.BV = v.o.key.OID
	}
	return k
}
