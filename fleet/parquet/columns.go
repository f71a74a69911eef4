package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// A later is a group of columns that were added after the first files were written: older files lack all of them.
// absent marks the values of a row as unknown, which differs from 0. A column that is added to rows.go is added here
// too.
type later[F any] struct {
	columns []string
	absent  func(*F)
}

// older is the reason in a row if its file lacks the column.
const older = "not known: the file is of a collector that did not keep it"

var (
	laterLosses = []later[lossRow]{{
		[]string{"mean_delay_ns", "mean_delay_sum_ns", "mean_delay_unknown"},
		func(r *lossRow) { r.NoMean = known(older, true) },
	}}
	laterSketches = []later[sketchRow]{{[]string{"start_ns"}, func(*sketchRow) {}}} // null means unknown
	laterSources  = []later[sourceRow]{
		{[]string{"events_left_out"}, func(r *sourceRow) { r.LeftOut = -1 }},
		{[]string{"told_ns"}, func(*sourceRow) {}}, // null means unknown
	}
)

// check compares the columns of a file with those of rows F. The library would read a missing column as 0, and silently
// convert one of another type. check returns the functions for the groups of columns that the file lacks. Additional
// columns are ignored.
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

// mostWrong is the maximum number of columns in an error.
const mostWrong = 3

func has(file *parquet.Schema, name string) bool {
	return slices.ContainsFunc(file.Columns(), func(path []string) bool { return path[0] == name })
}

// whyNot returns the reason why a column cannot be read, or "" if it can.
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

// typeOf describes the type of a column, with every difference that matters to a reader of rows.
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
