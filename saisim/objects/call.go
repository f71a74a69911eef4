package objects

import (
	"tamtam/sai"
	"tamtam/saisim/engine"
)

// This file contains the calls of SAI, each on one object.

// Create creates an object.
func (s *Store) Create(t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if err := s.valid.CheckCreate(t, attrs); err != nil {
		return sai.NullOID, err
	}
	if err := s.CheckCreate(sai.Obj(t, sai.NullOID), attrs, int(s.live[t])); err != nil {
		return sai.NullOID, err
	}
	o, err := s.make(sai.Obj(t, s.newOID(t)), attrs)
	if err == nil && t == sai.ObjectTypeSwitch {
		if err = s.powerUp(); err != nil {
			s.reset()
		}
	}
	if err != nil {
		return sai.NullOID, err
	}
	return o.key.OID, nil
}

// CreateEntry creates an object whose key is an entry.
func (s *Store) CreateEntry(e sai.Entry, attrs []sai.Attr) error {
	if o := s.entries[e]; o != nil && len(o.attrs) == 0 {
		s.forget(o.key) // a learned entry is replaced
	}
	if err := s.valid.CheckCreateEntry(e, attrs); err != nil {
		return err
	}
	if err := s.CheckCreate(sai.EntryKey(e), attrs, int(s.live[e.EntryType()])); err != nil {
		return err
	}
	_, err := s.make(sai.EntryKey(e), attrs)
	return err
}

// tell tells an area that an object of a kind has changed.
func (k *kind) tell() {
	if k.changed != nil {
		k.changed()
	}
}

// CheckCreate makes the checks of a create that do not depend on other objects. others is the number of objects of the
// same type.
func (s *Store) CheckCreate(k sai.Key, attrs []sai.Attr, others int) error {
	t := typeOf(k)
	kd := s.kinds[t]
	if kd == nil {
		return refuse("create", t, 0, sai.StatusNotSupported, "the chip has no such objects")
	}
	for i, a := range attrs {
		if err := kd.implements("create", a, i); err != nil {
			return err
		}
	}
	if kd.max > 0 && others >= int(kd.max) {
		return refuse("create", t, 0, sai.StatusInsufficientResources, "all %d are in use", kd.max)
	}
	if kd.values != nil {
		return kd.values(&object{key: k, attrs: attrs})
	}
	return nil
}

// CheckSet makes the checks of a set that do not depend on other objects or attributes.
func (s *Store) CheckSet(k sai.Key, a sai.Attr) error {
	kd := s.kinds[typeOf(k)]
	if kd == nil {
		return refuse("set", typeOf(k), a.ID, sai.StatusNotSupported, "the chip has no such objects")
	}
	return kd.implements("set", a, 0)
}

// Remove removes an object.
func (s *Store) Remove(k sai.Key) error {
	s.bridge.noteLearned(k)
	if err := s.valid.CheckRemove(k); err != nil {
		return err
	}
	o := s.find(k)
	if o == nil {
		return refuse("remove", typeOf(k), 0, sai.StatusItemNotFound, "no such object")
	}
	kd := s.kinds[typeOf(k)]
	if s.telemetry.uses(o) {
		return refuse("remove", o.key.Type, 0, sai.StatusObjectInUse, "a stream reads its statistics")
	}
	if kd.row != nil {
		r, err := kd.row(o)
		if err != nil {
			return err
		}
		if r != nil {
			s.drop(r)
		}
	}
	if f := kd.remove; f != nil {
		if err := f(o); err != nil {
			s.discard()
			return err
		}
	}
	if kd.gone != nil {
		kd.gone(o)
	}
	s.commit()
	if o == s.sw {
		s.reset()
		return nil
	}
	s.forget(k)
	kd.tell()
	return nil
}

// Set sets an attribute.
func (s *Store) Set(k sai.Key, a sai.Attr) error {
	s.bridge.noteLearned(k)
	if err := s.valid.CheckSet(k, a); err != nil {
		return err
	}
	o := s.find(k)
	if o == nil {
		return refuse("set", typeOf(k), a.ID, sai.StatusItemNotFound, "no such object")
	}
	kd := s.kinds[typeOf(k)]
	if err := kd.implements("set", a, 0); err != nil {
		return err
	}
	for _, check := range []func(*object) error{kd.values, kd.check} {
		if check == nil {
			continue
		}
		if err := check(o.with(a)); err != nil {
			return err
		}
	}
	if kd.set != nil {
		if err := kd.set(o, a); err != nil {
			s.discard()
			return err
		}
	}
	if kd.row != nil {
		if err := s.putRow(kd, o.with(a)); err != nil {
			return err
		}
	}
	s.commit()
	o.put(a)
	s.valid.Changed(k, a)
	kd.tell()
	return nil
}

// Get returns the values of attributes.
func (s *Store) Get(k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	s.bridge.noteLearned(k)
	if err := s.valid.CheckGet(k, want); err != nil {
		return nil, err
	}
	o := s.find(k)
	if o == nil {
		return nil, refuse("get", typeOf(k), 0, sai.StatusItemNotFound, "no such object")
	}
	got := make([]sai.Attr, len(want))
	var overflow error
	for i, w := range want {
		v := s.value(o, w.ID)
		if v == nil {
			return nil, refuse("get", typeOf(k), w.ID, sai.StatusAttrNotImplemented0-sai.Status(i),
				"the chip has no value for it")
		}
		got[i] = sai.Attr{ID: w.ID, Value: v}
		have, _ := sai.ListLen(v)
		if room, list := sai.ListLen(w.Value); list && have > room {
			overflow = refuse("get", typeOf(k), w.ID, sai.StatusBufferOverflow, "%d items, room for %d", have, room)
		}
	}
	return got, overflow
}

// value returns an attribute's value, or nil if the chip has none.
func (s *Store) value(o *object, id sai.AttrID) sai.Value {
	var v sai.Value
	if k := s.kinds[typeOf(o.key)]; k.live[id] != nil {
		v = k.live[id](o)
	} else if k.get != nil {
		v = k.get(o, id)
	}
	if v == nil {
		v = o.attr(id)
	}
	return v
}

// Stats returns counters.
func (s *Store) Stats(k sai.Key, ids []sai.StatID) ([]uint64, error) {
	o, kd, err := s.statsOf(k, ids)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, len(ids))
	for i, id := range ids {
		if kd.uncounted[id] == "" {
			out[i] = kd.stat(o, id) - o.cleared[id]
		}
	}
	return out, nil
}

// ClearStats resets counters.
func (s *Store) ClearStats(k sai.Key, ids []sai.StatID) error {
	o, kd, err := s.statsOf(k, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		kd.clearStat(o, id)
	}
	return nil
}

// clearStat resets a counter.
func (k *kind) clearStat(o *object, id sai.StatID) {
	if k.uncounted[id] == "" && (k.clear == nil || !k.clear(o, id)) {
		o.clear(id, k.stat(o, id))
	}
}

func (s *Store) statsOf(k sai.Key, ids []sai.StatID) (*object, *kind, error) {
	if err := s.valid.CheckStats(k, ids); err != nil {
		return nil, nil, err
	}
	o, kd := s.find(k), s.kinds[typeOf(k)]
	if o == nil || kd == nil || kd.countsNothing() {
		return nil, nil, refuse("get stats", typeOf(k), 0, sai.StatusNotSupported, "the chip counts nothing there")
	}
	for _, id := range ids {
		if !kd.counts(id) {
			return nil, nil, refuse("get stats", typeOf(k), 0, sai.StatusNotSupported, "the chip does not count %s", id)
		}
	}
	return o, kd, nil
}

// Flush removes the FDB entries that the attributes of an FDB_FLUSH select.
func (s *Store) Flush(attrs []sai.Attr) error { return s.bridge.flush(attrs) }

// SetLink sets whether a port has a link. A new port has one. SetLink returns false if there is no such port.
func (s *Store) SetLink(id engine.PortID, up bool) bool {
	p := s.ports.byID(id)
	if p == nil {
		return false
	}
	return s.setWire(p, up, p.stampMTU)
}

// SetWire sets whether a port has a link, and the longest frame with a stamp that the wire carries, including the FCS.
// Zero means the port's MTU. SetWire returns false if there is no such port.
func (s *Store) SetWire(id engine.PortID, up bool, stampMTU uint32) bool {
	p := s.ports.byID(id)
	if p == nil {
		return false
	}
	return s.setWire(p, up, stampMTU)
}

func (s *Store) setWire(p *port, up bool, stampMTU uint32) bool {
	if s.ports.setWire(p, up, stampMTU) {
		s.commit()
	}
	return true
}

// AddLost counts frames that were lost between the chip's port and its peer. It returns false if there is no such port.
func (s *Store) AddLost(id engine.PortID, in, out uint64) bool {
	p := s.ports.byID(id)
	if p == nil {
		return false
	}
	p.lost.In += in
	p.lost.Out += out
	return true
}

// LostIn returns the number of frames that were lost before the existing ports, as counted by AddLost.
func (s *Store) LostIn() (n uint64) {
	for _, id := range s.Ports() {
		n += s.ports.byID(id).lost.In
	}
	return n
}

// Ports returns the ports, in order.
func (s *Store) Ports() []engine.PortID {
	ids := []engine.PortID{}
	for _, p := range s.ports.all() {
		ids = append(ids, p.id())
	}
	return ids
}

// PortByName returns the port whose host interface has a name.
func (s *Store) PortByName(name string) (engine.PortID, bool) {
	if p := s.ports.names[name]; p != nil {
		return p.id(), true
	}
	return 0, false
}

// PortAdmin reports whether a port's admin state is up. It returns false if there is no such port.
func (s *Store) PortAdmin(id engine.PortID) bool {
	p := s.ports.byID(id)
	return p != nil && p.o.flag(sai.PortAttrAdminState)
}

// PortName returns the name of a port's host interface, or "" if it has none.
func (s *Store) PortName(id engine.PortID) string {
	if p := s.ports.byID(id); p != nil {
		return p.name
	}
	return ""
}
