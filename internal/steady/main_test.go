package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
)

// The lists go wherever nodes are, a node of that name stays, and what is done twice is done once.
func TestSteady(t *testing.T) {
	const before, after = "var (\n\t" + literal, "}\n)\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(map[string]any{
		"Augmented": []any{2, 1}, "Kind": json.Number("18446744073709551615"),
		"Dir": map[string]any{"Augmented": map[string]any{"Name": "Augmented", "Augmented": []any{}}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	once, err := steady(before + written(packed.Bytes()) + after)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := unpack(once[len(before) : len(once)-len(after)])
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(schema)
	if want := `{"Dir":{"Augmented":{"Name":"Augmented"}},"Kind":18446744073709551615}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if twice, err := steady(once); err != nil || twice != once {
		t.Errorf("done twice it is something else: %v", err)
	}
	for _, bad := range []string{"", literal, literal + "}", literal + "0x100,}", literal + "0x1f, 0x8b,}"} {
		if _, err := steady(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
