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

// A core is the state that all areas share: the objects by their names, their rows, and the inputs of the store.
type core struct {
	engine *engine.Engine
	prof   profile.Profile
	cfg    Config
	notes  []sai.Notification // not yet returned by Notes

	tables config.Set
	change config.Change // change of the current call

	valid   *sai.Validator
	kinds   map[sai.ObjectType]*kind
	objects map[sai.OID]*object
	entries map[sai.Entry]*object
	made    map[sai.ObjectType]uint64 // number of objects ever created, by type
	live    map[sai.ObjectType]uint32

	sw *object // the switch, nil before it is created
	defaults
}

// defaults holds the objects that are created with the switch.
type defaults struct {
	cpu, defaultVLAN, defaultBridge, defaultRouter, defaultGroup *object
	ecmpHash, lagHash                                            *object
}

// reset removes all objects and rows, but not the notifications to be delivered.
func (c *core) reset() {
	*c = core{
		engine: c.engine, prof: c.prof, cfg: c.cfg, notes: c.notes,
		tables: config.Set{}, valid: sai.NewValidator(),
		objects: map[sai.OID]*object{}, entries: map[sai.Entry]*object{},
		made: map[sai.ObjectType]uint64{}, live: map[sai.ObjectType]uint32{},
	}
}

func (c *core) notify(n sai.Notification) { c.notes = append(c.notes, n) }

// find returns the object with a key, or nil if there is none.
func (c *core) find(k sai.Key) *object {
	if k.Entry != nil {
		return c.entries[k.Entry]
	}
	if o := c.objects[k.OID]; o != nil && o.key.Type == k.Type {
		return o
	}
	return nil
}

// self returns the state that the store keeps for an object. It returns false if there is no such state, or if the
// state is of another type.
func self[T any](c *core, oid sai.OID) (t T, ok bool) {
	if o := c.objects[oid]; o != nil {
		t, ok = o.self.(T)
	}
	return t, ok
}

// newOID returns an object id: the type in the upper 16 bits, as in other SAI implementations, and a number.
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

// make creates an object without the checks of a call. They have been made, or the store creates the object itself.
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
	kd.tell()
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
	c.put(r)
	return nil
}

// Config holds the inputs of a store.
type Config struct {
	Profile profile.Profile
	// Start is the time of day at cycle 0.
	Start time.Time
	// Kernel returns the kernel's state of the clock that the chip's clock follows. nil means that it follows none.
	Kernel func() altmark.KernelClock
	// Oracle enables exact counts of the flows of sketch tasks, which can be read.
	Oracle bool
	// Wired names host interfaces whose ports have no link until their link is set.
	Wired map[string]bool
	// HostInterfaces is called with the host interfaces of ports when one has changed. nil means no observer.
	HostInterfaces func([]config.HostInterface)
	// Changed is called with every change of the rows as it takes effect. It must not keep the change. nil means no
	// observer.
	Changed func(config.Change)
}

// put and drop collect the changes of the tables by a call of SAI, and commit applies them.
func (c *core) put(r config.Row) {
	if r != nil { // some objects have no row, such as the CPU port
		c.change.Put(r)
	}
}

func (c *core) drop(r config.Row) { c.change.Remove(r) }

// commit applies the collected change atomically.
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

// discard drops the change that a failing call has collected.
func (c *core) discard() { c.change = c.change[:0] }

// row returns an object's row. It returns false if the object has none, or a row of another table.
func row[R config.Row](c *core, oid sai.OID) (R, bool) {
	return config.Find[R](c.tables, config.ID(oid))
}

// uses records how a port, a LAG or a VLAN is used.
type uses struct {
	inLAG, bridged, routed bool
	subPorts               map[uint16]bool // outer VLANs of its sub-ports
}

// routes reports whether it has router interfaces, so that it cannot be in a bridge or, if it is a port, in a LAG.
func (u *uses) routes() bool { return u.routed || len(u.subPorts) > 0 }

func (u *uses) used() *uses { return u }

// usesOf returns how a port, a LAG or a VLAN is used. It returns nil for any other object.
func (c *core) usesOf(oid sai.OID) *uses {
	if x, ok := self[interface{ used() *uses }](c, oid); ok {
		return x.used()
	}
	return nil
}
