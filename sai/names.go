package sai

import (
	"fmt"
	"strings"
)

// String returns SAI's name of the status.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	for _, r := range statusRanges {
		if s <= r.first && s > r.first-0x10000 {
			return fmt.Sprintf("%s%d", r.prefix, r.first-s)
		}
	}
	return fmt.Sprintf("SAI_STATUS_%d", int32(s))
}

// statusRanges holds the statuses that contain the index of the invalid attribute.
var statusRanges = [...]struct {
	first  Status
	prefix string
}{
	{StatusInvalidAttribute0, "SAI_STATUS_INVALID_ATTRIBUTE_"},
	{StatusInvalidAttrValue0, "SAI_STATUS_INVALID_ATTR_VALUE_"},
	{StatusAttrNotImplemented0, "SAI_STATUS_ATTR_NOT_IMPLEMENTED_"},
	{StatusUnknownAttribute0, "SAI_STATUS_UNKNOWN_ATTRIBUTE_"},
	{StatusAttrNotSupported0, "SAI_STATUS_ATTR_NOT_SUPPORTED_"},
}

// String returns SAI's name of the type.
func (t ObjectType) String() string {
	if n, ok := metadata().typeNames[t]; ok {
		return n
	}
	return fmt.Sprintf("SAI_OBJECT_TYPE_%d", uint16(t))
}

// String returns SAI's name of the attribute.
func (a AttrID) String() string {
	if m := Meta(a); m != nil {
		return m.Name
	}
	return fmt.Sprintf("%s attribute 0x%x", a.ObjectType(), uint32(a))
}

// String returns SAI's name of the statistic.
func (s StatID) String() string {
	if n, ok := metadata().statNames[s]; ok {
		return n
	}
	return fmt.Sprintf("%s statistic 0x%x", s.ObjectType(), uint32(s))
}

// LookupAttr returns the attribute with SAI's name.
func LookupAttr(name string) (AttrID, bool) {
	if m := metadata().attrNames[name]; m != nil {
		return m.ID, true
	}
	return 0, false
}

// LookupObjectType returns the object type with SAI's name.
func LookupObjectType(name string) (ObjectType, bool) {
	t, ok := metadata().typeByName[name]
	return t, ok
}

// LookupStat returns the statistic with SAI's name.
func LookupStat(name string) (StatID, bool) { s, ok := metadata().statByName[name]; return s, ok }

// LookupStatus returns the status with SAI's name.
func LookupStatus(name string) (Status, bool) {
	if s, ok := metadata().statusNames[name]; ok {
		return s, true
	}
	for _, r := range statusRanges {
		rest, ok := strings.CutPrefix(name, r.prefix)
		if !ok {
			continue
		}
		n, err := parseUint(rest, 16)
		if err != nil {
			return 0, false
		}
		return r.first - Status(n), true
	}
	return 0, false
}

// LookupEnum returns the enum type with SAI's name (sai_..._t).
func LookupEnum(name string) (*EnumMeta, bool) { e, ok := metadata().enums[name]; return e, ok }

// EnumName returns the name of v as a value of the attribute, or of its list items, field data or action parameter.
// It returns a number if v has no name.
func EnumName(id AttrID, v Enum) string {
	if m := Meta(id); m != nil && m.Enum != nil {
		if n, ok := m.Enum.ValueName(v); ok {
			return n
		}
	}
	return fmt.Sprint(int32(v))
}

// Find returns the value of an attribute in a list.
func Find(attrs []Attr, id AttrID) (Value, bool) {
	for _, a := range attrs {
		if a.ID == id {
			return a.Value, true
		}
	}
	return nil, false
}

// Want returns a placeholder for [API].Get, with n items if the attribute is a list.
func Want(id AttrID, n int) Attr {
	m := Meta(id)
	if m == nil {
		return Attr{ID: id}
	}
	switch m.Form {
	case FormField:
		return Attr{id, Field{}}
	case FormAction:
		return Attr{id, Action{}}
	}
	return Attr{id, m.zero(n)}
}

// zero returns the zero value of the kind, lists with n items.
func (m *AttrMeta) zero(n int) Value {
	if m.codec == nil {
		return nil
	}
	return m.codec.zero(n)
}
