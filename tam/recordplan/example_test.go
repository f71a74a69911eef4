package recordplan_test

import (
	"context"
	"fmt"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// A packet runs one of two tables, and then a third. One bit distinguishes all paths, and the record of a packet
// reveals its path.
func Example() {
	graph := &record.Graph{
		Pipeline: "ingress", Init: "ethertype",
		Nodes: []record.Node{
			{ID: "ethertype", Kind: record.Condition}, {ID: "ipv4", Kind: record.Table},
			{ID: "ipv6", Kind: record.Table}, {ID: "acl", Kind: record.Table},
		},
		Edges: []record.Edge{
			{From: "ethertype", To: "ipv4", Label: "0x0800"}, {From: "ethertype", To: "ipv6", Label: "0x86dd"},
			{From: "ipv4", To: "acl"}, {From: "ipv6", To: "acl"}, {From: "acl", To: record.Exit},
		},
	}
	model, err := recordplan.NewModel(graph, record.Probabilities{}) // all edges are equally likely
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := model.Plan(context.Background(), recordplan.Settings{
		Containers: record.Containers{8}, Algorithm: record.BranchAndBound,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range plan.Recorded {
		fmt.Printf("%s in bit %d: %g of %g bit of entropy, proven best %v\n",
			r.Table, *r.Ran, plan.Entropy, plan.Full, plan.Optimal)
	}

	decoder, err := recordplan.NewDecoder(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, bits := range []byte{1, 0} {
		answer, err := decoder.Decode([]byte{bits}, recordplan.Knowledge{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(bits, answer.Total, answer.Paths[0])
	}
	// Output:
	// ipv4 in bit 0: 1 of 1 bit of entropy, proven best true
	// 1 1 ipv4 > acl
	// 0 1 ipv6 > acl
}
