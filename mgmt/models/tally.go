package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// SourceTallies is the source of the tallies. A tally holds the number of entries of a list, and how many of them are
// not in force.
const SourceTallies = "tallies"

// talliesModule returns the mapping of the tallies of tamtam-status.
func talliesModule() tree.Module {
	state := func(name string) tree.Leaf { return leaf("state/"+name, readOnly(text(name))) }
	return tree.Module{Name: "tamtam-status", Groups: []tree.Group{{Path: "/tallies/tally", Rows: []tree.Row{{
		DB: swss.StateDB, Source: SourceTallies, Key: "{list}", Entry: true, Counter: true,
		Leaves: []tree.Leaf{state("entries"), state("pending"), state("failed"), state("unknown")},
	}}}}}
}
