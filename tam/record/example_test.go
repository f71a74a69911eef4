package record_test

import (
	"fmt"

	"tamtam/tam/record"
)

// A switch appends a record to a mirrored frame, and a reader of the capture decodes it.
func ExampleDecode() {
	containers, err := record.ParseContainers("8+16")
	if err != nil {
		fmt.Println(err)
		return
	}
	bits := make([]byte, containers.Bytes())
	containers.Put(bits, 1<<3|1<<9) // bit 3 of the first container, bit 1 of the second
	sent := record.Record{Bits: bits, Switch: 7, Plan: 0xcafe, InPort: 4, OutPort: record.NoPort, Length: 64}

	r, frame, err := record.Decode(sent.Append([]byte("frame")))
	fmt.Printf("%s: switch %d, plan %x, %v\n", frame, r.Switch, r.Plan, err)
	for i := range containers.Bits() {
		if containers.Bit(r.Bits, i) {
			fmt.Println("bit", i)
		}
	}
	// Output:
	// frame: switch 7, plan cafe, <nil>
	// bit 3
	// bit 9
}

// Two tables may share a bit of the record if no packet runs both.
func ExampleReach_Exclusive() {
	reach, err := record.NewReach(&record.Graph{
		Init: "ethertype",
		Nodes: []record.Node{
			{ID: "ethertype", Kind: record.Condition}, {ID: "ipv4", Kind: record.Table},
			{ID: "ipv6", Kind: record.Table}, {ID: "acl", Kind: record.Table},
		},
		Edges: []record.Edge{
			{From: "ethertype", To: "ipv4", Label: "0x0800"}, {From: "ethertype", To: "ipv6", Label: "0x86dd"},
			{From: "ipv4", To: "acl"}, {From: "ipv6", To: "acl"}, {From: "acl", To: record.Exit},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ipv4, _ := reach.Index("ipv4")
	ipv6, _ := reach.Index("ipv6")
	acl, _ := reach.Index("acl")
	fmt.Println(reach.Exclusive(ipv4, ipv6), reach.Exclusive(ipv4, acl))
	// Output:
	// true false
}
