package conform

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Point is one demand.
type Point struct {
	ID     string
	Demand string
	Where  string // section of the specification; "": see the package comment
	Choice string // what is done where the specification leaves it open
	Raw    bool   // no client of a command line can ask for it
	Unmet  string // why the demand is not met; "": it is
}

// Points are all demands, in the order of their parts.
func Points() []Point {
	return slices.Concat(capabilities(), paths(), gets(), sets(),
		subscriptions(), once(), streams(), extensions(), security())
}

// result is what became of a point.
func (p Point) result() string {
	if p.Unmet != "" {
		return "no: " + p.Unmet
	}
	return "yes"
}

// by is how the point is asked for.
func (p Point) by() string {
	if p.Raw {
		return "raw"
	}
	return ""
}

// Table prints the points as the page has them.
func Table(w io.Writer) {
	fmt.Fprint(w, "| point | wanted | where | result | choice | |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, p := range Points() {
		cells := []string{p.ID, p.Demand, p.Where, p.result(), p.Choice, p.by()}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}
