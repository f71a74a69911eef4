package saisim

import (
	"context"

	"tamtam/sai"
)

var _ sai.API = (*Chip)(nil)

// Create implements [sai.API].
func (c *Chip) Create(_ context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.create(t, attrs)
}

func (c *store) create(t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if err := c.valid.CheckCreate(t, attrs); err != nil {
		return sai.NullOID, err
	}
	if err := c.admitCreate(t, attrs); err != nil {
		return sai.NullOID, err
	}
	o, err := c.make(sai.Obj(t, c.newOID(t)), attrs)
	if err == nil && t == sai.ObjectTypeSwitch {
		if err = c.powerUp(); err != nil {
			c.reset()
		}
	}
	if err != nil {
		return sai.NullOID, err
	}
	return o.key.OID, nil
}

// CreateEntry implements [sai.API].
func (c *Chip) CreateEntry(_ context.Context, e sai.Entry, attrs []sai.Attr) error {
	c.mu.Lock()
	defer c.unlock()
	return c.createKeyed(e, attrs)
}

// BulkCreateEntries implements [sai.API].
func (c *Chip) BulkCreateEntries(_ context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	c.mu.Lock()
	defer c.unlock()
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = c.createKeyed(e, attrs[i])
	}
	return errs
}

func (c *store) createKeyed(e sai.Entry, attrs []sai.Attr) error {
	if o := c.entries[e]; o != nil && len(o.attrs) == 0 {
		c.forget(o.key) // learned: gives way
	}
	if err := c.valid.CheckCreateEntry(e, attrs); err != nil {
		return err
	}
	if err := c.admitCreate(e.EntryType(), attrs); err != nil {
		return err
	}
	_, err := c.make(sai.EntryKey(e), attrs)
	return err
}

// Remove implements [sai.API].
func (c *Chip) Remove(_ context.Context, k sai.Key) error {
	c.mu.Lock()
	defer c.unlock()
	return c.remove(k)
}

func (c *store) remove(k sai.Key) error {
	c.noteLearned(k)
	if err := c.valid.CheckRemove(k); err != nil {
		return err
	}
	o := c.find(k)
	if o == nil {
		return refuse("remove", typeOf(k), 0, sai.StatusItemNotFound, "no such object")
	}
	kd := c.kinds[typeOf(k)]
	if kd.row != nil {
		r, err := kd.row(o)
		if err != nil {
			return err
		}
		if r != nil {
			c.drop(r)
		}
	}
	if f := kd.remove; f != nil {
		if err := f(o); err != nil {
			c.discard()
			return err
		}
	}
	c.commit()
	if o != c.sw {
		c.forget(k)
	} else {
		c.reset()
	}
	return nil
}

// Set implements [sai.API].
func (c *Chip) Set(_ context.Context, k sai.Key, a sai.Attr) error {
	c.mu.Lock()
	defer c.unlock()
	return c.set(k, a)
}

func (c *store) set(k sai.Key, a sai.Attr) error {
	c.noteLearned(k)
	if err := c.valid.CheckSet(k, a); err != nil {
		return err
	}
	o := c.find(k)
	if o == nil {
		return refuse("set", typeOf(k), a.ID, sai.StatusItemNotFound, "no such object")
	}
	kd := c.kinds[typeOf(k)]
	if err := kd.implements("set", a, 0); err != nil {
		return err
	}
	if kd.set != nil {
		if err := kd.set(o, a); err != nil {
			c.discard()
			return err
		}
	}
	if kd.row != nil {
		if err := c.putRow(kd, o.with(a)); err != nil {
			return err
		}
	}
	c.commit()
	o.put(a)
	c.valid.Changed(k, a)
	return nil
}

// Get implements [sai.API].
func (c *Chip) Get(_ context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	c.mu.Lock()
	defer c.unlock()
	c.noteLearned(k)
	if err := c.valid.CheckGet(k, want); err != nil {
		return nil, err
	}
	o := c.find(k)
	if o == nil {
		return nil, refuse("get", typeOf(k), 0, sai.StatusItemNotFound, "no such object")
	}
	got := make([]sai.Attr, len(want))
	var overflow error
	for i, w := range want {
		v := c.value(o, w.ID)
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

// value returns an attribute's value, nil if the chip has none.
func (c *store) value(o *object, id sai.AttrID) sai.Value {
	if f := c.kinds[typeOf(o.key)].get; f != nil {
		if v := f(o, id); v != nil {
			return v
		}
	}
	return o.attr(id)
}

// BulkCreate implements [sai.API].
func (c *Chip) BulkCreate(_ context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	c.mu.Lock()
	defer c.unlock()
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	for i, attrs := range objs {
		oids[i], errs[i] = c.create(t, attrs)
	}
	return oids, errs
}

// BulkRemove implements [sai.API].
func (c *Chip) BulkRemove(_ context.Context, keys []sai.Key) []error {
	c.mu.Lock()
	defer c.unlock()
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = c.remove(k)
	}
	return errs
}

// BulkSet implements [sai.API].
func (c *Chip) BulkSet(_ context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	c.mu.Lock()
	defer c.unlock()
	errs := make([]error, len(keys))
	for i, k := range keys {
		if i >= len(attrs) {
			errs[i] = refuse("set", typeOf(k), 0, sai.StatusInvalidParameter, "%d objects, %d attributes", len(keys), len(attrs))
			continue
		}
		errs[i] = c.set(k, attrs[i])
	}
	return errs
}

// Stats implements [sai.API].
func (c *Chip) Stats(_ context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	c.mu.Lock()
	defer c.unlock()
	o, kd, err := c.statsOf(k, ids)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, len(ids))
	for i, id := range ids {
		out[i] = kd.stat(o, id)
	}
	return out, nil
}

// ClearStats implements [sai.API].
func (c *Chip) ClearStats(_ context.Context, k sai.Key, ids []sai.StatID) error {
	c.mu.Lock()
	defer c.unlock()
	o, kd, err := c.statsOf(k, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		kd.clear(o, id)
	}
	return nil
}

func (c *store) statsOf(k sai.Key, ids []sai.StatID) (*object, *kind, error) {
	if err := c.valid.CheckStats(k, ids); err != nil {
		return nil, nil, err
	}
	o, kd := c.find(k), c.kinds[typeOf(k)]
	if o == nil || kd == nil || kd.stat == nil {
		return nil, nil, refuse("get stats", typeOf(k), 0, sai.StatusNotSupported, "the chip counts nothing there")
	}
	for _, id := range ids {
		if !kd.counts(id) {
			return nil, nil, refuse("get stats", typeOf(k), 0, sai.StatusNotSupported, "the chip does not count %s", id)
		}
	}
	return o, kd, nil
}

// FlushFDB implements [sai.API].
func (c *Chip) FlushFDB(_ context.Context, attrs []sai.Attr) error {
	c.mu.Lock()
	defer c.unlock()
	return c.flush(attrs)
}
