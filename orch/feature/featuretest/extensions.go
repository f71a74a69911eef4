package featuretest

import (
	"context"
	"encoding/json"

	"tamtam/orch/feature"
	"tamtam/sai"
)

// Extensions is an ASIC with extensions of SAI. It passes other calls to an ASIC that only stores objects. The chip of
// a test defines the meaning of the extensions. M is the chip's data for an object.
type Extensions[M any] struct {
	sai.API
	Room    map[string]uint64 // capacity in objects, by extension; nil means the capacity of API
	Objects map[sai.OID]*Extension[M]
	Reads   int

	// Accept checks the entry of an object that is created or set. nil accepts all. A refused entry changes nothing.
	Accept func(x *Extension[M], entry feature.Values) error
	// Removed is called after an object was removed. It may be nil.
	Removed func(x *Extension[M])
	// Read returns the ENTRY of an object that is read.
	Read func(x *Extension[M]) (sai.Bytes, error)
}

// An Extension is an object of an extension.
type Extension[M any] struct {
	Name  string
	Entry feature.Values // the entry as last set
	State M
}

// Entry returns an ENTRY with these values.
func Entry(values map[string]any) (sai.Bytes, error) {
	var all sai.Extension[any]
	for name, v := range values {
		all.Attributes = append(all.Attributes, map[string]any{name: sai.ExtensionAttr{Value: v}})
	}
	return json.Marshal(all)
}

func refuse(err error) error {
	return &sai.CallError{
		Op: "set", Type: sai.ObjectTypeGenericProgrammable, Status: sai.StatusInvalidParameter, Reason: err.Error(),
	}
}

// Availability implements [sai.API].
func (e *Extensions[M]) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
	if ok && e.Room != nil {
		return e.Room[string(name.(sai.Bytes))], nil
	}
	return e.API.Availability(ctx, t, attrs)
}

// Create implements [sai.API].
func (e *Extensions[M]) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
	if !ok {
		return e.API.Create(ctx, t, attrs)
	}
	entry, _ := sai.Find(attrs, sai.GenericProgrammableAttrEntry)
	x := &Extension[M]{Name: string(name.(sai.Bytes))}
	if err := e.accept(x, entry); err != nil {
		return 0, err
	}
	oid, err := e.API.Create(ctx, t, attrs)
	if err == nil {
		e.Objects[oid] = x
	}
	return oid, err
}

func (e *Extensions[M]) accept(x *Extension[M], v sai.Value) error {
	entry, err := feature.ParseEntry(v.(sai.Bytes))
	if err == nil && e.Accept != nil {
		err = e.Accept(x, entry)
	}
	if err != nil {
		return refuse(err)
	}
	x.Entry = entry
	return nil
}

// Set implements [sai.API].
func (e *Extensions[M]) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if x := e.object(k); x != nil {
		if err := e.accept(x, a.Value); err != nil {
			return err
		}
	}
	return e.API.Set(ctx, k, a)
}

// Remove implements [sai.API].
func (e *Extensions[M]) Remove(ctx context.Context, k sai.Key) error {
	err := e.API.Remove(ctx, k)
	if x := e.object(k); x != nil && err == nil {
		delete(e.Objects, k.OID)
		if e.Removed != nil {
			e.Removed(x)
		}
	}
	return err
}

// Get implements [sai.API].
func (e *Extensions[M]) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	x := e.object(k)
	if x == nil {
		return e.API.Get(ctx, k, want)
	}
	e.Reads++
	text, err := e.Read(x)
	if err != nil {
		return nil, refuse(err)
	}
	got := []sai.Attr{{ID: sai.GenericProgrammableAttrEntry, Value: text}}
	if room, _ := sai.ListLen(want[0].Value); room < len(text) {
		return got, sai.StatusBufferOverflow
	}
	return got, nil
}

// object returns the object of a key, or nil if it is not an extension object.
func (e *Extensions[M]) object(k sai.Key) *Extension[M] {
	if k.Type != sai.ObjectTypeGenericProgrammable {
		return nil
	}
	return e.Objects[k.OID]
}
