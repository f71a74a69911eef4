// Package vrf shows VRFs: their status, and the interfaces in each.
//
// What belongs here: what the shell shows of VRFs. What does not: routes and addresses, which package cli shows.
package vrf

import (
	"cmp"
	"context"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

const defaultVRF = "default"

// Of returns the VRF of an interface of the routing data.
func Of(i tree.Node) string { return cmp.Or(kit.Configured(i, "vrf"), defaultVRF) }

// Show returns the function that shows the VRFs besides the default one with their interfaces, as SONiC's command does,
// and the status of each. root is the path of the routing data.
func Show(root string) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		found, err := c.Session.Client.All(ctx, tree.Path(root))
		if err != nil {
			return nil, err
		}
		routing := found.Keep(tree.Part{Path: []string{"vrfs"}},
			tree.Part{Path: []string{"interfaces", "interface"}, Of: func(i tree.Node) bool { return Of(i) != defaultVRF }})
		in := map[string][]string{}
		for _, i := range routing.Sorted("interfaces", "interface") {
			in[Of(i)] = append(in[Of(i)], i.Name())
		}
		var rows [][]string
		vrfs := routing.Sorted("vrfs", "vrf")
		for _, v := range vrfs {
			rows = append(rows, []string{v.Name(), kit.OrDash(kit.Title(v.Text("state", "status"))),
				kit.OrDash(strings.Join(in[v.Name()], ", "))})
		}
		return kit.TableView(kit.One(root, routing), []kit.Column{
			kit.Col("VRF", 15, 2), kit.Col("Status", 7, 2), kit.Col("Interfaces", 10, 0),
		}, rows, kit.WhyNots(vrfs)), nil
	}
}
