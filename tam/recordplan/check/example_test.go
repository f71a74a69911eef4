package check_test

import (
	"fmt"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
)

// This plan records what every packet does, and puts a table into a stage that does not exist.
func ExamplePlan() {
	bit := 0
	err := check.Plan(&record.Plan{
		PHV: "8", Mode: record.ModeExecution, Stages: 1,
		Recorded:  []record.Recorded{{Table: "acl", Bits: 1, Ran: &bit}},
		Placement: map[string]int{"acl": 0, "route": 1},
		Graph: &record.Graph{
			Init:  "acl",
			Nodes: []record.Node{{ID: "acl", Kind: record.Table}, {ID: "route", Kind: record.Table}},
			Edges: []record.Edge{{From: "acl", To: "route"}, {From: "route", To: record.Exit}},
		},
	})
	fmt.Println(err)
	// Output:
	// table "acl" records that it ran, which every packet does
	// C1: table "route" is in stage 1, want 0 to 0
}
