package tam

import (
	"context"
	"fmt"
	"maps"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// readFeature returns the current state of a feature, and the switch's report of it as the data of a view.
func readFeature(ctx context.Context, s *kit.Session, ref string) (state tree.Node, reported map[string]any,
	err error) {
	features, states, err := readFeatures(ctx, s)
	if err != nil {
		return tree.Node{}, nil, err
	}
	reported = map[string]any{}
	for _, f := range states.Items("feature") {
		if f.Name() == ref {
			reported["openconfig-tam:feature"] = []any{f.Value}
		}
	}
	for _, f := range features {
		if f.Name() == ref {
			state = f.At("state")
		}
	}
	return state, reported, nil
}

// showFeature shows the status of a feature.
func showFeature(ref string) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		state, data, err := readFeature(ctx, c.Session, ref)
		if err != nil {
			return nil, err
		}
		return kit.Framed(data, func(p *kit.Printout) { writeFeatureStatus(p, flowWidth, state) }), nil
	}
}

// writeFeatureStatus writes the status of a feature, and the reason.
func writeFeatureStatus(p *kit.Printout, width int, state tree.Node) {
	p.Field(width, "Status", featureStatus(state))
	p.Optional(width, "Reason", state.Text("reason"))
}

// featureStatus returns the state of a feature as text. A feature without a state is inactive.
func featureStatus(state tree.Node) string {
	if status := state.Word("op-status"); status != "" {
		return kit.Title(status)
	}
	return "Inactive"
}

// readFeatures returns all features with their state. A feature that the switch does not report is not configured, or
// was configured just now. states contains the switch's reports.
func readFeatures(ctx context.Context, s *kit.Session) (features []tree.Node, states tree.Node, err error) {
	found, err := s.Client.Get(ctx, gpb.GetRequest_ALL, tree.Path(TamRoot, "features"),
		tree.Path(TamRoot, "features-state"))
	if err != nil {
		return nil, tree.Node{}, err
	}
	return allFeatures(found[0], found[1]), found[1], nil
}

// allFeatures joins the configuration and the reported states of features.
func allFeatures(configured, states tree.Node) []tree.Node {
	wanted, reported := map[string]string{}, map[string]tree.Node{}
	refs, implied := map[string]bool{}, map[string]bool{}
	for _, f := range Features() {
		refs[f.Ref], implied[f.Ref] = true, f.implied
	}
	for _, f := range configured.Items("feature") {
		wanted[f.Name()] = f.Word("config", "status")
		refs[f.Name()] = true
	}
	for _, f := range states.Items("feature") {
		reported[f.Name()] = f
		refs[f.Name()] = true
	}
	var out []tree.Node
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		f, ok := reported[ref]
		switch active := f.Word("state", "op-status") == "ACTIVE"; {
		case wanted[ref] == "ACTIVE" && !answers(f.At("state")):
			f = featureOf(ref, "PENDING", notYet) // the report is outdated
		case wanted[ref] == "" && implied[ref] && ok: // the reported state applies
		case wanted[ref] != "ACTIVE" && active:
			f = featureOf(ref, "ACTIVE", "not configured any more, not yet out of the switch")
		case !ok:
			f = featureOf(ref, "INACTIVE", "")
		}
		out = append(out, f)
	}
	return out
}

// answers reports whether a feature's state can be the result of its activation. A state from before the activation
// cannot.
func answers(state tree.Node) bool {
	status := state.Word("op-status")
	return status != "" && (status != "INACTIVE" || state.Text("reason") != "")
}

// featureOf returns a feature in the form of the tree.
func featureOf(ref, status, reason string) tree.Node {
	state := map[string]any{"feature-ref": ref, "op-status": status}
	if reason != "" {
		state["reason"] = reason
	}
	return tree.Of(map[string]any{"feature-ref": ref, "state": state})
}

// ShowFeatures shows the features, or only the feature that the call names.
func ShowFeatures(ctx context.Context, c *kit.Call) (*kit.View, error) {
	features, states, err := readFeatures(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	if want := c.Args["name"]; want != "" {
		return featureView(features, want)
	}
	return kit.Framed(kit.One("openconfig-tam:features-state", states),
		func(p *kit.Printout) { writeFeatures(p, features) }), nil
}

func featureView(features []tree.Node, name string) (*kit.View, error) {
	for _, f := range features {
		if featureName(f.Name()) != name {
			continue
		}
		return kit.Framed(kit.Entry("openconfig-tam:feature", f), func(p *kit.Printout) {
			p.Field(14, "Name", name)
			writeFeatureStatus(p, 14, f.At("state"))
		}), nil
	}
	return nil, fmt.Errorf("the switch does not report the feature %s", name)
}

// writeFeatures writes the table of features, and the reason for each feature that is not as configured.
func writeFeatures(p *kit.Printout, features []tree.Node) {
	var rows [][]string
	var why []string
	for _, f := range features {
		name, status := featureName(f.Name()), featureStatus(f.At("state"))
		rows = append(rows, []string{name, status})
		if reason := f.Text("state", "reason"); reason != "" {
			why = append(why, name+": "+status+": "+reason)
		}
	}
	p.Table([]kit.Column{kit.Col("Name", 11, 2), kit.Col("Status", 9, 0)}, rows)
	p.After(why)
}
