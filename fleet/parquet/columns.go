package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Columns that came after the first files were written: those of before lack all of them, and absent says in a row that
// none is known, which is not that it is 0. A column that is added to rows.go is added here too.
type later[F any] struct {
	columns []string
	absent  func(*F)
}

// older is what rows say of what their file has no column for.
const older = "not known: the file is of a collector that did not keep it"

var (
	laterLosses = []later[lossRow]{{
		[]string{"mean_delay_ns", "mean_delay_sum_ns", "mean_delay_unknown"},
		func(r *lossRow) { r.NoMean = known(older, true) },
	}}
	laterSources = []later[sourceRow]{
		{[]string{"events_left_out"}, func(r *sourceRow) { r.LeftOut = -1 }},
		{[]string{"told_ns"}, func(*sourceRow) {}}, // null, which is not known
	}
)

// check holds the columns of a file to those of rows F: the library reads a column that is missing as 0, and one of
// another type as whatever it makes of it. It returns what rows of the file have no column for. What a file has besides
// is somebody else's.
func check[F any](file *parquet.Schema, came []later[F]) (absent []func(*F), err error) {
	want := parquet.SchemaOf(new(F))
	older := map[string]bool{}
	for _, l := range came {
		if !slices.ContainsFunc(l.columns, func(name string) bool { return has(file, name) }) {
			absent = append(absent, l.absent)
			for _, name := range l.columns {
				older[name] = true
			}
		}
	}
	var wrong []string
	for _, path := range want.Columns() {
		if why := whyNot(file, want, path); why != "" && !older[path[0]] {
			wrong = append(wrong, why)
		}
	}
	if more := len(wrong) - mostWrong; more > 0 {
		wrong = append(wrong[:mostWrong], fmt.Sprintf("and so are %d more columns", more))
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return absent, nil
}

// mostWrong is how many columns of a file are named.
const mostWrong = 3

func has(file *parquet.Schema, name string) bool {
	return slices.ContainsFunc(file.Columns(), func(path []string) bool { return path[0] == name })
}

// whyNot says why a column cannot be read; "": it can be.
func whyNot(file, ours *parquet.Schema, path []string) string {
	leaf, _ := ours.Lookup(path...)
	want, name := typeOf(leaf), strings.Join(path, ".")
	if leaf, ok := file.Lookup(path...); !ok {
		return fmt.Sprintf("column %s is missing: want %s", name, want)
	} else if got := typeOf(leaf); got != want {
		return fmt.Sprintf("column %s is %s: want %s", name, got, want)
	}
	return ""
}

// typeOf is the type of a column in words, with all in which two can differ for who reads rows.
func typeOf(c parquet.LeafColumn) string {
	t := c.Node.Type()
	text := t.Kind().String()
	if l := t.LogicalType(); l != nil {
		text += " (" + l.String() + ")"
	}
	if c.MaxDefinitionLevel > c.MaxRepetitionLevel {
		text += ", may be null"
	}
	if c.MaxRepetitionLevel > 0 {
		text += fmt.Sprintf(", lists %d deep", c.MaxRepetitionLevel)
	}
	return text
}
