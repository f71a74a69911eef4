package objects

import (
	"tamtam/sai"
	"tamtam/saisim/objects/extension"
)

// extensionKind returns the kind of the objects for which SAI has no type.
func extensionKind(xs *extension.Area) *kind {
	const t, entry = sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry
	return &kind{
		max:   xs.Max(),
		attrs: []sai.AttrID{sai.GenericProgrammableAttrObjectName, entry},
		create: func(o *object) error {
			name := o.extensionName()
			x := xs.Object(name, o.id())
			if x == nil {
				return refuse("create", t, sai.GenericProgrammableAttrObjectName, sai.StatusNotSupported,
					"no extension %q, of %v the chip has those that it has room for", name, extension.Names())
			}
			if xs.Left(name) == 0 {
				return refuse("create", t, sai.GenericProgrammableAttrObjectName,
					sai.StatusInsufficientResources, "no room for one more %s", name)
			}
			text, _ := o.attr(entry).(sai.Bytes)
			if err := x.Apply(text); err != nil {
				return refuse("create", t, entry, sai.StatusInvalidParameter, "%v", err)
			}
			xs.Used[name]++
			o.self = x
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			text, _ := a.Value.(sai.Bytes)
			if err := o.self.(extension.Object).Apply(text); err != nil {
				return badValue(a.ID, sai.StatusInvalidParameter, "%v", err)
			}
			return nil
		},
		gone: func(o *object) {
			o.self.(extension.Object).Leave()
			xs.Used[o.extensionName()]--
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			entry: func(o *object) sai.Value { return o.self.(extension.Object).Read() },
		},
	}
}

func (o *object) extensionName() string {
	name, _ := o.attr(sai.GenericProgrammableAttrObjectName).(sai.Bytes)
	return string(name)
}
