package experiments_test

import (
	"fmt"

	"tamtam/lab/experiments"
)

// ExampleOpen opens an experiment that comes with tamtam, with another seed. lab.New would build it.
func ExampleOpen() {
	t, err := experiments.Open("two-switches", []string{"seed=7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Experiment, "with seed", t.Seed)
	fmt.Println(len(t.Switches), "switches,", len(t.Hosts), "hosts,", len(t.Links), "links")
	// Output:
	// two-switches with seed 7
	// 2 switches, 2 hosts, 3 links
}
