package sketching_test

import (
	"context"
	"fmt"

	"tamtam/lab"
	"tamtam/lab/study/sketching"
)

// Example computes the share of a stage that address translation uses, by the number of partitions of a CMU.
func Example() {
	t, err := lab.Parse("example.yaml", []byte(`
experiment: translation
flymon:
  study: translation
  geometry: {width: 16}
checks:
- {name: entries of 32 partitions, measured: flymon.tcam.32.entries.max, want: 1024}
- {name: percent of a stage, measured: flymon.tcam.32.percent.max, max: 12.5}
`), nil, new(sketching.Study))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := lab.Run(context.Background(), t, lab.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Checks {
		fmt.Println(c.Name+":", c.Measured, *c.Pass)
	}
	// Output:
	// entries of 32 partitions: 1024 true
	// percent of a stage: 8.333333 true
}
