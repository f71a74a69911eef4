package flymon_test

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tamtam/tam/flymon"
)

// A key is a mask of a packet's fields: packets that are equal under it are one flow.
func ExampleKey() {
	key, err := flymon.ParseKey("src-ip/24,dst-port")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := netip.MustParseAddr("192.0.2.1")
	first := flymon.Make(netip.MustParseAddr("10.0.0.7"), server, 40000, 443, 6, 0)
	second := flymon.Make(netip.MustParseAddr("10.0.0.9"), server, 50000, 443, 6, 1000)
	fmt.Println(key.Format(first), first.And(key) == second.And(key))
	// Output:
	// 10.0.0.0,443 true
}

// The error for a task that no chip supports lists all problems.
func ExampleTask_Check() {
	task := flymon.Task{
		Attribute: flymon.Attribute{Kind: flymon.Packets},
		Algorithm: flymon.Bloom,
		Memory:    flymon.DefaultMemory,
		Epoch:     2 * time.Hour,
	}
	fmt.Println(strings.ReplaceAll(task.Check().Error(), ", want", "\nwant"))
	// Output:
	// key is none
	// want the fields that identify a flow: frequency is measured for each flow
	// algorithm bloom does not measure frequency with the key none
	// want auto or one of [cms sumax-sum mrac tower counter-braids]
	// epoch is 2h0m0s
	// want 0 or 1ms to 1h0m0s
}
