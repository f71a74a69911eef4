package web

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// Labels of a picture do not cover each other, and losses always have a label.
func TestLabelsApart(t *testing.T) {
	for spines := 1; spines <= 4; spines++ {
		n := &net{}
		for i := range 4 {
			n.nodes = append(n.nodes, Node{Name: fmt.Sprintf("leaf%d", i)})
		}
		for k := range spines {
			n.nodes = append(n.nodes, Node{Name: fmt.Sprintf("spine%d", k)})
			for i := range 4 {
				leaf, spine := End{Node: fmt.Sprintf("leaf%d", i)}, End{Node: fmt.Sprintf("spine%d", k)}
				x := Traffic{Counted: true, Load: 0.25, LostKnown: true}
				if i == 1 {
					x.Lost = 1000
				}
				n.directions = append(n.directions, &direction{from: leaf, to: spine, traffic: x},
					&direction{from: spine, to: leaf, traffic: x})
			}
		}
		for i := range 4 { // hosts at the bottom determine the layout of the switches
			h, leaf := End{Node: fmt.Sprintf("h%d", i)}, End{Node: fmt.Sprintf("leaf%d", i)}
			n.nodes = append(n.nodes, Node{Name: h.Node, Host: true})
			n.directions = append(n.directions, &direction{from: h, to: leaf}, &direction{from: leaf, to: h})
		}
		d := n.draw(&request{values: url.Values{}})
		for i, a := range d.taken {
			if slices.ContainsFunc(d.taken[:i], a.meets) {
				t.Errorf("%d spines: the label at %v covers another", spines, a)
			}
		}
		lost := 0
		for _, l := range d.Labels {
			if l.Text == "1,000 lost" {
				lost++
			}
		}
		if lost != spines {
			t.Errorf("%d spines: %d links of %d that lost packets say so", spines, lost, spines)
		}
	}
}
