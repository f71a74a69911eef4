package tam

import (
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

//go:generate sh -c "go run ../../internal/tables cli > zz_generated.go"

// A field is what the switch's schema says of a field of one of its tables.
type field struct {
	leaf   string   // of a counter the path below the container of all
	label  string   // of a counter: what tables call it; "": they do not show it
	def    string   // what applies if it is not given
	number bool     // it is one of lo..hi
	lo, hi uint64   // of a number
	words  []string // it is one of these; none: of another kind
}

// noDefault is the default of a leaf that the running configuration always shows, though the switch has one.
const noDefault = "-"

// declaredIn completes leaves by what the schema says of the fields of a table: the range of a number, and the default.
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

// A counter is a counter of an entry: the leaf, and what tables call it.
type counter struct{ leaf, label string }

// countersIn are the counters of a table with their leaves in a container; "": in that of all counters.
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

// writeCounters writes all counters of an entry. What is not known is shown so, or left out where it is not counted.
func writeCounters(p *kit.Printout, table string, counters tree.Node, missing bool) {
	for _, c := range countersIn(table, "") {
		if missing || counters.Text(c.leaf) != "" {
			p.Field(flowWidth, c.label, kit.Counted(counters, c.leaf))
		}
	}
	p.Optional(flowWidth, "Counted Since", counters.Text("counted-since"))
}
