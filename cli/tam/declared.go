package tam

import (
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

//go:generate sh -c "go run ../../internal/tables cli > zz_generated.go"

// A field is the declaration of a field in the switch's schema.
type field struct {
	leaf   string   // name of the leaf; for a counter, its path below the container of all counters
	label  string   // name of a counter in output; empty if output does not show it
	def    string   // value that applies if the field is absent
	number bool     // true if the value is a number from lo to hi
	lo, hi uint64   // range of a number
	words  []string // the valid words; empty if the value is not one of a fixed set of words
}

// noDefault marks a leaf that the running configuration always shows, although the switch has a default for it.
const noDefault = "-"

// declaredIn sets the ranges and defaults of leaves to the values that the schema declares for a table.
func declaredIn(table string, leaves []kit.Leaf) []kit.Leaf {
	for i := range leaves {
		l := &leaves[i]
		f, ok := fieldOf(table, l.TreeName())
		if ok && f.number && l.Kind == nil {
			l.Kind = kit.Number(f.lo, f.hi)
		}
		switch {
		case l.Default == noDefault:
			l.Default = ""
		case l.Default == "" && ok && !l.Need && l.Fill == "":
			l.Default = f.def
		}
	}
	return leaves
}

// fieldOf returns the field with a leaf.
func fieldOf(table, leaf string) (f field, ok bool) {
	i := slices.IndexFunc(declared[table], func(f field) bool { return f.leaf == leaf })
	if i < 0 {
		return f, false
	}
	return declared[table][i], true
}

// A counter is a counter of an entry: its leaf, and its name in output.
type counter struct{ leaf, label string }

// countersIn returns the counters of a table whose leaves are in the named container. The empty name stands for the
// container of all counters.
func countersIn(table, container string) (list []counter) {
	for _, f := range declared[table] {
		at, name := "", f.leaf
		if i := strings.LastIndex(f.leaf, "/"); i >= 0 {
			at, name = f.leaf[:i], f.leaf[i+1:]
		}
		if at == container && name != "counted-since" {
			list = append(list, counter{name, f.label})
		}
	}
	return list
}

// writeCounters writes all counters of an entry. A counter without a value is shown as unknown if missing is set,
// and is omitted otherwise.
func writeCounters(p *kit.Printout, table string, counters tree.Node, missing bool) {
	for _, c := range countersIn(table, "") {
		if missing || counters.Text(c.leaf) != "" {
			p.Field(flowWidth, c.label, kit.Counted(counters, c.leaf))
		}
	}
	p.Optional(flowWidth, "Counted Since", counters.Text("counted-since"))
}
