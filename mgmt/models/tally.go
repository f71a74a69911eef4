package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// SourceTallies is the source of the tallies: how many entries of a list there are, and are in force.
const SourceTallies = "tallies"

// talliesModule is the tallies of tamtam-status.
func talliesModule() tree.Module {
	state := func(name string) tree.Leaf { return leaf("state/"+name, readOnly(text(name))) }
	return tree.Module{Name: "tamtam-status", Groups: []tree.Group{{Path: "/tallies/tally", Rows: []tree.Row{{
		DB: swss.StateDB, Source: SourceTallies, Key: "{list}", Entry: true, Counter: true,
		Leaves: []tree.Leaf{state("entries"), state("pending"), state("failed"), state("unknown")},
	}}}}}
}
