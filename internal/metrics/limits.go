package main

import (
	"fmt"
	"io"
	"math"
)

// A limit bounds a figure. It is what the tree had when the limit was set, or the goal once that is
// reached: it may only be tightened.
type limit struct {
	figure string
	least  bool    // the figure may not be below; else not above
	value  float64 // today
	wanted float64 // the goal
	reason string
}

// limits are those of the gate.
var limits = []limit{
	{figure: "file, most lines", value: 800, wanted: 800,
		reason: "beyond that nobody reads a file as one"},
	{figure: "function, p99 lines", value: 70, wanted: 70,
		reason: "a function fits a screen"},
	{figure: "functions of complexity > 15, percent", value: 0.50, wanted: 0.5,
		reason: "who changes it must keep all ways through it in mind"},
	{figure: "methods of a type, most", value: 50, wanted: 50,
		reason: "a type that does so much is several"},
	{figure: "types of > 50 methods", value: 0, wanted: 0,
		reason: "while one type is still to be parted, no other may grow"},
	{figure: "structs of > 20 fields", value: 8, wanted: 8,
		reason: "any method may change any field: nobody sees which belong together"},
	{figure: "lines over 120 columns, code", value: 0, wanted: 0,
		reason: "what is out of sight is not reviewed"},
	{figure: "tests : code", least: true, value: 0.55, wanted: 0.55,
		reason: "code that moves must take its tests along"},
	{figure: "rooms at the top", value: 28, wanted: 28,
		reason: "a newcomer guesses the folder from its name, among few"},
	{figure: "exported names without comment", value: 0, wanted: 0,
		reason: "what others may use says what it does"},
	{figure: "references between files of saisim that run up", value: 20, wanted: 20,
		reason: "who reads a package from below needs nothing that stands above"},
}

// breaks reports whether a figure, as printed, exceeds the limit: 0.504 is 0.50.
func (l limit) breaks(f figure) bool {
	scale := math.Pow10(f.digits)
	v := math.Round(f.value * scale)
	if l.least {
		return v < math.Round(l.value*scale)
	}
	return v > math.Round(l.value*scale)
}

// loose reports whether a figure is better than a limit that is not the goal yet.
func (l limit) loose(f figure) bool {
	here := limit{least: l.least, value: f.value}
	return l.value != l.wanted && here.breaks(figure{value: l.value, digits: f.digits})
}

// sign returns what is printed in front of the limit.
func (l limit) sign() string {
	if l.least {
		return ">="
	}
	return "<="
}

// shown is how many findings stand below a broken limit.
const shown = 10

// check compares figures with limits, and prints what breaks them. A limit on a figure that does
// not exist is an error, as it could never be broken.
func check(out io.Writer, figures []figure, limits []limit) (good bool, err error) {
	by := map[string]figure{}
	for _, f := range figures {
		by[f.name] = f
	}
	good = true
	for _, l := range limits {
		f, ok := by[l.figure]
		if !ok {
			return false, fmt.Errorf("limit of %q: there is no such figure", l.figure)
		}
		if !l.breaks(f) {
			if l.loose(f) {
				fmt.Fprintf(out, "%s: %s; the limit, %s %.*f, can be tightened\n", f.name, f.text(), l.sign(), f.digits, l.value)
			}
			continue
		}
		good = false
		fmt.Fprintf(out, "%s: %s, want %s %.*f: %s\n", f.name, f.text(), l.sign(), f.digits, l.value, l.reason)
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
