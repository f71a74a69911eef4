package sai

import (
	"fmt"
	"strings"
)

// A Validator checks calls as SAI's metadata library does. It records the existing objects, their types, and their
// references to each other. Callers report each success by Created, Changed, Removed and Found. It is not safe for
// concurrent use.
type Validator struct {
	objects map[Key]*record
	types   map[OID]ObjectType
	refs    map[OID]int         // number of references by existing objects
	unique  map[string]struct{} // values of key attributes in use
	sw      OID                 // the switch; NullOID before it is created
	scratch []byte
	rules   map[ObjectType]*createRules
}

// createRules holds the attributes of a type that a create checks even if they are absent.
type createRules struct {
	presence []*AttrMeta // attributes that are mandatory or have a condition
	keys     []*AttrMeta
}

// rulesOf returns the rules of a type. They are built once, because a type may have hundreds of attributes.
func (v *Validator) rulesOf(tm *TypeMeta) *createRules {
	r := v.rules[tm.Type]
	if r != nil {
		return r
	}
	r = &createRules{}
	for _, m := range tm.Attrs {
		if m.Condition != nil || m.Has(MandatoryOnCreate) {
			r.presence = append(r.presence, m)
		}
		if m.Has(KeyAttr) {
			r.keys = append(r.keys, m)
		}
	}
	v.rules[tm.Type] = r
	return r
}

// A record is the state of one object.
type record struct {
	key  string // text of the key attributes; "" if there are none
	refs []reference
	// holds means that the key of an entry counts as references. An entry that was found has no counted references.
	holds bool
}

// A reference is from an attribute to an object.
type reference struct {
	attr AttrID
	to   OID
}

// NewValidator returns a validator without objects.
func NewValidator() *Validator {
	return &Validator{
		objects: map[Key]*record{}, types: map[OID]ObjectType{},
		refs: map[OID]int{}, unique: map[string]struct{}{}, rules: map[ObjectType]*createRules{},
	}
}

// Exists reports whether the object exists.
func (v *Validator) Exists(k Key) bool { _, ok := v.objects[normal(k)]; return ok }

// TypeOf returns the type of the object with that id, or false if there is none.
func (v *Validator) TypeOf(o OID) (ObjectType, bool) { t, ok := v.types[o]; return t, ok }

// References returns the number of references to an object by others.
func (v *Validator) References(o OID) int { return v.refs[o] }

// normal returns the form of the key in which objects are stored.
func normal(k Key) Key {
	if k.Entry != nil {
		return EntryKey(k.Entry)
	}
	return k
}

// CheckCreate checks the creation of an object that gets an object id.
func (v *Validator) CheckCreate(t ObjectType, attrs []Attr) error {
	tm := ObjectMeta(t)
	if tm == nil || !tm.IsOID {
		return fault("create", t, 0, StatusInvalidParameter, "no object of this type can be created")
	}
	if t == ObjectTypeSwitch {
		if v.sw != NullOID {
			return fault("create", t, 0, StatusFailure, "the switch exists already")
		}
	} else if v.sw == NullOID {
		return fault("create", t, 0, StatusInvalidParameter, "the switch must be created first")
	}
	if err := v.checkAttrs(tm, attrs); err != nil {
		return err
	}
	if key, ok := v.keyOf(tm, attrs); ok {
		if _, used := v.unique[key]; used {
			return fault("create", t, 0, StatusInvalidParameter, "an object with "+key+" exists already")
		}
	}
	return nil
}

// Switch returns the switch, or NullOID before it is created.
func (v *Validator) Switch() OID { return v.sw }

// CheckCreateEntry checks the creation of an object that has no object id.
func (v *Validator) CheckCreateEntry(e Entry, attrs []Attr) error {
	t := e.EntryType()
	if v.Exists(EntryKey(e)) {
		return fault("create", t, 0, StatusItemAlreadyExists, FormatEntry(e)+" exists already")
	}
	if err := v.checkEntry("create", e); err != nil {
		return err
	}
	return v.checkAttrs(ObjectMeta(t), attrs)
}

// checkEntry checks the object ids in an entry.
func (v *Validator) checkEntry(op string, e Entry) error {
	var err error
	check := func(o OID, name string, types ...ObjectType) {
		t, ok := v.types[o]
		for _, want := range types {
			if ok && t == want {
				return
			}
		}
		if err == nil {
			err = fault(op, e.EntryType(), 0, StatusInvalidParameter,
				fmt.Sprintf("%s %s does not exist or is of the wrong type", name, o))
		}
	}
	switch e := e.(type) {
	case FDBEntry:
		check(e.Switch, "switch_id", ObjectTypeSwitch)
		check(e.BV, "bvid", ObjectTypeBridge, ObjectTypeVLAN)
	case NeighborEntry:
		check(e.Switch, "switch_id", ObjectTypeSwitch)
		check(e.RIF, "rif", ObjectTypeRouterInterface)
	case RouteEntry:
		check(e.Switch, "switch_id", ObjectTypeSwitch)
		check(e.VR, "vr", ObjectTypeVirtualRouter)
	}
	return err
}

// checkAttrs checks the attributes of a create.
func (v *Validator) checkAttrs(tm *TypeMeta, attrs []Attr) error {
	for i, a := range attrs {
		if err := v.checkGiven(tm, attrs[:i], a); err != nil {
			return err
		}
	}
	for _, m := range v.rulesOf(tm).presence {
		if err := m.checkPresence(attrs); err != nil {
			return err
		}
	}
	return nil
}

// checkGiven checks one attribute of a create. Those before it have been checked.
func (v *Validator) checkGiven(tm *TypeMeta, before []Attr, a Attr) error {
	m := Meta(a.ID)
	if m == nil || a.ID.ObjectType() != tm.Type {
		return fault("create", tm.Type, a.ID, StatusFailure, "no such attribute of this type")
	}
	if _, twice := Find(before, a.ID); twice {
		return fault("create", tm.Type, a.ID, StatusInvalidParameter, "attribute given twice")
	}
	if m.Has(ReadOnly) {
		return fault("create", tm.Type, a.ID, StatusInvalidParameter, "attribute is read only")
	}
	return v.checkValue("create", m, a.Value)
}

// checkPresence checks that a create has the attribute if it is mandatory, and lacks it if it is forbidden.
func (m *AttrMeta) checkPresence(attrs []Attr) error {
	_, given := Find(attrs, m.ID)
	holds := m.Condition == nil || m.Condition.Holds(attrs)
	switch t := m.ID.ObjectType(); {
	case holds && !given && m.Has(MandatoryOnCreate):
		return fault("create", t, m.ID, StatusMandatoryAttributeMissing, "attribute must be given")
	case !holds && given:
		return fault("create", t, m.ID, StatusInvalidParameter, "attribute may be given only if "+m.Condition.String())
	}
	return nil
}

// Holds evaluates the condition on the attributes of an object. Missing attributes have their defaults.
func (c *Condition) Holds(attrs []Attr) bool {
	for _, t := range c.Terms {
		v, given := Find(attrs, t.Attr)
		if !given {
			v = Meta(t.Attr).Default
		}
		if equalScalar(v, t.Value) != c.And {
			return !c.And
		}
	}
	return c.And
}

// equalScalar compares two values of conditions: Bool, Uint or Enum.
func equalScalar(a, b Value) bool {
	switch a := a.(type) {
	case Bool:
		return a == b
	case Uint:
		return a == b
	case Enum:
		return a == b
	case OID:
		return a == b
	}
	return false
}

// String returns the condition in words.
func (c *Condition) String() string {
	var s []string
	for _, t := range c.Terms {
		text, err := Meta(t.Attr).append(nil, t.Value)
		if err != nil {
			text = fmt.Append(nil, t.Value)
		}
		s = append(s, fmt.Sprintf("%s is %s", t.Attr, text))
	}
	if c.And {
		return strings.Join(s, " and ")
	}
	return strings.Join(s, " or ")
}

// maxText is the longest text that the metadata library accepts: it limits every text to the length of a host
// interface's name.
const maxText = 15

// checkValue checks the type, range and object ids of a value.
func (v *Validator) checkValue(op string, m *AttrMeta, value Value) error {
	text, err := m.append(v.scratch[:0], value)
	if err != nil {
		return fault(op, m.ID.ObjectType(), m.ID, StatusInvalidParameter, err.Error())
	}
	v.scratch = text[:0]
	switch w := value.(type) {
	case Field:
		if !w.Enabled {
			return nil
		}
		value = w.Data
	case Action:
		if !w.Enabled {
			return nil
		}
		value = w.Param
	}
	switch w := value.(type) {
	case OID:
		if t := m.ID.ObjectType(); t == ObjectTypeSwitch && op == "create" {
			return fault(op, t, m.ID, StatusInvalidParameter, "no object can be named when the switch is created")
		}
		return v.checkOID(op, m, w)
	case OIDs:
		return v.checkOIDs(op, m, w)
	}
	if wrong := m.outOfRange(value); wrong != "" {
		return fault(op, m.ID.ObjectType(), m.ID, StatusInvalidParameter, wrong)
	}
	return nil
}

// outOfRange describes the error of a value that has the right type. It returns "" if there is none.
func (m *AttrMeta) outOfRange(value Value) string {
	switch w := value.(type) {
	case Text:
		if len(w) == 0 || len(w) > maxText || strings.ContainsFunc(string(w), notPrintable) {
			return fmt.Sprintf("%q: want 1 to %d printable ASCII characters", string(w), maxText)
		}
	case Range:
		if m.Kind != KindTimespec && w.Min > w.Max {
			return fmt.Sprintf("the minimum %d is above the maximum %d", w.Min, w.Max)
		}
	case Enum:
		if !m.Enum.allows(w) {
			return fmt.Sprintf("%d is no value of %s", w, m.Enum.Name)
		}
	}
	return ""
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// allows reports whether w is a value of the enum. If e is nil, every value is allowed.
func (e *EnumMeta) allows(w Enum) bool {
	if e == nil {
		return true
	}
	if _, ok := e.names[w]; ok {
		return true
	}
	if !e.Strict {
		return false
	}
	for _, f := range e.Values {
		w &^= f
	}
	return w == 0
}

func (v *Validator) checkOID(op string, m *AttrMeta, o OID) error {
	t := m.ID.ObjectType()
	if o == NullOID {
		if m.AllowNull {
			return nil
		}
		return fault(op, t, m.ID, StatusInvalidParameter, "the null object is not allowed")
	}
	got, ok := v.types[o]
	if !ok {
		return fault(op, t, m.ID, StatusInvalidParameter, fmt.Sprintf("object %s does not exist", o))
	}
	if m.Objects == nil {
		return nil
	}
	for _, want := range m.Objects {
		if got == want {
			return nil
		}
	}
	return fault(op, t, m.ID, StatusInvalidParameter, fmt.Sprintf("object %s is a %s, which is not allowed here", o, got))
}

func (v *Validator) checkOIDs(op string, m *AttrMeta, list OIDs) error {
	wrong := func(why string) error { return fault(op, m.ID.ObjectType(), m.ID, StatusInvalidParameter, why) }
	for i, o := range list {
		if err := v.checkOID(op, m, o); err != nil {
			return err
		}
		if o == NullOID {
			continue
		}
		for _, p := range list[:i] {
			if o == p {
				return wrong(fmt.Sprintf("object %s is twice in the list", o))
			}
			if p != NullOID && v.types[o] != v.types[p] {
				return wrong("the list has objects of different types")
			}
		}
	}
	return nil
}
