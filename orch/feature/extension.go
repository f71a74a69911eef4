package feature

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
)

// maxEntry bounds the ENTRY that a chip returns, in bytes.
const maxEntry = 8 << 20

// entryOf returns an ENTRY with one attribute, as JSON for SAI.
func entryOf(attr string, value any) (sai.Bytes, error) {
	return json.Marshal(sai.Extension[sai.ExtensionAttr]{Attributes: []map[string]sai.ExtensionAttr{{
		attr: {Meta: sai.ExtensionMeta{Flags: sai.ExtensionCreateAndSet, Type: sai.ExtensionJSON}, Value: value},
	}}})
}

// create creates an object of an extension of SAI: GENERIC_PROGRAMMABLE, with a name and an ENTRY of JSON
// (docs/internals/extensions.md).
func create(ctx context.Context, api sai.API, name string, entry sai.Bytes) (sai.OID, error) {
	return api.Create(ctx, sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(name)},
		{ID: sai.GenericProgrammableAttrEntry, Value: entry},
	})
}

// set replaces the entry of an extension object.
func set(ctx context.Context, api sai.API, oid sai.OID, entry sai.Bytes) error {
	k := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	return api.Set(ctx, k, sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: entry})
}

// Remove removes an object. An object that does not exist counts as removed. That includes an object that syncd could
// not restore after a restart, because the chip no longer accepts it.
func Remove(ctx context.Context, api sai.API, k sai.Key) error {
	err := api.Remove(ctx, k)
	if err != nil && (orch.Classify(err) == orch.Benign || errors.Is(err, sai.StatusInvalidObjectID)) {
		return nil
	}
	return err
}

// An Object is an extension object that holds configuration: one attribute with a value. Before the first Put it is
// not in the ASIC.
type Object struct {
	Name, Attr string
	What       string // name of the object in errors; "" means Attr
	oid        sai.OID
	entry      sai.Bytes // content of ENTRY in the ASIC
}

// There reports whether the object is in the ASIC.
func (x *Object) There() bool { return x.oid != sai.NullOID }

// Put gives the object a value. It creates the object, or sets it if the value differs. On error nothing has changed.
func (x *Object) Put(ctx context.Context, api sai.API, value any) error {
	entry, err := entryOf(x.Attr, value)
	if err != nil {
		return err
	}
	return x.put(ctx, api, entry)
}

// Restore restores the value that the object had before.
func (x *Object) Restore(ctx context.Context, api sai.API, before Object) error {
	return x.put(ctx, api, before.entry)
}

func (x *Object) put(ctx context.Context, api sai.API, entry sai.Bytes) error {
	switch {
	case !x.There():
		oid, err := create(ctx, api, x.Name, entry)
		if err != nil {
			return fmt.Errorf("create the %s: %w", cmp.Or(x.What, x.Attr), err)
		}
		x.oid = oid
	case !bytes.Equal(x.entry, entry):
		if err := set(ctx, api, x.oid, entry); err != nil {
			return fmt.Errorf("change the %s: %w", cmp.Or(x.What, x.Attr), err)
		}
	}
	x.entry = entry
	return nil
}

// Remove removes the object from the ASIC, if it is there.
func (x *Object) Remove(ctx context.Context, api sai.API) error {
	if !x.There() {
		return nil
	}
	if err := Remove(ctx, api, sai.Obj(sai.ObjectTypeGenericProgrammable, x.oid)); err != nil {
		return fmt.Errorf("remove the %s: %w", cmp.Or(x.What, x.Attr), err)
	}
	x.oid, x.entry = sai.NullOID, nil
	return nil
}

// Values holds the values of an ENTRY, by attribute.
type Values map[string]json.RawMessage

// ParseEntry splits an ENTRY into its values.
func ParseEntry(text []byte) (Values, error) {
	if len(text) > maxEntry {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxEntry)
	}
	var entry sai.Extension[sai.ExtensionValue]
	if err := json.Unmarshal(text, &entry); err != nil {
		return nil, fmt.Errorf("no entry: %w", err)
	}
	values := Values{}
	for _, a := range entry.Attributes {
		for name, v := range a {
			values[name] = v.Value
		}
	}
	return values, nil
}

// Value extracts one value from a register read.
func Value[T any](values Values, name string) (v T, err error) {
	raw, ok := values[name]
	if !ok {
		return v, fmt.Errorf("the window has no %s", name)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s of the window: %w", name, err)
	}
	return v, nil
}

// Room returns the number of objects of an extension that the ASIC has capacity for. It is 0 if the ASIC lacks the
// extension.
func Room(ctx context.Context, api sai.API, name string) (uint64, error) {
	n, err := api.Availability(ctx, sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(name)},
	})
	switch {
	case errors.Is(err, swss.ErrUnavailable):
		return 0, err
	case err != nil:
		return 0, nil
	}
	return n, nil
}
