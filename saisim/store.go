package saisim

import (
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// An object is a SAI object: its attributes as set, and in self what they mean
// to the chip (*port, *vlan, ...).
type object struct {
	key   sai.Key
	attrs []sai.Attr
	self  any
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

// flag, number and enum read attributes whose kind is known; what is not set
// and has no default is zero.
func (o *object) flag(id sai.AttrID) bool     { v, _ := o.attr(id).(sai.Bool); return bool(v) }
func (o *object) number(id sai.AttrID) uint64 { v, _ := o.attr(id).(sai.Uint); return uint64(v) }
func (o *object) enum(id sai.AttrID) sai.Enum { v, _ := o.attr(id).(sai.Enum); return v }
func (o *object) ref(id sai.AttrID) sai.OID   { v, _ := o.attr(id).(sai.OID); return v }

// A kind is what the chip does with the objects of one type. What is the same
// for all types (attributes, references, limits) is in this file; a kind holds
// only what differs. Any function may be nil.
type kind struct {
	max   uint32       // objects, 0: no limit of its own
	attrs []sai.AttrID // those that the chip implements
	// create makes o.self. The object exists in the store only when it has
	// returned nil; it must leave no trace when it fails.
	create func(o *object) error
	// set carries out a change before the store notes it.
	set func(o *object, a sai.Attr) error
	// row is the row of a table that an object says, which is put when it is created or set, and
	// dropped when it is removed; behind create and set, and before remove.
	row func(o *object) (config.Row, error)
	// remove undoes create. Nothing refers to the object any more.
	remove func(o *object) error
	// made is told of an object that has been created.
	made func(o *object)
	// get returns the value of an attribute that is not (only) as set, nil: as set.
	get func(o *object, id sai.AttrID) sai.Value
	// stats returns a counter; clear resets it.
	stats []sai.StatID
	stat  func(o *object, id sai.StatID) uint64
	clear func(o *object, id sai.StatID)
	// enums are the values that the chip implements of an attribute, where not all.
	enums map[sai.AttrID][]sai.Enum
}

func (k *kind) has(id sai.AttrID) bool { return slices.Contains(k.attrs, id) }

// A store keeps the SAI objects and what they are to each other.
type store struct {
	*engine
	cfg   Config
	notes []sai.Notification
	control
	tables config.Set
	change config.Change // of the call that is carried out
}

// control is what the store has while there is a switch.
type control struct {
	valid   *sai.Validator
	kinds   map[sai.ObjectType]*kind
	objects map[sai.OID]*object
	entries map[sai.Entry]*object
	made    map[sai.ObjectType]uint64 // objects ever created
	live    map[sai.ObjectType]uint32
	sw      *object // the switch, nil before it is created

	fdbNotify, portNotify bool

	defaults

	lanes       []*portObject          // who uses a lane
	bridgePorts []*object              // in the order of their creation
	names       map[string]*portObject // of host interfaces; nil: not a port's
	trapTypes   map[sai.Enum]config.Trap
	mirrorsUsed [profile.MaxMirrors]bool
	pools       []*bufferPool

	routingObjects
	aclObjects
	extensionObjects
}

// extensionObjects is what the store knows of extensions.
type extensionObjects struct {
	extensions map[string]int                 // objects, by name
	markLanes  [profile.MarkLanes]*markObject // whose profile a lane has; nil: none
	// sketchOwners have the tasks of FlyMon, by name.
	sketchOwners map[string]*sketchObject
}

// defaults are the objects that the switch comes with.
type defaults struct{ cpu, defaultVLAN, defaultBridge, defaultRouter, defaultGroup *object }

// routingObjects is what the store knows of routes.
type routingObjects struct {
	used4, used6 uint32 // route entries
}

// aclObjects is what the store knows of ACLs.
type aclObjects struct {
	entriesUsed, tablesUsed [2]uint32
	labelled                map[string][]*aclCounter
	fields                  map[sai.AttrID]aclField
	actionKinds             map[sai.AttrID]sai.Enum
}

// reset makes the chip as it is before the switch object is created.
func (c *store) reset() {
	c.engine.reset()
	c.engine.compile, c.engine.fdbChanged = c.compileAll, c.fdbEvent
	c.tables, c.change = config.Set{}, nil
	c.control = control{
		valid:   sai.NewValidator(),
		objects: map[sai.OID]*object{}, entries: map[sai.Entry]*object{},
		made: map[sai.ObjectType]uint64{}, live: map[sai.ObjectType]uint32{},
		lanes:            make([]*portObject, c.prof.FirstLane+c.prof.Lanes),
		extensionObjects: extensionObjects{extensions: map[string]int{}, sketchOwners: map[string]*sketchObject{}},
		names:            map[string]*portObject{},
		aclObjects:       aclObjects{labelled: map[string][]*aclCounter{}},
	}
	c.kinds = c.allKinds()
}

func (c *store) notify(n sai.Notification) { c.notes = append(c.notes, n) }

// refuse returns the error of a call that the chip does not carry out.
func refuse(op string, t sai.ObjectType, id sai.AttrID, s sai.Status, format string, args ...any) error {
	return &sai.CallError{Op: op, Type: t, Attr: id, Status: s, Reason: fmt.Sprintf(format, args...)}
}

// badValue refuses the value of an attribute.
func badValue(a sai.Attr, s sai.Status, format string, args ...any) error {
	return refuse("set", a.ID.ObjectType(), a.ID, s, format, args...)
}

// find returns the object with a key, nil if there is none.
func (c *store) find(k sai.Key) *object {
	if k.Entry != nil {
		return c.entries[k.Entry]
	}
	if o := c.objects[k.OID]; o != nil && o.key.Type == k.Type {
		return o
	}
	return nil
}

// self returns what an object id means to the chip, false if it is something
// else or nothing.
func self[T any](c *store, oid sai.OID) (t T, ok bool) {
	if o := c.objects[oid]; o != nil {
		if t, ok = o.self.(T); !ok {
			t, ok = c.engine.ids[config.ID(oid)].(T) // until objects know rows only
		}
	}
	return t, ok
}

// newOID returns an object id: the type in the upper 16 bits, as SAI
// implementations do, and a number.
func (c *store) newOID(t sai.ObjectType) sai.OID {
	c.made[t]++
	return sai.OID(uint64(t)<<48 | c.made[t])
}

// remember notes an object that exists now.
func (c *store) remember(o *object) {
	if o.key.Entry != nil {
		c.entries[o.key.Entry] = o
	} else {
		c.objects[o.key.OID] = o
		if o.self != nil && c.engine.ids[o.id()] == nil {
			c.engine.ids[o.id()] = o.self // not yet compiled of a row
		}
	}
	c.live[typeOf(o.key)]++
	c.valid.Created(o.key, o.attrs)
}

// forget notes that an object is gone.
func (c *store) forget(k sai.Key) {
	if c.find(k) == nil {
		return
	}
	if k.Entry != nil {
		delete(c.entries, k.Entry)
	} else {
		delete(c.objects, k.OID)
		delete(c.engine.ids, config.ID(k.OID))
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

// make creates an object of the chip's own accord, or after all checks.
func (c *store) make(k sai.Key, attrs []sai.Attr) (*object, error) {
	o := &object{key: k, attrs: slices.Clone(attrs)}
	kd := c.kinds[typeOf(k)]
	if f := kd.create; f != nil {
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

// putRow puts the row of an object of a kind that has one.
func (c *store) putRow(kd *kind, o *object) error {
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

// admitCreate makes the checks that are the same for all types.
func (c *store) admitCreate(t sai.ObjectType, attrs []sai.Attr) error {
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

// implements refuses attributes that the chip does not have, unless the value
// is the default, and values that it does not implement. i is the attribute's
// place in the call.
func (k *kind) implements(op string, a sai.Attr, i int) error {
	if !k.has(a.ID) {
		if m := sai.Meta(a.ID); m.Default != nil {
			want, _ := sai.FormatValue(a.ID, m.Default)
			if got, err := sai.FormatValue(a.ID, a.Value); err == nil && got == want {
				return nil
			}
		}
		return refuse(op, a.ID.ObjectType(), a.ID, sai.StatusAttrNotSupported0-sai.Status(i),
			"the chip does not implement it")
	}
	only := k.enums[a.ID]
	if only == nil {
		return nil
	}
	for _, e := range enumsIn(a.Value) {
		if !slices.Contains(only, e) {
			return refuse(op, a.ID.ObjectType(), a.ID, sai.StatusNotSupported, "the chip does not implement %s",
				sai.EnumName(a.ID, e))
		}
	}
	return nil
}

func enumsIn(v sai.Value) []sai.Enum {
	switch v := v.(type) {
	case sai.Enum:
		return []sai.Enum{v}
	case sai.Enums:
		return v
	case sai.Field:
		if v.Enabled {
			return enumsIn(v.Data)
		}
	case sai.Action:
		if v.Enabled {
			return enumsIn(v.Param)
		}
	}
	return nil
}
