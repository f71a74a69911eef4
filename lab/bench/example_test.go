package bench_test

import (
	"fmt"
	"time"

	"tamtam/lab/bench"
)

// ExampleDeployment_Quantile shows the time until tasks count: the median, and the slowest.
func ExampleDeployment_Quantile() {
	d := bench.Deployment{Algorithm: "cms", Times: []time.Duration{
		3 * time.Millisecond, 4 * time.Millisecond, 5 * time.Millisecond, 9 * time.Millisecond,
	}}
	fmt.Println(d.Quantile(0.5), d.Quantile(0.99))
	// Output: 5ms 9ms
}
