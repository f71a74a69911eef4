package feature_test

import (
	"fmt"

	"tamtam/orch/feature"
)

// A register read is split into values by attribute.
func ExampleValue() {
	values, err := feature.ParseEntry(
		[]byte(`{"attributes":[{"labels":{"value":["web"]}},{"counters":{"value":[21,2100]}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	counters, err := feature.Value[[]uint64](values, "counters")
	fmt.Println(counters, err)
	_, err = feature.Value[[]uint64](values, "time")
	fmt.Println(err)
	// Output:
	// [21 2100] <nil>
	// the window has no time
}
