// Package bench measures tamtam on the machine that it runs on, for "tamtam bench": how soon a change of
// configuration is in the chip, through every daemon ([Config]), what sessions and routes cost a switch ([Sessions],
// [Routes]), how many packets a second the simulated chip forwards and what each feature costs it ([ASIC], [Drops],
// [SFlow], [AltMark], [FlyMon], [TableRecord]), and how soon a measurement task counts ([Deployments]).
//
// What belongs here: the clock. The loads of the chip are lab/bench/chipload; what is measured belongs to its own
// package.
package bench

import "time"

// Options say how much is measured.
type Options struct {
	Groups   int           // flow groups with a session each, written at once
	Changes  int           // changes one by one; FlyMon deploys each algorithm a tenth as often
	Most     int           // routes; rules and flows of a chip, too
	Duration time.Duration // least time of each measurement of a chip, or of a planner
}

// A Result is one figure of a benchmark.
type Result struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Aim    float64 `json:"aim,omitempty"`    // what it was to be; 0: nobody said
	Source string  `json:"source,omitempty"` // who says so, where it was not measured here
	Doubt  string  `json:"doubt,omitempty"`  // why the value may not be right
}

// milliseconds returns a time as the figures have it.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
