package orch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tamtam/sai"
	"tamtam/swss"
)

// maxEntry bounds the ENTRY that a chip returns, in bytes.
const maxEntry = 8 << 20

// An extensionAttr is one attribute of an ENTRY.
type extensionAttr struct {
	Meta  map[string]string `json:"sai_metadata"`
	Value any               `json:"value"`
}

// ExtensionEntry is an ENTRY with one attribute, JSON for SAI.
func ExtensionEntry(attr string, value any) (sai.Bytes, error) {
	return json.Marshal(map[string]any{"attributes": []any{map[string]extensionAttr{attr: {
		Meta: map[string]string{
			"sai_attr_value_type": "SAI_ATTR_VALUE_TYPE_JSON",
			"sai_attr_flags":      "SAI_ATTR_FLAGS_CREATE_AND_SET",
		},
		Value: value,
	}}}})
}

// CreateExtension makes an object of an extension of SAI: GENERIC_PROGRAMMABLE, with
// a name and an ENTRY of JSON (docs/extensions.md).
func CreateExtension(ctx context.Context, api sai.API, name string, entry sai.Bytes) (sai.OID, error) {
	return api.Create(ctx, sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(name)},
		{ID: sai.GenericProgrammableAttrEntry, Value: entry},
	})
}

// SetExtension gives an extension object another entry.
func SetExtension(ctx context.Context, api sai.API, oid sai.OID, entry sai.Bytes) error {
	k := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	return api.Set(ctx, k, sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: entry})
}

// ReadExtension returns the ENTRY of an object, which is about room bytes long.
func ReadExtension(ctx context.Context, api sai.API, oid sai.OID, room int) (sai.Bytes, error) {
	k := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	got, err := api.Get(ctx, k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, room)})
	for tries := 0; errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 && tries < 3; tries++ {
		n, ok := sai.ListLen(got[0].Value)
		if !ok || n > maxEntry {
			break
		}
		got, err = api.Get(ctx, k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, n+64)})
	}
	if err != nil {
		return nil, err
	}
	text, _ := got[0].Value.(sai.Bytes)
	return text, nil
}

// ParseExtension takes the values of an ENTRY apart, by attribute.
func ParseExtension(text []byte) (map[string]json.RawMessage, error) {
	if len(text) > maxEntry {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxEntry)
	}
	var entry struct {
		Attributes []map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		return nil, fmt.Errorf("no entry: %w", err)
	}
	values := map[string]json.RawMessage{}
	for _, a := range entry.Attributes {
		for name, v := range a {
			values[name] = v.Value
		}
	}
	return values, nil
}

// ExtensionValue takes one value out of what a window said.
func ExtensionValue[T any](values map[string]json.RawMessage, name string) (v T, err error) {
	raw, ok := values[name]
	if !ok {
		return v, fmt.Errorf("the window has no %s", name)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s of the window: %w", name, err)
	}
	return v, nil
}

// ExtensionRoom is how many objects of an extension the ASIC has room for; 0: it does
// not have the extension.
func ExtensionRoom(ctx context.Context, api sai.API, name string) (uint64, error) {
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
