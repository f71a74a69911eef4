package saisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// An extension is what a GENERIC_PROGRAMMABLE object is to the chip. Names and
// JSON are in docs/extensions.md.
type extension interface {
	// apply takes what ENTRY says, at creation or later; on error nothing has changed.
	apply(c *store, entry []byte) error
	// read returns ENTRY as a get sees it, nil: as it was set.
	read(c *store) sai.Value
	// leave undoes apply.
	leave(c *store)
}

// maxWindows are the windows that may be at a time.
const maxWindows = 16

// newExtension returns the extension of a name, nil if the chip has none.
func (c *store) newExtension(name string) extension {
	switch {
	case name == tailstamp.ObjectCounters:
		return &window{}
	case name == altmark.ObjectFlows && c.prof.AltMark.Flows > 0:
		return &markWindow{}
	case name == altmark.ObjectProfile && c.prof.AltMark.Profiles > 0:
		return &markObject{lane: -1}
	}
	if x := c.newRecordExtension(name); x != nil {
		return x
	}
	return c.newSketchExtension(name)
}

// extensionNames are those that chips have, whether or not this one does.
func extensionNames() []string {
	return slices.Concat([]string{tailstamp.ObjectCounters, altmark.ObjectProfile, altmark.ObjectFlows},
		flymon.Objects(), recordExtensions())
}

// extensionsLeft is how many objects of the name there is room for, 0 for
// extensions that the chip does not have.
func (c *store) extensionsLeft(name string) uint64 {
	switch c.newExtension(name).(type) {
	case nil:
		return 0
	case *markObject:
		return uint64(c.prof.AltMark.Profiles) - uint64(c.extensions[name])
	case *sketchObject:
		return c.maxSketchTasks() - uint64(c.extensions[name])
	case *planObject:
		return uint64(c.prof.TableRecord.Plans) - uint64(c.extensions[name])
	}
	windows := 0
	for name, n := range c.extensions {
		if name != altmark.ObjectProfile && name != flymon.ObjectTask && name != record.ObjectPlan {
			windows += n
		}
	}
	return uint64(maxWindows - windows)
}

func (c *store) extensionKind() *kind {
	const t, entry = sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry
	return &kind{
		max:   maxWindows + profile.MarkLanes + flymon.MaxGroups*flymon.MaxTasks + c.prof.TableRecord.Plans,
		attrs: []sai.AttrID{sai.GenericProgrammableAttrObjectName, entry},
		create: func(o *object) error {
			name := o.extensionName()
			x := c.newExtension(name)
			if x == nil {
				return refuse("create", t, sai.GenericProgrammableAttrObjectName,
					sai.StatusNotSupported, "no extension %q, of %v the chip has those that it has room for",
					name, extensionNames())
			}
			if c.extensionsLeft(name) == 0 {
				return refuse("create", t, sai.GenericProgrammableAttrObjectName,
					sai.StatusInsufficientResources, "no room for one more %s", name)
			}
			text, _ := o.attr(entry).(sai.Bytes)
			if err := x.apply(c, text); err != nil {
				return refuse("create", t, entry, sai.StatusInvalidParameter, "%v", err)
			}
			c.extensions[name]++
			o.self = x
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			text, _ := a.Value.(sai.Bytes)
			if err := o.self.(extension).apply(c, text); err != nil {
				return badValue(a, sai.StatusInvalidParameter, "%v", err)
			}
			return nil
		},
		remove: func(o *object) error {
			o.self.(extension).leave(c)
			c.extensions[o.extensionName()]--
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != entry {
				return nil
			}
			return o.self.(extension).read(c)
		},
	}
}

func (o *object) extensionName() string {
	name, _ := o.attr(sai.GenericProgrammableAttrObjectName).(sai.Bytes)
	return string(name)
}

// An extensionAttr is one attribute of ENTRY.
type extensionAttr struct {
	Meta  map[string]any `json:"sai_metadata,omitempty"`
	Value any            `json:"value"`
}

// readExtension takes the value of one attribute out of ENTRY, whole and with no
// field that into has not. It returns the attribute as it was given.
func readExtension(entry []byte, name string, into any) (map[string]json.RawMessage, error) {
	var all struct {
		Attributes []map[string]json.RawMessage `json:"attributes"`
	}
	if err := json.Unmarshal(entry, &all); err != nil {
		return nil, fmt.Errorf("entry: %w", err)
	}
	var given map[string]json.RawMessage
	for _, a := range all.Attributes {
		raw, ok := a[name]
		switch {
		case !ok:
			continue // what an earlier get added
		case given != nil:
			return nil, fmt.Errorf("%s is given twice, want it once", name)
		}
		var v struct {
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		d := json.NewDecoder(bytes.NewReader(v.Value))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
			var wrong *json.UnmarshalTypeError
			if errors.As(err, &wrong) && wrong.Field != "" {
				return nil, fmt.Errorf("%s: %s is a %s, want %s", name, wrong.Field, wrong.Value, wrong.Type)
			}
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		given = map[string]json.RawMessage{name: raw}
	}
	return given, nil
}

// writeExtension returns ENTRY with what was given and lists of numbers behind it.
func writeExtension(given map[string]json.RawMessage, names []string, lists [][]uint64) sai.Bytes {
	values := make([]extensionValue, len(names))
	for i, name := range names {
		values[i] = extensionValue{name, valueNumbers, lists[i]}
	}
	return writeValues(given, values...)
}

// An extensionValue is one attribute that a get adds to ENTRY.
type extensionValue struct {
	name, kind string
	value      any
}

// Kinds of values, by the names of SAI.
const (
	valueNumbers = "SAI_ATTR_VALUE_TYPE_UINT64_LIST"
	valueJSON    = "SAI_ATTR_VALUE_TYPE_JSON"
)

// writeValues returns ENTRY with what was given and what a get adds behind it.
func writeValues(given map[string]json.RawMessage, values ...extensionValue) sai.Bytes {
	attrs := []any{}
	if given != nil {
		attrs = append(attrs, given)
	}
	for _, v := range values {
		meta := map[string]any{"sai_attr_value_type": v.kind}
		attrs = append(attrs, map[string]extensionAttr{v.name: {Meta: meta, Value: v.value}})
	}
	text, err := json.Marshal(map[string]any{"attributes": attrs})
	if err != nil {
		return sai.Bytes{} // the values are strings and numbers, and what has only such
	}
	return text
}
