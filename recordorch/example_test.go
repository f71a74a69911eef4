package recordorch

import (
	"context"
	"fmt"
)

// A plan for the tables of a chip, by uniform probabilities, chooses the tables that a packet's record of 16 bits
// contains.
func Example() {
	plan, err := makePlan(context.Background(), graphOf(1, "e"), nil, 0, settings())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range plan.Recorded {
		fmt.Println(r.Table)
	}
	fmt.Printf("%.1f bits of entropy, by %s probabilities\n", plan.Entropy, plan.ProbabilitiesFrom)
	// Output:
	// b
	// d
	// e
	// 2.5 bits of entropy, by uniform probabilities
}
