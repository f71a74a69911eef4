// Package bench measures tamtam on the machine that it runs on, for "tamtam bench". [Config] measures how soon a change
// of configuration is in the chip, through every daemon. [Sessions] and [Routes] measure the cost of sessions and
// routes for a switch. [ASIC], [Drops], [SFlow], [HFT], [AltMark], [FlyMon] and [TableRecord] measure the packet rate
// of the simulated chip, and the cost of each feature. [Deployments] measures how soon a measurement task counts.
//
// This package holds the clocks. The loads of the chip are in lab/bench/chipload. The measured code belongs to its own
// packages.
package bench

import "time"

// Options configure how much is measured.
type Options struct {
	Groups   int           // flow groups with a session each, written in one go
	Changes  int           // changes one by one; FlyMon deploys each algorithm a tenth as often
	Most     int           // maximum number of routes, and of rules and flows of a chip
	Duration time.Duration // minimum time of each measurement of a chip, or of a planner
}

// A Result is one figure of a benchmark.
type Result struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Aim    float64 `json:"aim,omitempty"`    // target; zero means that there is none
	Source string  `json:"source,omitempty"` // source of the value, if it was not measured here
	Caveat string  `json:"doubt,omitempty"`  // reason why the value may be wrong
}

// milliseconds converts a time to the unit of the figures.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
