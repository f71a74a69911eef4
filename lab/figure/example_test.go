package figure_test

import (
	"fmt"

	"tamtam/lab/figure"
)

// ExampleFigure_Covered shows that the legend covers no curve.
func ExampleFigure_Covered() {
	f := &figure.Figure{File: "f1", Panels: []figure.Panel{{
		X: figure.Axis{Label: "memory, KiB", Scale: figure.Log2}, Y: figure.Axis{Label: "F1 score"},
		Curves: []figure.Curve{{Name: "count-min", Points: []figure.Point{{X: 3, Y: 0.8}, {X: 96, Y: 1}}}},
	}}}
	covered, err := f.Covered()
	fmt.Println(len(covered), err)
	// Output: 0 <nil>
}
