package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// feature returns the current state of a feature, and what the switch reports of it, as data of a
// view.
func (s *Shell) feature(ctx context.Context, ref string) (state tree, reported map[string]any, err error) {
	features, states, err := s.features(ctx)
	if err != nil {
		return tree{}, nil, err
	}
	reported = map[string]any{}
	for _, f := range states.items("feature") {
		if f.name() == ref {
			reported["openconfig-tam:feature"] = []any{f.v}
		}
	}
	for _, f := range features {
		if f.name() == ref {
			state = f.at("state")
		}
	}
	return state, reported, nil
}

// showFeature shows the status of a feature.
func showFeature(ref string) func(context.Context, *call) (*view, error) {
	return func(ctx context.Context, c *call) (*view, error) {
		state, data, err := c.sh.feature(ctx, ref)
		if err != nil {
			return nil, err
		}
		return framed(data, func(p *printout) { p.featureStatus(flowWidth, state) }), nil
	}
}

// featureStatus writes the status of a feature, and the reason.
func (p *printout) featureStatus(width int, state tree) {
	p.field(width, "Status", featureStatus(state))
	p.optional(width, "Reason", state.text("reason"))
}

// featureStatus is a feature's state in words; a feature without state is inactive.
func featureStatus(state tree) string {
	if status := state.word("op-status"); status != "" {
		return title(status)
	}
	return "Inactive"
}

// features returns all features, with their state; those that the switch says nothing about are not
// configured, or only just were. states has what the switch says.
func (s *Shell) features(ctx context.Context) (features []tree, states tree, err error) {
	found, err := s.client.get(ctx, gpb.GetRequest_ALL, gpath(tamRoot, "features"), gpath(tamRoot, "features-state"))
	if err != nil {
		return nil, tree{}, err
	}
	return allFeatures(found[0], found[1]), found[1], nil
}

// allFeatures joins what is configured of features and what the switch says.
func allFeatures(configured, states tree) []tree {
	wanted, reported := map[string]string{}, map[string]tree{}
	refs, implied := map[string]bool{}, map[string]bool{}
	for _, f := range features() {
		refs[f.ref], implied[f.ref] = true, f.implied
	}
	for _, f := range configured.items("feature") {
		wanted[f.name()] = f.word("config", "status")
		refs[f.name()] = true
	}
	for _, f := range states.items("feature") {
		reported[f.name()] = f
		refs[f.name()] = true
	}
	var out []tree
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		f, ok := reported[ref]
		switch active := f.word("state", "op-status") == "ACTIVE"; {
		case wanted[ref] == "ACTIVE" && !answers(f.at("state")):
			f = featureOf(ref, "PENDING", notYet) // what is reported is outdated
		case wanted[ref] == "" && implied[ref] && ok: // it is what is reported
		case wanted[ref] != "ACTIVE" && active:
			f = featureOf(ref, "ACTIVE", "not configured any more, not yet out of the switch")
		case !ok:
			f = featureOf(ref, "INACTIVE", "")
		}
		out = append(out, f)
	}
	return out
}

// answers reports whether a feature's state can be that of a feature that was asked for, and not
// from before.
func answers(state tree) bool {
	status := state.word("op-status")
	return status != "" && (status != "INACTIVE" || state.text("reason") != "")
}

// featureOf returns a feature in the form of the tree.
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
	return framed(one("openconfig-tam:features-state", states), func(p *printout) { p.features(features) }), nil
}

func featureView(features []tree, name string) (*view, error) {
	for _, f := range features {
		if featureName(f.name()) != name {
			continue
		}
		return framed(entry("openconfig-tam:feature", f), func(p *printout) {
			p.field(14, "Name", name)
			p.featureStatus(14, f.at("state"))
		}), nil
	}
	return nil, fmt.Errorf("the switch does not report the feature %s", name)
}

// features writes the table of features, and why any is not as it should be.
func (p *printout) features(features []tree) {
	var rows [][]string
	var why []string
	for _, f := range features {
		name, status := featureName(f.name()), featureStatus(f.at("state"))
		rows = append(rows, []string{name, status})
		if reason := f.text("state", "reason"); reason != "" {
			why = append(why, name+": "+status+": "+reason)
		}
	}
	p.table([]column{{"Name", 11, 2}, {"Status", 9, 0}}, rows)
	p.after(why)
}
