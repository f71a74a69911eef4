// Package subport shows sub-ports: router interfaces that have the frames of a port with one VLAN.
//
// What belongs here: what the shell shows of sub-ports. What does not: routes and addresses, which package cli shows.
package subport

import (
	"cmp"
	"context"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Show returns the function that shows the sub-ports and the status of each, much as SONiC's command does. root is the
// path of the routing data.
func Show(root string) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		found, err := c.Session.Client.All(ctx, tree.Path(root))
		if err != nil {
			return nil, err
		}
		routing := found.Keep(tree.Part{Path: []string{"interfaces", "interface"},
			Of: func(i tree.Node) bool { return strings.Contains(i.Name(), ".") }})
		var rows [][]string
		all := routing.Sorted("interfaces", "interface")
		for _, i := range all {
			_, number, _ := strings.Cut(i.Name(), ".")
			rows = append(rows, []string{i.Name(), cmp.Or(kit.Configured(i, "vlan"), number),
				kit.OrDash(kit.Configured(i, "mtu")), cmp.Or(kit.Configured(i, "admin-status"), "up"),
				kit.OrDash(kit.Title(i.Text("state", "status")))})
		}
		return kit.TableView(kit.One(root, routing), []kit.Column{
			kit.Col("Sub port interface", 18, 2), kit.Col("Vlan", 4, 2), kit.Col("MTU", 4, 2), kit.Col("Admin", 5, 2),
			kit.Col("Status", 7, 0),
		}, rows, kit.WhyNots(all)), nil
	}
}
