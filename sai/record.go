package sai

import (
	"slices"
	"strings"
)

// Created records that an object was created.
func (v *Validator) Created(k Key, attrs []Attr) {
	k = normal(k)
	v.Found(k)
	r := v.objects[k]
	for _, a := range attrs {
		v.setRefs(r, a)
	}
	if k.Entry != nil {
		v.entryRefs(k.Entry, 1)
		r.holds = true
		return
	}
	if key, ok := v.keyOf(ObjectMeta(k.Type), attrs); ok {
		r.key = key
		v.unique[key] = struct{}{}
	}
}

// Found records an object that no call created, such as the switch's own ports.
func (v *Validator) Found(k Key) {
	k = normal(k)
	if _, ok := v.objects[k]; !ok {
		v.objects[k] = &record{}
		if k.Entry == nil {
			v.types[k.OID] = k.Type
			if k.Type == ObjectTypeSwitch {
				v.sw = k.OID
			}
		}
	}
}

// Changed records that an attribute was set.
func (v *Validator) Changed(k Key, a Attr) {
	if r := v.objects[normal(k)]; r != nil {
		v.setRefs(r, a)
	}
}

// Removed records that an object was removed. With the switch, all objects are.
func (v *Validator) Removed(k Key) {
	k = normal(k)
	r := v.objects[k]
	if r == nil {
		return
	}
	if k.Entry == nil && k.Type == ObjectTypeSwitch {
		*v = *NewValidator()
		return
	}
	for _, x := range r.refs {
		v.ref(x.to, -1)
	}
	switch {
	case r.holds:
		v.entryRefs(k.Entry, -1)
	case k.Entry == nil:
		delete(v.types, k.OID)
	}
	if r.key != "" {
		delete(v.unique, r.key)
	}
	delete(v.objects, k)
}

// setRefs replaces the references in an attribute of the object.
func (v *Validator) setRefs(r *record, a Attr) {
	r.refs = slices.DeleteFunc(r.refs, func(x reference) bool {
		if x.attr == a.ID {
			v.ref(x.to, -1)
		}
		return x.attr == a.ID
	})
	References(a.Value, func(o OID) {
		if o != NullOID {
			r.refs = append(r.refs, reference{a.ID, o})
			v.ref(o, 1)
		}
	})
}

func (v *Validator) ref(o OID, n int) {
	if v.refs[o] += n; v.refs[o] == 0 {
		delete(v.refs, o)
	}
}

func (v *Validator) entryRefs(e Entry, n int) {
	switch e := e.(type) {
	case FDBEntry:
		v.ref(e.BV, n)
	case NeighborEntry:
		v.ref(e.RIF, n)
	case RouteEntry:
		v.ref(e.VR, n)
	}
}

// keyOf returns the text of the key attributes, or false if the type has none.
func (v *Validator) keyOf(tm *TypeMeta, attrs []Attr) (string, bool) {
	if tm == nil {
		return "", false
	}
	var s []string
	for _, m := range v.rulesOf(tm).keys {
		if value, ok := Find(attrs, m.ID); ok {
			if text, err := m.append(nil, value); err == nil {
				s = append(s, m.Name+"="+string(text))
			}
		}
	}
	return strings.Join(s, ","), len(s) > 0
}
