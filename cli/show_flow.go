package cli

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// flowWidth is where the colon stands in the blocks of flow groups and sessions.
const flowWidth = 19

// fieldsOf writes the configured fields of a flow group, indented.
func (p *printout) fieldsOf(group tree) {
	p.leaves(flowWidth, group, groupMatches...)
	p.leaves(flowWidth, group, groupVersion)
	for _, f := range group.texts("config", "other-fields") {
		p.field(flowWidth, "   Other", f)
	}
	p.optional(flowWidth, "   Ingress Intf", strings.Join(naturally(group.texts("config", "interfaces")), ","))
}

// counted returns a counter as it is shown. One that nobody has written yet is not 0, nor is
// something that is not a number.
func counted(t tree, leaf ...string) string {
	if _, ok := t.count(leaf...); !ok {
		return orDash("")
	}
	return t.text(leaf...)
}

func showFlowGroups(ctx context.Context, c *call) (*view, error) {
	entries, data, err := flowGroups.read(ctx, c, 0)
	if err != nil {
		return nil, err
	}
	text := func(p *printout) {
		p.line("")
		for _, e := range entries {
			p.field(flowWidth, "Flow Group Name", e.name())
			p.leaves(flowWidth, e, groupID, groupPriority)
			p.fieldsOf(e)
			p.field(flowWidth, "Packet Count", counted(e, "state", "packets"))
			p.whyNot(flowWidth, e.at("state"))
			p.line("")
		}
	}
	return &view{data, text}, nil
}

func showSummary(ctx context.Context, c *call) (*view, error) {
	tallies, err := c.sh.client.all(ctx, gpath(talliesRoot))
	if err != nil {
		return nil, err
	}
	parts := []*gpb.Path{gpath(tamRoot, "switch"), gpath(tamRoot, "features"), gpath(tamRoot, "features-state")}
	if !tallies.exists() { // a server that does not count
		parts = []*gpb.Path{gpath(tamRoot)}
	}
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, parts...)
	if err != nil {
		return nil, err
	}
	tam, data := found[0], one(tamRoot, found[0])
	if tallies.exists() {
		tam = tree{map[string]any{"switch": found[0].v, "features": found[1].v, "features-state": found[2].v}}
		data = one(tamRoot, tam)
		maps.Copy(data, one(talliesRoot, tallies))
	}
	of := map[string]tree{}
	for _, t := range tallies.items("tally") {
		of[t.text("list")] = t.at("state")
	}
	return framed(data, func(p *printout) {
		p.field(flowWidth, "Switch ID", tam.text("switch", "state", "op-switch-id"))
		p.field(flowWidth, "Enterprise ID", tam.text("switch", "state", "op-enterprise-id"))
		p.whyNot(flowWidth, inForce(tam.at("switch")).at("state"))
		p.line("")
		p.features(allFeatures(tam.at("features"), tam.at("features-state")))
		p.line("")
		for _, o := range objects() {
			switch {
			case o.tally == "":
			case tallies.exists():
				p.counted(o.tally, of[local(o.container)])
			default:
				p.tally(o.tally, o.entries(tam))
			}
		}
	}), nil
}

// talliesRoot is how many entries there are, as the switch counts them.
const talliesRoot = "tamtam-status:tallies"

// local is a name without its module.
func local(name string) string { return name[strings.LastIndex(name, ":")+1:] }

// counted writes how many entries there are, and how many are not in effect, by the switch's own count.
func (p *printout) counted(label string, state tree) {
	text := orDash(state.text("entries"))
	for _, word := range []string{"pending", "failed", "unknown"} {
		if n := state.text(word); n != "" && n != "0" {
			text += ", " + n + " " + word
		}
	}
	p.field(flowWidth, label, text)
}

// tally writes how many entries there are, and how many are not in effect.
func (p *printout) tally(label string, entries []tree) {
	by := map[string]int{}
	for _, e := range allInForce(entries) {
		if inactive(e.at("state")) {
			by[strings.ToLower(e.at("state").word("status"))]++
		}
	}
	text := strconv.Itoa(len(entries))
	for _, status := range []string{"pending", "failed", "unknown"} {
		if by[status] > 0 {
			text += fmt.Sprintf(", %d %s", by[status], status)
		}
	}
	p.field(flowWidth, label, text)
}
