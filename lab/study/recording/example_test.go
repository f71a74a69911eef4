package recording_test

import (
	"context"
	"fmt"

	"tamtam/lab"
	"tamtam/lab/study/recording"
)

// Example shows the cost of a recording that distinguishes every path of a program.
func Example() {
	t, err := lab.Parse("example.yaml", []byte(`
experiment: resources
tablerecord:
  study: resources
  programs: [ontas]
  stages: 12
checks:
- {name: stages before, measured: tablerecord.ontas.0.stages.max, want: 4}
- {name: containers of 8 bits, measured: tablerecord.ontas-path.fewest.containers-added.max, max: 2}
`), nil, new(recording.Study))
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
	// stages before: 4 true
	// containers of 8 bits: 2 true
}
