package profile_test

import (
	"fmt"

	"tamtam/saisim/profile"
)

// A profile is loaded by its name, or from a file.
func ExampleLoad() {
	p, err := profile.Load("rmt12")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d lanes of %d Mb/s at %d Hz; %d stages in, %d out\n",
		p.Lanes, p.LaneMbps, p.ClockHz, p.IngressStages, p.EgressStages)
	fmt.Println(p.Stage.StatefulALUs, "stateful ALUs in each stage")
	// Output:
	// 513 lanes of 112000 Mb/s at 1000000000 Hz; 12 stages in, 12 out
	// 4 stateful ALUs in each stage
}
