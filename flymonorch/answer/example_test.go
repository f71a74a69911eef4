package answer_test

import (
	"fmt"
	"slices"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// This example estimates the number of distinct flows that a task counted, from the bits of its only row.
func ExampleReading_Metrics() {
	attribute, err := flymon.ParseAttribute("distinct(5-tuple)")
	if err != nil {
		fmt.Println(err)
		return
	}
	geo := flymon.Geometry{Groups: 1, Units: 3, CMUs: 3, Width: 32, Depth: 65536, Partitions: 32, MapEntries: 256}
	task := flymon.Task{Attribute: attribute, Algorithm: flymon.LinearCounting, Memory: 2048}
	placed, err := plan.New(geo).Add("flows", task)
	if err != nil {
		fmt.Println(err)
		return
	}
	registers := make([]uint32, placed.Buckets) // as a chip's: here the first eighth of all bits is set
	copy(registers, slices.Repeat([]uint32{1<<32 - 1}, len(registers)/8))
	r, err := answer.New(answer.Dump{
		Geometry: geo, Task: task, Layout: placed.Layout, Sketch: placed.Sketch, Registers: [][]uint32{registers},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := r.Metrics()[flymon.MetricCardinality]
	fmt.Printf("%.0f, between %.0f and %.0f with a probability of %.2f\n", e.Value, e.Lower, e.Upper, e.Confidence)
	// Output:
	// 8751, between 8702 and 8801 with a probability of 0.95
}
