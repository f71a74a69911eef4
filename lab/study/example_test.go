package study_test

import (
	"fmt"

	"tamtam/lab/study"
)

// Example shows two seeds of one point with a prediction: as a line of CSV, and as the numbers that checks use.
func Example() {
	var r study.Curves
	theory := study.Prediction{Expected: 0.96, Lower: 0.92, Upper: 1}
	r.Add("cms", "", "96KiB", 98304, "f1", study.Predicted([]float64{0.9, 1}, theory))
	fmt.Print(string(r.CSV("bytes", "curve", "at", "x", "metric", "min", "max", "outside")))
	fmt.Println(r.Metric("cms.96KiB.f1.median"))
	fmt.Println(r.Metric("cms.f1.outside"))
	// Output:
	// curve,at,bytes,metric,min,max,outside
	// cms,96KiB,98304,f1,0.9,1,1
	// {950000 millionths} true
	// {1 values} true
}
