package main

import (
	"fmt"
	"io"
	"math"
)

// A goal is what a figure should be. Those with a reason are limits of the gate: what a reviewer would send back by
// itself. The others are stated beside the figure, and nobody is to part a type or a file only to meet them.
type goal struct {
	figure string
	least  bool // the figure may not be below; else not above
	value  float64
	reason string
}

var goals = []goal{
	{figure: "file, most lines", value: 800},
	{figure: "function, p99 lines", value: 70},
	{figure: "functions of complexity > 15, percent", value: 0.5},
	{figure: "complexity, most", value: 25, reason: "who changes it must keep all ways through it in mind"},
	{figure: "methods of a type, most", value: 50},
	{figure: "structs of > 20 fields", value: 8},
	{figure: "lines over 120 columns, code", value: 0, reason: "what is out of sight is not reviewed"},
	{figure: "lines over 120 columns, tests", value: 0, reason: "what is out of sight is not reviewed"},
	{figure: "tests : code", least: true, value: 0.55},
	{figure: "rooms at the top", value: 24},
	{figure: "arrows between rooms", value: 88},
	{figure: "exported names without comment", value: 0, reason: "what others may use says what it does"},
	{figure: "packages too large", value: 0, reason: "a package is read as one: cut it along an interface"},
}

// large are packages that may have more files or lines than others.
var large = map[string]string{
	"saisim/engine":    "stations of one packet path, which call each other for each packet",
	"saisim/reference": "the same chip, station by station",
	"swss/schema":      "one table of all tables",
}

// breaks reports whether a figure, as printed, misses the goal: 0.504 is 0.50.
func (g goal) breaks(f figure) bool {
	scale := math.Pow10(f.digits)
	v, bound := math.Round(f.value*scale), math.Round(g.value*scale)
	return g.least && v < bound || !g.least && v > bound
}

// sign returns what is printed in front of the goal.
func (g goal) sign() string {
	if g.least {
		return ">="
	}
	return "<="
}

// shown is how many findings stand below a broken limit.
const shown = 10

// check compares figures with the goals that are limits, and prints what breaks them. A goal of a figure that does
// not exist is an error, as it could never be missed.
func check(out io.Writer, figures []figure, goals []goal) (good bool, err error) {
	by := map[string]figure{}
	for _, f := range figures {
		by[f.name] = f
	}
	good = true
	for _, g := range goals {
		f, ok := by[g.figure]
		if !ok {
			return false, fmt.Errorf("goal of %q: there is no such figure", g.figure)
		}
		if g.reason == "" || !g.breaks(f) {
			continue
		}
		good = false
		fmt.Fprintf(out, "%s: %s, want %s %.*f: %s\n", f.name, f.text(), g.sign(), f.digits, g.value, g.reason)
		show(out, f.worst, shown)
	}
	return good, nil
}

// show prints the first few findings.
func show(out io.Writer, list []finding, most int) {
	for i, w := range list {
		if i == most {
			fmt.Fprintf(out, "    and %d more\n", len(list)-i)
			return
		}
		fmt.Fprintf(out, "    %6d  %s  %s\n", w.size, w.where, w.what)
	}
}
