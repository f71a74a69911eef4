package sai

import (
	"fmt"
	"strings"
	"sync"
)

// A Kind is the type of a value, or of the data of an ACL field or action.
type Kind uint8

// Kinds of values. The comment is the Go type of the [Value].
const (
	KindBool          Kind = iota + 1 // Bool
	KindU8                            // Uint
	KindU16                           // Uint
	KindU32                           // Uint
	KindU64                           // Uint
	KindS8                            // Int
	KindS32                           // Int
	KindEnum                          // Enum
	KindOID                           // OID
	KindMAC                           // MAC
	KindIPv4                          // IP
	KindIPv6                          // IP
	KindIP                            // IP
	KindPointer                       // Pointer
	KindChardata                      // Text
	KindJSON                          // Bytes
	KindU8List                        // Bytes
	KindS8List                        // Bytes
	KindU16List                       // Uints
	KindU32List                       // Uints
	KindS32List                       // Enums
	KindEnumList                      // Enums
	KindOIDList                       // OIDs
	KindU16Range                      // Range
	KindU32Range                      // Range
	KindU64RangeList                  // Ranges
	KindACLCapability                 // ACLCapability
	KindACLResources                  // ACLResources
	KindTimespec                      // Range: seconds, nanoseconds
	KindQoSMapList                    // QoSMap
)

// kindNames holds the names of the kinds in metadata.txt.
var kindNames = [...]string{
	KindBool: "bool", KindU8: "u8", KindU16: "u16", KindU32: "u32", KindU64: "u64", KindS8: "s8", KindS32: "s32",
	KindEnum: "enum", KindOID: "oid", KindMAC: "mac", KindIPv4: "ipv4", KindIPv6: "ipv6", KindIP: "ip",
	KindPointer: "pointer", KindChardata: "chardata", KindJSON: "json", KindU8List: "u8list",
	KindS8List: "s8list", KindU16List: "u16list", KindU32List: "u32list", KindS32List: "s32list",
	KindEnumList: "enumlist", KindOIDList: "oidlist", KindU16Range: "u16range", KindU32Range: "u32range",
	KindU64RangeList: "u64rangelist", KindACLCapability: "aclcapability", KindACLResources: "aclresourcelist",
	KindTimespec: "timespec", KindQoSMapList: "qosmaplist",
}

// String returns the kind's name in metadata.txt.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// List reports whether values of the kind are lists, which a get limits to the length of its placeholder.
func (k Kind) List() bool {
	switch k {
	case KindU8List, KindS8List, KindU16List, KindU32List, KindS32List, KindEnumList, KindOIDList,
		KindU64RangeList, KindACLCapability, KindACLResources, KindQoSMapList:
		return true
	}
	return false
}

// A Form is how the data of a Kind is wrapped.
type Form uint8

// Forms of attributes.
const (
	FormPlain  Form = iota // the value itself
	FormField              // a Field, an ACL match
	FormAction             // an Action, an ACL action
)

// Flags of an attribute.
type Flags uint8

// The flags of SAI's metadata.
const (
	MandatoryOnCreate Flags = 1 << iota
	CreateOnly
	CreateAndSet
	ReadOnly
	KeyAttr // the attribute identifies the object among the objects of its type
	SetOnly
)

// flagLetters holds the flags in metadata.txt.
var flagLetters = map[rune]Flags{
	'M': MandatoryOnCreate, 'C': CreateOnly, 'S': CreateAndSet, 'R': ReadOnly, 'K': KeyAttr, 'T': SetOnly,
}

// An EnumMeta describes an enum type.
type EnumMeta struct {
	Name   string
	Values []Enum // values in the order of SAI's header, without aliases
	Strict bool   // true if values are flags, combined with |
	names  map[Enum]string
	values map[string]Enum
}

// ValueName returns the name of v, or false if the enum has no such value.
func (e *EnumMeta) ValueName(v Enum) (string, bool) { s, ok := e.names[v]; return s, ok }

// Value returns the value with the given name, which may be an alias.
func (e *EnumMeta) Value(name string) (Enum, bool) { v, ok := e.values[name]; return v, ok }

// A Condition is true if all (And) or any of its terms are.
type Condition struct {
	And   bool
	Terms []Term
}

// A Term compares another attribute of the same object with a constant.
type Term struct {
	Attr  AttrID
	Value Value
}

// An AttrMeta describes an attribute, as SAI's metadata does.
type AttrMeta struct {
	ID        AttrID
	Name      string
	Kind      Kind
	Form      Form
	Flags     Flags
	Enum      *EnumMeta    // nil unless Kind is an enum or enum list
	Objects   []ObjectType // allowed types of object ids; nil means any
	AllowNull bool         // true if the value may be SAI_NULL_OBJECT_ID
	Default   Value        // default value; nil if there is none, or if it depends on the vendor or switch
	// Condition, if not nil, makes the attribute mandatory on create if it holds, and forbidden if not.
	Condition *Condition
	ValidOnly *Condition // condition under which the attribute has an effect; not enforced on create
	Resource  bool       // true if the attribute selects resources in an availability query
	codec     *codec     // the codec of the Kind; nil if the Kind is unknown
}

// Has reports whether all given flags are set.
func (m *AttrMeta) Has(f Flags) bool { return m.Flags&f == f }

// A TypeMeta describes an object type.
type TypeMeta struct {
	Type  ObjectType
	Name  string
	Attrs []*AttrMeta // attributes in the order of SAI's header
	Stats []StatID    // nil if there are none
	IsOID bool        // true if the key of objects is an object id instead of an entry
}

type (
	enumFacts []struct {
		name  string
		value int64
	}
	attrFacts struct {
		name            string
		id              uint32
		typ, flags      string
		enum, objects   string
		def             string
		hasDefault      bool
		cond, validonly string
		null, resource  bool
	}
	objectFacts struct {
		name  string
		id    ObjectType
		stats string
		attrs []attrFacts
	}
)

// tables is the metadata in a form for lookups.
type tables struct {
	attrs       map[AttrID]*AttrMeta
	attrNames   map[string]*AttrMeta
	types       map[ObjectType]*TypeMeta
	typeNames   map[ObjectType]string
	typeByName  map[string]ObjectType
	enums       map[string]*EnumMeta
	statNames   map[StatID]string
	statByName  map[string]StatID
	statusNames map[string]Status
	codecs      *[kinds]codec
}

// built holds the tables, which are built at the first use.
var built struct {
	once   sync.Once
	tables *tables
}

func metadata() *tables {
	built.once.Do(func() { built.tables = buildTables() })
	return built.tables
}

func buildTables() *tables {
	t := &tables{
		attrs: map[AttrID]*AttrMeta{}, attrNames: map[string]*AttrMeta{},
		types: map[ObjectType]*TypeMeta{}, typeNames: map[ObjectType]string{}, typeByName: map[string]ObjectType{},
		enums: map[string]*EnumMeta{}, statNames: map[StatID]string{}, statByName: map[string]StatID{},
		statusNames: map[string]Status{}, codecs: codecs(),
	}
	for s, name := range statusNames {
		t.statusNames[name] = s
	}
	for name, facts := range enums {
		t.enums[name] = buildEnum(name, facts)
	}
	for _, v := range enums["sai_object_type_t"] {
		if v.value > 0 && v.value < 1<<16 {
			t.typeNames[ObjectType(v.value)] = v.name
			t.typeByName[v.name] = ObjectType(v.value)
		}
	}
	for i := range objects {
		t.addType(&objects[i])
	}
	for i := range objects {
		t.addConditions(&objects[i])
	}
	return t
}

func buildEnum(name string, facts enumFacts) *EnumMeta {
	e := &EnumMeta{Name: name, names: map[Enum]string{}, values: map[string]Enum{}}
	e.Strict = name == "sai_port_error_status_t" || name == "sai_stats_mode_t"
	for _, f := range facts {
		v := Enum(f.value)
		e.values[f.name] = v
		if _, alias := e.names[v]; !alias {
			e.names[v] = f.name
			e.Values = append(e.Values, v)
		}
	}
	return e
}

func (t *tables) addType(o *objectFacts) {
	tm := &TypeMeta{Type: o.id, Name: o.name, IsOID: !strings.HasSuffix(o.name, "_ENTRY")}
	switch o.id {
	case ObjectTypeACLEntry, ObjectTypeHostifTableEntry, ObjectTypeTunnelTermTableEntry: // objects of the type have an id
		tm.IsOID = true
	}
	t.types[o.id] = tm
	for i := range o.attrs {
		m := t.buildAttr(o.id, &o.attrs[i])
		t.attrs[m.ID], t.attrNames[m.Name] = m, m
		tm.Attrs = append(tm.Attrs, m)
	}
	for _, s := range enums[o.stats] {
		id := StatID(uint64(o.id)<<32 | uint64(uint32(s.value)))
		t.statByName[s.name] = id
		if _, alias := t.statNames[id]; !alias {
			t.statNames[id] = s.name
			tm.Stats = append(tm.Stats, id)
		}
	}
}

func (t *tables) buildAttr(o ObjectType, f *attrFacts) *AttrMeta {
	m := &AttrMeta{
		ID: AttrID(uint64(o)<<32 | uint64(f.id)), Name: f.name,
		Enum: t.enums[f.enum], AllowNull: f.null, Resource: f.resource,
	}
	word := f.typ
	if w, ok := strings.CutPrefix(word, "field."); ok {
		m.Form, word = FormField, w
	} else if w, ok := strings.CutPrefix(word, "action."); ok {
		m.Form, word = FormAction, w
	}
	for k, w := range kindNames {
		if w == word {
			m.Kind, m.codec = Kind(k), &t.codecs[k]
		}
	}
	for _, c := range f.flags {
		m.Flags |= flagLetters[c]
	}
	if f.objects != "" {
		for _, w := range strings.Split(f.objects, ",") {
			m.Objects = append(m.Objects, t.typeByName["SAI_OBJECT_TYPE_"+w])
		}
	}
	if f.hasDefault {
		m.Default = m.parseDefault(f.def)
	}
	return m
}

// addConditions resolves the conditions of o's attributes: "or:NAME==value,...".
func (t *tables) addConditions(o *objectFacts) {
	parse := func(s string) *Condition {
		op, terms, ok := strings.Cut(s, ":")
		if !ok {
			return nil
		}
		c := &Condition{And: op == "and"}
		for _, term := range strings.Split(terms, ",") {
			name, text, ok := strings.Cut(term, "==")
			if !ok {
				return nil
			}
			m := t.attrNames[name]
			if m == nil {
				return nil
			}
			v, err := m.parsePlain(text)
			if err != nil {
				return nil
			}
			c.Terms = append(c.Terms, Term{m.ID, v})
		}
		return c
	}
	for i := range o.attrs {
		m := t.attrNames[o.attrs[i].name]
		m.Condition, m.ValidOnly = parse(o.attrs[i].cond), parse(o.attrs[i].validonly)
	}
}

// parseDefault converts the default in metadata.txt. It returns nil if that is not a constant.
func (m *AttrMeta) parseDefault(text string) Value {
	switch {
	case text == "internal" || text == "vendor" || text == "const":
		return nil
	case text == "disabled" && m.Form == FormField:
		return Field{}
	case text == "disabled" && m.Form == FormAction:
		return Action{}
	case text == "SAI_NULL_OBJECT_ID":
		return NullOID
	case text == "NULL":
		return Pointer(0)
	case text == "empty" || m.Kind == KindChardata:
		return m.zero(0)
	}
	if rest, ok := strings.CutPrefix(text, "0x"); ok {
		var n uint64
		if _, err := fmt.Sscanf(rest, "%x", &n); err == nil {
			return Uint(n)
		}
	}
	v, err := m.parsePlain(text)
	if err != nil {
		return nil
	}
	return v
}

// Meta returns the description of an attribute, or nil if the id is unknown.
func Meta(id AttrID) *AttrMeta { return metadata().attrs[id] }

// ObjectMeta returns the description of an object type, or nil if tamtam does not use the type.
func ObjectMeta(t ObjectType) *TypeMeta { return metadata().types[t] }
