package yang

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestGenerated: the Go in tamyang is what ygot makes of the modules as they
// are.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds ygot's generator")
	}
	made := filepath.Join(t.TempDir(), "made.go")
	if out, err := exec.Command("./generate.sh", made).CombinedOutput(); err != nil {
		t.Fatalf("generate.sh: %v\n%s", err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("tamyang/zz_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	gotText, gotSchema := split(t, got)
	wantText, wantSchema := split(t, want)
	if gotText != wantText || gotSchema != wantSchema {
		t.Error("tamyang is not what the modules say: run go generate ./yang")
	}
}

// split parts a generated file into its Go text and the schema that it holds as
// compressed JSON. The generator writes some of the schema's arrays in an order
// of its own, another each time: they are sorted.
func split(t *testing.T, source []byte) (text, schema string) {
	t.Helper()
	before, rest, ok := strings.Cut(string(source), "ySchema = []byte{")
	if !ok {
		t.Fatal("the generated file holds no schema")
	}
	literal, after, _ := strings.Cut(rest, "}")
	var packed []byte
	for word := range strings.FieldsFuncSeq(literal, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		n, err := strconv.ParseUint(word, 0, 8)
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, byte(n))
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return before + after, sorted(v)
}

// sorted is v as JSON with its arrays in the order of their elements' texts.
func sorted(v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = sorted(e)
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(k)+":"+sorted(v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	text, _ := json.Marshal(v)
	return string(text)
}
