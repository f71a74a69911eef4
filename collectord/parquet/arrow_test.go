package parquet

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// Another library reads the same rows from our files: TAMTAM_ARROWREAD names the program (make parquet-test).
func TestArrowReadsRandomBatches(t *testing.T) {
	program := os.Getenv("TAMTAM_ARROWREAD")
	if program == "" {
		t.Skip("TAMTAM_ARROWREAD does not name the program of tools/arrowread: make parquet-test")
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		b := randomBatch(rand.New(rand.NewPCG(seed, 0)))
		dir := t.TempDir()
		put(t, open(t, Options{Dir: dir}), b, true)
		path := func(kind string) string { return filepath.Join(dir, kind, nameOf(b)) }
		sameRows(t, program, path("hops"), b.Hops, fromHop)
		sameRows(t, program, path("drops"), b.Drops, fromDrop)
		sameRows(t, program, path("losses"), b.Losses, fromLoss)
		sameRows(t, program, path("journeys"), b.Journeys, fromJourney)
		sameRows(t, program, path("sketches"), b.Sketches, fromSketch)
		sameRows(t, program, path("sources"), b.Sources, fromSource)
		sameRows(t, program, path("amends"), b.Amends, fromAmend)
	})
}

// sameRows holds what the program prints of a file to the rows that went in, column by column.
func sameRows[T, F any](t *testing.T, program, path string, rows []T, file func(*T) F) {
	t.Helper()
	if len(rows) == 0 {
		return // no file is written
	}
	out, err := exec.Command(program, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%s: %d rows, want %d", path, len(lines), len(rows))
	}
	for i := range rows {
		var got map[string]any
		decoder := json.NewDecoder(strings.NewReader(lines[i]))
		decoder.UseNumber()
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("%s: %v in %s", path, err, lines[i])
		}
		if want := columns(reflect.ValueOf(file(&rows[i]))); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s, row %d:\n got %v\nwant %v", path, i, got, want)
		}
	}
}

// columns is a row as JSON has it: columns by their names, null for what is not known.
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
