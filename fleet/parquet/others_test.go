package parquet

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
)

// Other libraries read the same rows from our files: TAMTAM_ARROWREAD and TAMTAM_DUCKREAD name the programs (make
// parquet-test).
func TestOthersReadRandomBatches(t *testing.T) {
	arrow, duck := os.Getenv("TAMTAM_ARROWREAD"), os.Getenv("TAMTAM_DUCKREAD")
	if arrow == "" && duck == "" {
		t.Skip("TAMTAM_ARROWREAD, TAMTAM_DUCKREAD do not name the programs of internal/tools/...: make parquet-test")
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		b := randomBatch(rand.New(rand.NewPCG(seed, 0)))
		dir := t.TempDir()
		put(t, open(t, Options{Dir: dir}), b, true)
		if arrow != "" {
			readRows(t, b, func(kind string) *exec.Cmd { return exec.Command(arrow, filesOf(t, dir, kind)...) })
		}
		if duck != "" {
			readRows(t, b, func(kind string) *exec.Cmd {
				return exec.Command(duck, fmt.Sprintf("SELECT * FROM '%s/*.parquet'", filepath.Join(dir, kind)))
			})
		}
	})
}

// filesOf returns all files of a kind, including the one without rows.
func filesOf(t *testing.T, dir, kind string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, kind, "*.parquet"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", kind, len(names), err)
	}
	return names
}

// readRows compares the output of a program for the batch's files with the original rows.
func readRows(t *testing.T, b *result.Batch, program func(kind string) *exec.Cmd) {
	sameRows(t, program("hops"), b.Hops, fromHop)
	sameRows(t, program("drops"), b.Drops, fromDrop)
	sameRows(t, program("losses"), b.Losses, fromLoss)
	sameRows(t, program("journeys"), b.Journeys, fromJourney)
	sameRows(t, program("sketches"), b.Sketches, fromSketch)
	sameRows(t, program("sources"), b.Sources, fromSource)
	sameRows(t, program("amends"), b.Amends, fromAmend)
}

// sameRows compares the output of a program for a file with the original rows, column by column.
func sameRows[T, F any](t *testing.T, program *exec.Cmd, rows []T, file func(*T) F) {
	t.Helper()
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	lines := strings.Split(string(out), "\n")
	lines = lines[:len(lines)-1]
	if len(lines) != len(rows) {
		t.Fatalf("%s: %d rows, want %d", program, len(lines), len(rows))
	}
	for i := range rows {
		var got map[string]any
		decoder := json.NewDecoder(strings.NewReader(lines[i]))
		decoder.UseNumber()
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("%s: %v in %s", program, err, lines[i])
		}
		if want := columns(reflect.ValueOf(file(&rows[i]))); !reflect.DeepEqual(exact(got), exact(want)) {
			t.Fatalf("%s, row %d:\n got %v\nwant %v", program, i, got, want)
		}
	}
}

// exact converts the numbers in a JSON value to fractions, since programs write the same number as 1 or 1.0.
func exact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case json.Number:
		if n, ok := new(big.Rat).SetString(v.String()); ok {
			return n.RatString()
		}
	}
	return v
}

// columns returns a row as in JSON: columns by name, null for unknown values.
func columns(row reflect.Value) map[string]any {
	all := map[string]any{}
	for i := range row.NumField() {
		if row.Type().Field(i).Anonymous {
			maps.Copy(all, columns(row.Field(i)))
			continue
		}
		name, _, _ := strings.Cut(row.Type().Field(i).Tag.Get("parquet"), ",")
		all[name] = column(row.Field(i))
	}
	return all
}

func column(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return column(v.Elem())
	case reflect.Struct:
		return columns(v)
	case reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			list = append(list, column(v.Index(i)))
		}
		return list
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	}
	text, _ := json.Marshal(v.Interface())
	return json.Number(text)
}
