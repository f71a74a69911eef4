package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tamtam/cli/tree"
	"tamtam/internal/randtest"
)

// decodesAlike compares the decoded text with the result of encoding/json.
func decodesAlike(t *testing.T, text string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var want any
	wantErr := dec.Decode(&want)
	got, err := tree.DecodeJSON(text)
	if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("%q: %#v, %v\nwant %#v, %v", text, got, err, want, wantErr)
	}
}

// jsonSeeds contains valid and invalid texts of each kind.
var jsonSeeds = []string{
	`{"a:b":{"name":"x","n":1,"on":true},"list":[{"k":"1"},{"k":"2"}],"none":null}`, `[]`, `{}`, ` [ 1 , -2.5e+3 ] `, `""`,
	`"\"\u00e9\ud83d\ude00\\"`, `"é"`, "\"\xff\"", "\"\x01\"", `"\x"`, `{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`, `01`,
	`-`, `1e`, `1.`,
	`+1`, `.5`, `[1,]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":tru}`, `nul`, `1 2`, `[1] x`, ``, ` `, `"a`, `"\`, `{"a":1`,
	`[[[`,
	strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 20000), "\"a\\\"b\"", "\u2028", "\"\u2028\"",
	"\"\\ud800\"",
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add(s)
	}
	f.Fuzz(decodesAlike)
}

// TestDecodeJSON decodes random texts of JSON's elements, with the same results as encoding/json.
func TestDecodeJSON(t *testing.T) {
	parts := strings.Split(`{ } [ ] , : "a" "b:c" "\n" "\u0041" 0 12 -3 4.5e6 true false null " \ x`, " ")
	parts = append(parts, " ", "\n", "\x00", "\xff", "é")
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		for range 200 {
			var b strings.Builder
			if r.IntN(2) == 0 {
				b.WriteString(jsonSeeds[r.IntN(len(jsonSeeds))])
			}
			text := []byte(b.String())
			for range r.IntN(8) {
				at := r.IntN(len(text) + 1)
				text = append(text[:at:at], append([]byte(parts[r.IntN(len(parts))]), text[at:]...)...)
			}
			decodesAlike(t, string(text))
		}
	})
}
