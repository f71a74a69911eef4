package tam

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// flowWidth is the column of the colon in the blocks of flow groups and sessions.
const flowWidth = 19

// writeFieldsOf writes the configured fields of a flow group, indented.
func writeFieldsOf(p *kit.Printout, group tree.Node) {
	p.Leaves(flowWidth, group, groupMatches...)
	p.Leaves(flowWidth, group, groupVersion)
	for _, f := range group.Texts("config", "other-fields") {
		p.Field(flowWidth, "   Other", f)
	}
	p.Optional(flowWidth, "   Ingress Intf", strings.Join(tree.SortNaturally(group.Texts("config", "interfaces")), ","))
}

// ShowFlowGroups shows the flow groups, or only the group that the call names.
func ShowFlowGroups(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := FlowGroups.read(ctx, c, 0)
	if err != nil {
		return nil, err
	}
	text := func(p *kit.Printout) {
		p.Line("")
		for _, e := range entries {
			p.Field(flowWidth, "Flow Group Name", e.Name())
			p.Leaves(flowWidth, e, GroupID, groupPriority)
			writeFieldsOf(p, e)
			p.Field(flowWidth, "Packet Count", kit.Counted(e, "state", "packets"))
			p.WhyNot(flowWidth, e.At("state"))
			p.Line("")
		}
	}
	return kit.NewView(data, text), nil
}

// ShowSummary shows a summary of TAM on one page.
func ShowSummary(ctx context.Context, c *kit.Call) (*kit.View, error) {
	tallies, err := c.Session.Client.All(ctx, tree.Path(talliesRoot))
	if err != nil {
		return nil, err
	}
	parts := []*gpb.Path{tree.Path(TamRoot, "switch"), tree.Path(TamRoot, "features"),
		tree.Path(TamRoot, "features-state")}
	if !tallies.Exists() { // a server without tallies
		parts = []*gpb.Path{tree.Path(TamRoot)}
	}
	found, err := c.Session.Client.Get(ctx, gpb.GetRequest_ALL, parts...)
	if err != nil {
		return nil, err
	}
	tam, data := found[0], kit.One(TamRoot, found[0])
	if tallies.Exists() {
		tam = tree.Of(map[string]any{"switch": found[0].Value, "features": found[1].Value, "features-state": found[2].Value})
		data = kit.One(TamRoot, tam)
		maps.Copy(data, kit.One(talliesRoot, tallies))
	}
	of := map[string]tree.Node{}
	for _, t := range tallies.Items("tally") {
		of[t.Text("list")] = t.At("state")
	}
	return kit.Framed(data, func(p *kit.Printout) {
		p.Field(flowWidth, "Switch ID", tam.Text("switch", "state", "op-switch-id"))
		p.Field(flowWidth, "Enterprise ID", tam.Text("switch", "state", "op-enterprise-id"))
		p.WhyNot(flowWidth, InForce(tam.At("switch")).At("state"))
		p.Line("")
		writeFeatures(p, allFeatures(tam.At("features"), tam.At("features-state")))
		p.Line("")
		for _, o := range objects() {
			switch {
			case o.tally == "":
			case tallies.Exists():
				writeCounted(p, o.tally, of[local(o.Container)])
			default:
				writeTally(p, o.tally, o.Entries(tam))
			}
		}
	}), nil
}

// talliesRoot is the path of the switch's own counts of entries.
const talliesRoot = "tamtam-status:tallies"

// local returns a name without its module.
func local(name string) string { return name[strings.LastIndex(name, ":")+1:] }

// writeCounted writes the switch's own count of entries, and how many of them are not in effect.
func writeCounted(p *kit.Printout, label string, state tree.Node) {
	text := kit.OrDash(state.Text("entries"))
	for _, word := range kit.NotActive {
		if n := state.Text(word); n != "" && n != "0" {
			text += ", " + n + " " + word
		}
	}
	p.Field(flowWidth, label, text)
}

// writeTally writes the number of entries, and how many of them are not in effect.
func writeTally(p *kit.Printout, label string, entries []tree.Node) {
	by := map[string]int{}
	for _, e := range allInForce(entries) {
		if kit.Inactive(e.At("state")) {
			by[strings.ToLower(e.At("state").Word("status"))]++
		}
	}
	text := strconv.Itoa(len(entries))
	for _, status := range kit.NotActive {
		if by[status] > 0 {
			text += fmt.Sprintf(", %d %s", by[status], status)
		}
	}
	p.Field(flowWidth, label, text)
}
