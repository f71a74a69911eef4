package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tamtam/sai"
)

// readExtension decodes the value of one attribute of ENTRY. Unknown fields are errors. It returns the attribute as it
// was set.
func readExtension(entry []byte, name string, into any) (map[string]json.RawMessage, error) {
	var all sai.Extension[json.RawMessage]
	if err := json.Unmarshal(entry, &all); err != nil {
		return nil, fmt.Errorf("entry: %w", err)
	}
	var given map[string]json.RawMessage
	for _, a := range all.Attributes {
		raw, ok := a[name]
		switch {
		case !ok:
			continue // added by an earlier get
		case given != nil:
			return nil, fmt.Errorf("%s is given twice, want it once", name)
		}
		var v sai.ExtensionValue
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

// writeExtension returns ENTRY as it was set, followed by lists of numbers.
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

// Kinds of values.
const (
	valueNumbers = sai.ExtensionNumbers
	valueJSON    = sai.ExtensionJSON
)

// writeValues returns ENTRY as it was set, followed by the values that a get adds.
func writeValues(given map[string]json.RawMessage, values ...extensionValue) sai.Bytes {
	var all sai.Extension[any]
	for name, text := range given {
		all.Attributes = append(all.Attributes, map[string]any{name: text})
	}
	for _, v := range values {
		attr := sai.ExtensionAttr{Meta: sai.ExtensionMeta{Type: v.kind}, Value: v.value}
		all.Attributes = append(all.Attributes, map[string]any{v.name: attr})
	}
	text, err := json.Marshal(all)
	if err != nil {
		return sai.Bytes{} // the values consist of strings and numbers only
	}
	return text
}
