package objects

import (
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// A kind implements the objects of one type. Common behaviour (attributes, references, limits) is in the core and the
// calls. A kind has only the differences. Any function may be nil.
type kind struct {
	max   uint32       // maximum number of objects; zero means no own limit
	attrs []sai.AttrID // attributes that the chip implements
	// values rejects values that the chip accepts in no state. It must not use other objects. It is called like check.
	values func(o *object) error
	// stored holds attributes that the chip stores and checks although they have no effect on packets, and uncounted
	// counters that it answers although it counts nothing. Each has the reason: see [Store.WithoutEffect].
	stored    map[sai.AttrID]string
	uncounted map[sai.StatID]string
	// check rejects combinations of attributes that the chip does not support. It is called before create, and before
	// set with the object as it will be.
	check func(o *object) error
	// create sets o.self. The object exists in the store only after create has returned nil. A create that fails must
	// leave no trace.
	create func(o *object) error
	// set applies a change before the store records it.
	set func(o *object, a sai.Attr) error
	// row returns the row of an object. The row is put after create and set, and dropped before remove.
	row func(o *object) (config.Row, error)
	// remove undoes create, or refuses to remove the object. gone undoes create if nothing can be refused. No other
	// object refers to the object any more.
	remove func(o *object) error
	gone   func(o *object)
	// made is called with an object once it has been created.
	made func(o *object)
	// get returns the value of an attribute if it may differ from the value that was set, otherwise nil. live has
	// functions for single attributes.
	get  func(o *object, id sai.AttrID) sai.Value
	live map[sai.AttrID]func(o *object) sai.Value
	// stats are the counters. stat returns a counter as counted from the start. The store subtracts the value at the
	// last clear, unless clear returns true: it then handles the clear itself, or ignores it for a level.
	stats []sai.StatID
	more  func() []sai.StatID // counters that exist only temporarily; nil means none
	stat  func(o *object, id sai.StatID) uint64
	clear func(o *object, id sai.StatID) bool
	// reader returns a function that reads several counters of an object at once, as stat does. nil means that stat does.
	reader func(o *object, ids []sai.StatID) func(to []uint64)
	// changed is called after each call that has created, removed or set an object.
	changed func()
	// enums holds the values of an attribute that the chip implements, if not all.
	enums map[sai.AttrID][]sai.Enum
}

func (k *kind) has(id sai.AttrID) bool {
	_, stored := k.stored[id]
	return stored || slices.Contains(k.attrs, id)
}

func (k *kind) countsNothing() bool { return k.stat == nil && len(k.uncounted) == 0 }

func (k *kind) counts(id sai.StatID) bool {
	_, answered := k.uncounted[id]
	return answered || slices.Contains(k.stats, id) || k.more != nil && slices.Contains(k.more(), id)
}

// implements rejects values that the chip does not implement. For attributes that the chip does not have, it accepts
// only the default. i is the attribute's index in the call.
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

// refuse returns the error of a call that the chip refuses.
func refuse(op string, t sai.ObjectType, id sai.AttrID, s sai.Status, format string, args ...any) error {
	return &sai.CallError{Op: op, Type: t, Attr: id, Status: s, Reason: fmt.Sprintf(format, args...)}
}

// badValue returns an error for the value of an attribute, badCreate for an attribute of an object to create.
func badValue(id sai.AttrID, s sai.Status, format string, args ...any) error {
	return refuse("set", id.ObjectType(), id, s, format, args...)
}

func badCreate(id sai.AttrID, s sai.Status, format string, args ...any) error {
	return refuse("create", id.ObjectType(), id, s, format, args...)
}

// memberKind completes the kind of objects that are members of a group. The group's row contains them, so it is put
// again after each change of a member. create may refuse a member. groupOf returns the group of a member and the
// group's list.
func (c *core) memberKind(k *kind, groupOf func(o *object) (group *object, members *[]*object)) *kind {
	again := func(group *object) error { return c.putRow(c.kinds[group.key.Type], group) }
	join := k.create
	k.create = func(o *object) error {
		if join != nil {
			if err := join(o); err != nil {
				return err
			}
		}
		group, members := groupOf(o)
		*members = append(*members, o)
		return again(group)
	}
	k.set = func(o *object, a sai.Attr) error {
		o.put(a)
		group, _ := groupOf(o)
		return again(group)
	}
	k.remove = func(o *object) error {
		group, members := groupOf(o)
		*members = slices.DeleteFunc(*members, func(m *object) bool { return m == o })
		return again(group)
	}
	return k
}

func refuseCreate(t sai.ObjectType, why string) func(*object) error {
	return func(*object) error { return refuse("create", t, 0, sai.StatusNotSupported, "%s", why) }
}

func refuseRemove(why string) func(*object) error {
	return func(o *object) error { return refuse("remove", o.key.Type, 0, sai.StatusNotSupported, "%s", why) }
}
