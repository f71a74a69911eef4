package cmu_test

import (
	"fmt"
	"net/netip"
	"slices"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// A task of one unit adds 1 in the bucket of each packet's source.
func ExampleGroups() {
	groups, err := cmu.New(flymon.Geometry{
		Groups: 1, Units: 3, CMUs: 3, Width: 32, Depth: 1024, Partitions: 32, MapEntries: 64,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	source, err := flymon.ParseKey("src-ip")
	if err != nil {
		fmt.Println(err)
		return
	}
	one, any := flymon.Param{From: flymon.Const, Value: 1}, flymon.Param{From: flymon.Const, Value: 1<<32 - 1}
	err = groups.Apply(flymon.Layout{
		Task: "talkers", Flow: source, Measures: "frequency", Masks: []flymon.MaskRule{{Key: source}},
		Units: []flymon.Unit{{Size: 64, Op: flymon.CondAdd, P1: one, P2: any}}, // adds 1 while the bucket is below P2
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := netip.MustParseAddr("10.0.0.1")
	for i, from := range []string{"10.0.0.7", "10.0.0.7", "10.0.0.9", "10.0.0.7"} {
		v := flymon.Make(netip.MustParseAddr(from), server, 40000, 443, 6, 0)
		groups.Run(&cmu.Packet{Vector: v, Ports: true, Size: 64, Number: uint64(i + 1)})
	}
	words, err := groups.Read("talkers", 0, 0, 0, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(slices.DeleteFunc(words, func(n uint32) bool { return n == 0 }))
	// Output:
	// [1 3]
}
