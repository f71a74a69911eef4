package plan_test

import (
	"fmt"

	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// A task that counts the packets of each flow uses three CMUs of one group. Another task for the same packets uses
// three CMUs of another group.
func ExamplePool_Add() {
	key, err := flymon.ParseKey("5-tuple")
	if err != nil {
		fmt.Println(err)
		return
	}
	attribute, err := flymon.ParseAttribute("frequency")
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := plan.New(geometry())
	for _, name := range []string{"first", "second"} {
		placed, err := pool.Add(name, flymon.Task{Key: key, Attribute: attribute, Algorithm: flymon.CMS, Memory: 6144})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, u := range placed.Layout.Units {
			fmt.Printf("%s: group %d, CMU %d, %d buckets\n", name, u.Group, u.CMU, u.Size)
		}
	}
	// Output:
	// first: group 3, CMU 0, 2048 buckets
	// first: group 3, CMU 1, 2048 buckets
	// first: group 3, CMU 2, 2048 buckets
	// second: group 5, CMU 0, 2048 buckets
	// second: group 5, CMU 1, 2048 buckets
	// second: group 5, CMU 2, 2048 buckets
}
