package objects

import (
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// A core is what all areas share: the objects by their names, the rows that they stand for, and what
// the store is made from.
type core struct {
	engine *engine.Engine
	prof   profile.Profile
	cfg    Config
	notes  []sai.Notification // not yet returned by Notes

	tables config.Set
	change config.Change // of the current call

	valid   *sai.Validator
	kinds   map[sai.ObjectType]*kind
	objects map[sai.OID]*object
	entries map[sai.Entry]*object
	made    map[sai.ObjectType]uint64 // objects ever created
	live    map[sai.ObjectType]uint32

	sw *object // the switch, nil before it is created
	defaults
}

// defaults are the objects that the switch is created with.
type defaults struct{ cpu, defaultVLAN, defaultBridge, defaultRouter, defaultGroup *object }

// reset forgets all objects and rows, but not the notifications to be delivered.
func (c *core) reset() {
	*c = core{
		engine: c.engine, prof: c.prof, cfg: c.cfg, notes: c.notes,
		tables: config.Set{}, valid: sai.NewValidator(),
		objects: map[sai.OID]*object{}, entries: map[sai.Entry]*object{},
		made: map[sai.ObjectType]uint64{}, live: map[sai.ObjectType]uint32{},
	}
}

func (c *core) notify(n sai.Notification) { c.notes = append(c.notes, n) }

// find returns the object with a key, nil if there is none.
func (c *core) find(k sai.Key) *object {
	if k.Entry != nil {
		return c.entries[k.Entry]
	}
	if o := c.objects[k.OID]; o != nil && o.key.Type == k.Type {
		return o
	}
	return nil
}

// self returns what the store keeps of an object, false if it is something else or nothing.
func self[T any](c *core, oid sai.OID) (t T, ok bool) {
	if o := c.objects[oid]; o != nil {
		t, ok = o.self.(T)
	}
	return t, ok
}

// newOID returns an object id: the type in the upper 16 bits, as SAI
// implementations do, and a number.
func (c *core) newOID(t sai.ObjectType) sai.OID {
	c.made[t]++
	return sai.OID(uint64(t)<<48 | c.made[t])
}

// remember adds an object to those that exist.
func (c *core) remember(o *object) {
	if o.key.Entry != nil {
		c.entries[o.key.Entry] = o
	} else {
		c.objects[o.key.OID] = o
	}
	c.live[typeOf(o.key)]++
	c.valid.Created(o.key, o.attrs)
}

// forget removes an object from those that exist.
func (c *core) forget(k sai.Key) {
	if c.find(k) == nil {
		return
	}
	if k.Entry != nil {
		delete(c.entries, k.Entry)
	} else {
		delete(c.objects, k.OID)
	}
	c.live[typeOf(k)]--
	c.valid.Removed(k)
}

func typeOf(k sai.Key) sai.ObjectType {
	if k.Entry != nil {
		return k.Entry.EntryType()
	}
	return k.Type
}

// make creates an object without the checks of a call: they have been made, or the store itself wants the object.
func (c *core) make(k sai.Key, attrs []sai.Attr) (*object, error) {
	o := &object{key: k, attrs: slices.Clone(attrs)}
	kd := c.kinds[typeOf(k)]
	for _, f := range []func(*object) error{kd.check, kd.create} {
		if f == nil {
			continue
		}
		if err := f(o); err != nil {
			c.discard()
			return nil, err
		}
	}
	if err := c.putRow(kd, o); err != nil {
		return nil, err
	}
	c.commit()
	c.remember(o)
	if kd.made != nil {
		kd.made(o)
	}
	return o, nil
}

// putRow puts the row of an object, if its kind has rows.
func (c *core) putRow(kd *kind, o *object) error {
	if kd.row == nil {
		return nil
	}
	r, err := kd.row(o)
	if err != nil {
		c.discard()
		return err
	}
	if r != nil { // the CPU port has none
		c.put(r)
	}
	return nil
}

// admitCreate does the checks that are the same for all types.
func (c *core) admitCreate(t sai.ObjectType, attrs []sai.Attr) error {
	k := c.kinds[t]
	if k == nil {
		return refuse("create", t, 0, sai.StatusNotSupported, "the chip has no such objects")
	}
	for i, a := range attrs {
		if err := k.implements("create", a, i); err != nil {
			return err
		}
	}
	if k.max > 0 && c.live[t] >= k.max {
		return refuse("create", t, 0, sai.StatusInsufficientResources, "all %d are in use", k.max)
	}
	return nil
}

// Config is what a store is made from.
type Config struct {
	Profile profile.Profile
	// Start is the time of day at cycle 0.
	Start time.Time
	// Kernel says what the kernel knows of the clock that the chip's follows; nil: it follows none.
	Kernel func() altmark.KernelClock
	// Oracle: flows of sketch tasks are counted exactly, and can be read.
	Oracle bool
	// Wired names host interfaces whose ports have no link until somebody says that they have.
	Wired map[string]bool
	// HostInterfaces is called with the host interfaces of ports when one has changed; nil: nobody is interested.
	HostInterfaces func([]config.HostInterface)
	// Changed is called with every change of the rows as it takes effect; it must not keep it. nil: nobody listens.
	Changed func(config.Change)
}

// put and drop collect what a call of SAI does to the tables; commit carries it out.
func (c *core) put(r config.Row) { c.change.Put(r) }

func (c *core) drop(r config.Row) { c.change.Remove(r) }

// commit makes the collected change take effect, all at once.
func (c *core) commit() {
	if len(c.change) == 0 {
		return
	}
	c.tables.Apply(c.change)
	c.cfg.Changed(c.change)
	c.engine.Apply(c.change)
	clear(c.change)
	c.change = c.change[:0]
}

// discard drops what a failing call has collected.
func (c *core) discard() { c.change = c.change[:0] }

// row returns an object's row, false if it has none or one of another table.
func row[R config.Row](c *core, oid sai.OID) (R, bool) {
	return config.Find[R](c.tables, config.ID(oid))
}

// uses says what a port, a LAG or a VLAN is used as.
type uses struct{ inLAG, bridged, routed bool }

func (u *uses) used() *uses { return u }

// usesOf returns how a port, a LAG or a VLAN is used; nil: it is another object.
func (c *core) usesOf(oid sai.OID) *uses {
	if x, ok := self[interface{ used() *uses }](c, oid); ok {
		return x.used()
	}
	return nil
}
