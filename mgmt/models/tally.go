package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// How many entries of a list are in force follows from the rows of each. To count ten thousand of them for each who
// asks takes long, so they are counted once: from then on only entries whose rows were written are looked at again,
// when somebody asks.

// SourceTallies is the source of the tallies.
const SourceTallies = "tallies"

// talliesModule is the tallies of tamtam-status.
func talliesModule() tree.Module {
	state := func(name string) tree.Leaf { return leaf("state/"+name, readOnly(text(name))) }
	return tree.Module{Name: "tamtam-status", Groups: []tree.Group{{Path: "/tallies/tally", Rows: []tree.Row{{
		DB: swss.StateDB, Source: SourceTallies, Key: "{list}", Entry: true, Counter: true,
		Leaves: []tree.Leaf{state("entries"), state("pending"), state("failed"), state("unknown")},
	}}}}}
}
