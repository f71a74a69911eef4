package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// showInterface shows all about a port or a port channel.
func showInterface(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := readInterfaces(ctx, c.Session, c)
	if err != nil {
		return nil, orWord(err, c.Args["name"], c.Session.Grammar.Words(kit.ModeExec, "show", "interface"))
	}
	e := entries[0]
	addresses, err := addressesOf(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	if list := addresses[e.Name()]; len(list) > 0 {
		data["tamtam-routing:addresses"] = list
	}
	return kit.Framed(data, func(p *kit.Printout) { writeInterface(p, e, addresses[e.Name()]) }), nil
}

// orWord adds to the error for a name the words of show interface that may be meant: those that it abbreviates or, if
// there are none, the most similar one. Names of interfaces have digits.
func orWord(err error, name string, words []string) error {
	if strings.ContainsAny(name, "0123456789") {
		return err
	}
	near := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !kit.HasPrefixFold(w, name) })
	if w := kit.Nearest(name, words); len(near) == 0 && w != "" {
		near = []string{w}
	}
	if len(near) == 0 {
		return err
	}
	return fmt.Errorf("%w; or show interface %s?", err, strings.Join(near, ", "))
}

// writeInterface writes the state of an interface, and what passed it.
func writeInterface(p *kit.Printout, e tree.Node, addresses []string) {
	const width = 15
	state := e.At("state")
	p.Field(width, "Interface", e.Name())
	p.Optional(width, "Alternate Name", state.Text("alias"), "Description", kit.Configured(e, "description"))
	p.Field(width, "Admin", kit.OrDash(adminOf(e)))
	p.Field(width, "Oper", operOf(e))
	p.Field(width, "Speed", kit.OrDash(speedText(state.Text("speed"))))
	p.Field(width, "MTU", kit.OrDash(cmp.Or(state.Text("mtu"), kit.Configured(e, "mtu"))))
	p.Optional(width, "Lanes", state.Text("lanes"))
	vlan := e.At("ethernet", "switched-vlan", "state")
	p.Optional(width, "Untagged VLAN", cmp.Or(vlan.Text("native-vlan"), vlan.Text("access-vlan")),
		"Tagged VLANs", vlan.Text("trunk-vlans"), "Port Channel", e.Text("ethernet", "state", "aggregate-id"),
		"Addresses", strings.Join(addresses, ", "))
	p.WhyNot(width, state)
	counters := state.At("counters")
	for _, direction := range []struct{ label, prefix string }{{"Received", "in-"}, {"Sent", "out-"}} {
		var counts []string
		for _, what := range []string{"pkts", "octets", "errors", "discards"} {
			counts = append(counts, kit.Counted(counters, direction.prefix+what)+" "+countName[what])
		}
		p.Field(width, direction.label, strings.Join(counts, ", "))
	}
	p.Optional(width, "Counted since", kit.WholeSecond(counters.Text("counted-since")))
}

var countName = map[string]string{"pkts": "packets", "octets": "bytes", "errors": "errors", "discards": "drops"}

// showInterfaceBrief shows a line for each interface, those for routing included.
func showInterfaceBrief(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(kit.InterfacesRoot))
	if err != nil {
		return nil, err
	}
	addresses, err := addressesOf(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	entries := found.Sorted("interface")
	for _, e := range entries {
		rows = append(rows, []string{
			e.Name(), kit.OrDash(adminOf(e)), operOf(e),
			kit.OrDash(speedText(e.Text("state", "speed"))), kit.OrDash(strings.Join(addresses[e.Name()], " ")),
			kit.OrDash(kit.Configured(e, "description")),
		})
	}
	data := kit.One(kit.InterfacesRoot, found)
	if len(addresses) > 0 {
		data["tamtam-routing:addresses"] = addresses
	}
	return kit.TableView(data, []kit.Column{
		kit.Col("Interface", 14, 2), kit.Col("Admin", 5, 2), kit.Col("Oper", 5, 2), kit.Col("Speed", 5, 2),
		kit.Col("Addresses", 18, 2), kit.Col("Description", 11, 0),
	}, rows, kit.WhyNots(entries)), nil
}

// addressesOf returns the IP addresses of each interface, IPv4 before IPv6.
func addressesOf(ctx context.Context, s *kit.Session) (map[string][]string, error) {
	found, err := s.Client.All(ctx, tree.Path(routingRoot, "interfaces"))
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, i := range found.Items("interface") {
		for _, a := range i.Items("addresses", "address") {
			out[i.Name()] = append(out[i.Name()], a.Text("prefix"))
		}
		slices.SortFunc(out[i.Name()], comparePrefixes)
	}
	return out, nil
}

func comparePrefixes(a, b string) int {
	p, errP := netip.ParsePrefix(a)
	q, errQ := netip.ParsePrefix(b)
	if errP != nil || errQ != nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(p.Addr().Compare(q.Addr()), p.Bits()-q.Bits())
}
