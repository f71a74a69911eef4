package web

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// Labels of a picture cover neither each other nor a node nor a crossing of links, and losses always have a label.
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
		for i, a := range d.occupied {
			if slices.ContainsFunc(d.occupied[:i], a.meets) {
				t.Errorf("%d spines: the label at %v covers another", spines, a)
			}
		}
		for i, l := range d.Links {
			for _, o := range d.Links[:i] {
				x, y, crosses := l.crosses(o.straight)
				at := box{x - 1, y - 1, x + 1, y + 1}
				if crosses && slices.ContainsFunc(d.occupied, at.meets) {
					t.Errorf("%d spines: a label covers the crossing at %.0f, %.0f", spines, x, y)
				}
			}
		}
		for _, x := range d.Nodes {
			if slices.ContainsFunc(d.occupied, x.box().meets) {
				t.Errorf("%d spines: a label covers node %s", spines, x.Name)
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

// Hosts are below their switch, and links that join the same switches are beside each other.
func TestPlaces(t *testing.T) {
	n := &net{}
	join := func(name, a, b string) {
		from, to := End{Node: a, Port: name}, End{Node: b, Port: name}
		n.directions = append(n.directions, &direction{name: name, from: from, to: to},
			&direction{name: name, from: to, to: from})
	}
	hosts := map[string]string{"h1": "leaf3", "h2": "leaf1", "h3": "leaf3", "h4": "leaf2", "h5": "leaf3", "h6": "leaf1"}
	for _, name := range []string{"leaf1", "leaf2", "leaf3", "spine1"} {
		n.nodes = append(n.nodes, Node{Name: name})
	}
	for i := range 6 {
		h := fmt.Sprintf("h%d", i+1)
		n.nodes = append(n.nodes, Node{Name: h, Host: true})
		join(h, h, hosts[h])
	}
	for i := range 3 {
		join(fmt.Sprintf("up%d", i+1), fmt.Sprintf("leaf%d", i+1), "spine1")
	}
	join("second", "spine1", "leaf1")
	d := n.draw(&request{values: url.Values{}})
	at := map[string]drawnNode{}
	for _, x := range d.Nodes {
		at[x.Name] = x
	}
	middle, number := map[string]int{}, map[string]int{}
	for host, leaf := range hosts {
		middle[leaf] += at[host].CX
		number[leaf]++
		if at[host].CY <= at[leaf].CY {
			t.Errorf("%s is not below %s", host, leaf)
		}
	}
	for leaf, sum := range middle {
		if got, want := sum/number[leaf], at[leaf].CX; abs(got-want) > 1 {
			t.Errorf("the middle of the hosts of %s is %d, and it is %d", leaf, got, want)
		}
	}
	var pair []straight
	for _, l := range d.Links {
		if x := l.directions[0]; x.name == "up1" || x.name == "second" {
			pair = append(pair, l.straight)
		}
	}
	if _, _, crosses := pair[0].crosses(pair[1]); crosses || pair[0].x1 == pair[1].x2 {
		t.Errorf("two links of leaf1 and spine1 are at %v", pair)
	}
}

func abs(n int) int { return max(n, -n) }
