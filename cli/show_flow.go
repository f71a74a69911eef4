package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// flowWidth is where the colon stands in the blocks of flow groups and sessions.
const flowWidth = 19

// fieldsOf writes the configured fields of a flow group, indented.
func (p *page) fieldsOf(group tree) {
	p.leaves(flowWidth, group, groupMatches...)
	p.leaves(flowWidth, group, groupVersion)
	for _, f := range group.texts("config", "other-fields") {
		p.field(flowWidth, "   Other", f)
	}
	if attached := naturally(group.texts("config", "interfaces")); len(attached) > 0 {
		p.field(flowWidth, "   Ingress Intf", strings.Join(attached, ","))
	}
}

// counted is a counter as it is shown. One that nobody has written yet is not 0, nor is
// what is no number.
func counted(t tree, leaf ...string) string {
	if _, ok := t.count(leaf...); !ok {
		return orDash("")
	}
	return t.text(leaf...)
}

func showFlowGroups(ctx context.Context, c *call) (*view, error) {
	entries, data, err := flowGroups.read(ctx, c)
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
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

func showSessions(ctx context.Context, c *call) (*view, error) {
	entries, data, err := stampSessions.read(ctx, c)
	if err != nil {
		return nil, err
	}
	if entries, err = c.sh.withGroups(ctx, entries); err != nil {
		return nil, err
	}
	if c.has("name") {
		return sessionView(ctx, c, entries[0], data)
	}
	return framed(data, func(p *page) { p.objects(stampSession, entries) }), nil
}

// sessionView shows one session with its flow group's fields and its counts.
func sessionView(ctx context.Context, c *call, session tree, data map[string]any) (*view, error) {
	name := config(session, "flowgroup")
	var group tree
	if name != "" { // a row that another hand wrote may have none
		found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, flowGroups.path(name))
		if err != nil {
			return nil, err
		}
		group = found[0]
	}
	if group.exists() {
		data["openconfig-tam:flowgroup"] = []any{group.v}
	}
	if isLeft(group) {
		group = ofState(group)
	}
	counters := session.at("state", "counters")
	text := func(p *page) {
		p.line("")
		p.field(flowWidth, "Session", session.name())
		p.field(flowWidth, "Flow Group Name", name)
		p.fieldsOf(group)
		p.field(flowWidth, "Packet Count", counted(counters, "matched-packets"))
		p.field(flowWidth, "Stamped Count", counted(counters, "stamped-packets"))
		p.notStamped(counters.at("not-stamped"))
		p.whyNot(flowWidth, session.at("state"))
		p.line("")
	}
	return &view{data, text}, nil
}

// notStamped writes how many packets left without a record, and those reasons
// that occurred. Where one is not known the sum is not, and that reason may have occurred.
func (p *page) notStamped(reasons tree) {
	labels := []struct{ leaf, label string }{
		{"not-tcp-udp", "Not TCP/UDP"},
		{"not-ethernet-ii", "Not Ethernet II"},
		{"cut", "Cut"},
		{"mtu", "MTU"},
	}
	var sum uint64
	known := 0
	for _, l := range labels {
		if n, ok := reasons.count(l.leaf); ok {
			sum += n
			known++
		}
	}
	text := orDash("")
	if known == len(labels) {
		text = strconv.FormatUint(sum, 10)
	}
	p.field(flowWidth, "Not Stamped", text)
	for _, l := range labels {
		if n, ok := reasons.count(l.leaf); known > 0 && (n > 0 || !ok) {
			p.field(flowWidth, "   "+l.label, counted(reasons, l.leaf))
		}
	}
}

// feature is the state of a feature as it is right now, and what the switch says of it, as
// data of a view.
func (s *Shell) feature(ctx context.Context, ref string) (state tree, said map[string]any, err error) {
	features, states, err := s.features(ctx)
	if err != nil {
		return tree{}, nil, err
	}
	said = map[string]any{}
	for _, f := range states.items("feature") {
		if f.name() == ref {
			said["openconfig-tam:feature"] = []any{f.v}
		}
	}
	for _, f := range features {
		if f.name() == ref {
			state = f.at("state")
		}
	}
	return state, said, nil
}

// showFeature shows what a feature is.
func showFeature(ref string) func(context.Context, *call) (*view, error) {
	return func(ctx context.Context, c *call) (*view, error) {
		state, data, err := c.sh.feature(ctx, ref)
		if err != nil {
			return nil, err
		}
		return framed(data, func(p *page) { p.featureStatus(state) }), nil
	}
}

// featureStatus writes what a feature is, and why.
func (p *page) featureStatus(state tree) {
	p.field(flowWidth, "Status", featureStatus(state))
	if reason := state.text("reason"); reason != "" {
		p.field(flowWidth, "Reason", reason)
	}
}

// featureStatus is a feature's state in words; a feature without state is inactive.
func featureStatus(state tree) string {
	if status := state.word("op-status"); status != "" {
		return title(status)
	}
	return "Inactive"
}

func showTailStamping(ctx context.Context, c *call) (*view, error) {
	feature, data, err := c.sh.feature(ctx, "TAILSTAMPING")
	if err != nil {
		return nil, err
	}
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(tamRoot, "switch"))
	if err != nil {
		return nil, err
	}
	maps.Copy(data, one("openconfig-tam", "switch", found[0]))
	text := func(p *page) {
		p.line("")
		p.featureStatus(feature)
		p.field(flowWidth, "Switch ID", found[0].text("state", "op-switch-id"))
		if id := inForce(found[0]).at("state"); inactive(id) {
			p.field(flowWidth, "   "+title(id.word("status")), id.text("reason"))
		}
		p.line("")
	}
	return &view{data, text}, nil
}

// features are all that there are, with their state; those that the switch says
// nothing of are not configured, or have just been. data has what the switch says.
func (s *Shell) features(ctx context.Context) (features []tree, states tree, err error) {
	found, err := s.client.get(ctx, gpb.GetRequest_ALL, gpath(tamRoot, "features"), gpath(tamRoot, "features-state"))
	if err != nil {
		return nil, tree{}, err
	}
	return allFeatures(found[0], found[1]), found[1], nil
}

// allFeatures joins what is configured of features and what the switch says.
func allFeatures(configured, states tree) []tree {
	wanted, said := map[string]string{}, map[string]tree{}
	refs := map[string]bool{}
	for _, f := range features() {
		refs[f.ref] = true
	}
	for _, f := range configured.items("feature") {
		wanted[f.name()] = f.word("config", "status")
		refs[f.name()] = true
	}
	for _, f := range states.items("feature") {
		said[f.name()] = f
		refs[f.name()] = true
	}
	var out []tree
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		f, ok := said[ref]
		switch {
		case ok && wanted[ref] == "ACTIVE" && !saysWhat(f.at("state")):
			f = featureOf(ref, "PENDING", notYet) // what it says is of before
		case ok:
		case wanted[ref] == "ACTIVE":
			f = featureOf(ref, "PENDING", notYet)
		default:
			f = featureOf(ref, "INACTIVE", "")
		}
		if wanted[ref] != "ACTIVE" && f.word("state", "op-status") == "ACTIVE" {
			f = featureOf(ref, "ACTIVE", "not configured any more, not yet out of the switch")
		}
		out = append(out, f)
	}
	return out
}

// saysWhat says whether the state of a feature that is wanted is more than that of one
// that is not.
func saysWhat(state tree) bool {
	status := state.word("op-status")
	return status != "" && (status != "INACTIVE" || state.text("reason") != "")
}

// featureOf is a feature as the tree has it.
func featureOf(ref, status, reason string) tree {
	state := map[string]any{"feature-ref": ref, "op-status": status}
	if reason != "" {
		state["reason"] = reason
	}
	return tree{map[string]any{"feature-ref": ref, "state": state}}
}

func showFeatures(ctx context.Context, c *call) (*view, error) {
	features, states, err := c.sh.features(ctx)
	if err != nil {
		return nil, err
	}
	if want := c.args["name"]; want != "" {
		return featureView(features, want)
	}
	text := func(p *page) {
		p.line("")
		p.features(features)
		p.line("")
	}
	return &view{one("openconfig-tam", "features-state", states), text}, nil
}

func featureView(features []tree, name string) (*view, error) {
	for _, f := range features {
		if featureName(f.name()) != name {
			continue
		}
		text := func(p *page) {
			p.line("")
			p.field(14, "Name", name)
			p.field(14, "Status", featureStatus(f.at("state")))
			if reason := f.text("state", "reason"); reason != "" {
				p.field(14, "Reason", reason)
			}
			p.line("")
		}
		return &view{entry("openconfig-tam", "feature", f), text}, nil
	}
	return nil, fmt.Errorf("the switch does not report the feature %s", name)
}

// features writes the table of features and why one is not what it should be.
func (p *page) features(features []tree) {
	var rows [][]string
	for _, f := range features {
		rows = append(rows, []string{featureName(f.name()), featureStatus(f.at("state"))})
	}
	p.table([]column{{"Name", 11, 2}, {"Status", 9, 0}}, rows)
	first := true
	for _, f := range features {
		reason := f.text("state", "reason")
		if reason == "" {
			continue
		}
		if first {
			p.line("")
			first = false
		}
		p.line("%s: %s: %s", featureName(f.name()), featureStatus(f.at("state")), reason)
	}
}

func showSummary(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(tamRoot))
	if err != nil {
		return nil, err
	}
	tam := found[0]
	text := func(p *page) {
		p.line("")
		p.field(flowWidth, "Switch ID", tam.text("switch", "state", "op-switch-id"))
		p.field(flowWidth, "Enterprise ID", tam.text("switch", "state", "op-enterprise-id"))
		p.whyNot(flowWidth, inForce(tam.at("switch")).at("state"))
		p.line("")
		p.features(allFeatures(tam.at("features"), tam.at("features-state")))
		p.line("")
		for _, o := range objects() {
			if o.tally != "" {
				p.tally(o.tally, o.entries(tam))
			}
		}
		p.line("")
	}
	return &view{one("openconfig-tam", "tam", tam), text}, nil
}

// tally writes how many entries there are, and how many are not in effect.
func (p *page) tally(label string, entries []tree) {
	by := map[string]int{}
	for _, e := range allInForce(entries) {
		if inactive(e.at("state")) {
			by[strings.ToLower(e.at("state").word("status"))]++
		}
	}
	text := strconv.Itoa(len(entries))
	for _, status := range []string{"pending", "failed"} {
		if by[status] > 0 {
			text += fmt.Sprintf(", %d %s", by[status], status)
		}
	}
	p.field(flowWidth, label, text)
}
