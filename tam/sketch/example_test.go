package sketch_test

import (
	"fmt"

	"tamtam/tam/sketch"
)

// The size of a flow follows from its counters in three rows: the least is never too low. Its possible excess follows
// from the total count of all flows.
func ExampleCountMin() {
	size, known := sketch.CountMin([]sketch.Counter{{Value: 130}, {Value: 104}, {Value: 255, Full: true}})
	excess, confidence := sketch.CountMinExcess(65536, 16384, 3)
	fmt.Println(size, known)
	fmt.Printf("at most %.0f too many, with a probability of %.1f %%\n", excess, 100*confidence)
	// Output:
	// 104 true
	// at most 8 too many, with a probability of 87.5 %
}

// The number of distinct elements follows from the number of empty buckets.
func ExampleLinearCounting() {
	const buckets, empty = 1024, 512
	n := sketch.LinearCounting(empty, buckets)
	fmt.Printf("%.0f, standard error %.1f %%\n", n, 100*sketch.LinearCountingError(n, buckets))
	// Output:
	// 710, standard error 2.5 %
}
