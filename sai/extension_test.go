package sai_test

import (
	"encoding/json"
	"testing"

	"tamtam/sai"
)

// The written text is that of docs/internals/extensions.md. The read text may come from any writer, with more or less
// about an attribute than its value.
func TestExtension(t *testing.T) {
	text, err := json.Marshal(sai.Extension[sai.ExtensionAttr]{Attributes: []map[string]sai.ExtensionAttr{
		{"labels": {Meta: sai.ExtensionMeta{Flags: sai.ExtensionCreateAndSet, Type: sai.ExtensionJSON},
			Value: []string{"a"}}},
		{"counters": {Meta: sai.ExtensionMeta{Type: sai.ExtensionNumbers}, Value: []uint64{1, 2}}},
	}})
	want := `{"attributes":[` +
		`{"labels":{"sai_metadata":{"sai_attr_flags":"SAI_ATTR_FLAGS_CREATE_AND_SET",` +
		`"sai_attr_value_type":"SAI_ATTR_VALUE_TYPE_JSON"},"value":["a"]}},` +
		`{"counters":{"sai_metadata":{"sai_attr_value_type":"SAI_ATTR_VALUE_TYPE_UINT64_LIST"},"value":[1,2]}}]}`
	if err != nil || string(text) != want {
		t.Errorf("%v\n got %s\nwant %s", err, text, want)
	}
	for _, text := range []string{want,
		`{"attributes":[{"labels":{"value":["a"],"more":1}},{"counters":{"value":[1,2]}}]}`} {
		var x sai.Extension[sai.ExtensionValue]
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		if len(x.Attributes) != 2 || string(x.Attributes[0]["labels"].Value) != `["a"]` ||
			string(x.Attributes[1]["counters"].Value) != `[1,2]` {
			t.Errorf("%s is read as %v", text, x)
		}
	}
}
