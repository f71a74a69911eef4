package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// notYet is the reason for objects that the switch has not reported on.
const notYet = "the switch has not said yet what became of it"

// outdated are the leaves of a state that are no longer valid once the configuration changed.
var outdated = []string{"status", "reason", "since"}

// inForce returns an entry with its current state: after a change the switch may not have reported
// yet, or may still report on what was before.
func inForce(e tree) tree {
	state := e.at("state")
	reason := strings.Join(state.texts("not-in-force"), "; ")
	switch {
	case lingers(e): // whatever it reports of itself is outdated
		return pending(asConfigured(e), reason)
	case inactive(state): // the state itself says what is wrong
		return e
	case state.word("status") == "" && e.at("config").exists():
		reason = notYet
	case reason == "":
		return e
	}
	return pending(e, reason)
}

// lingers reports whether an entry is deleted, but still in the switch.
func lingers(e tree) bool {
	return e.name() != "" && !e.at("config").exists() && e.at("state", "not-in-force").exists()
}

// asConfigured returns a lingering entry with its state in place of its config, to be shown.
func asConfigured(e tree) tree {
	m, ok := e.v.(map[string]any)
	if !ok {
		return e
	}
	out := map[string]any{}
	for k, v := range m {
		if name := k[strings.LastIndex(k, ":")+1:]; name == "state" {
			out["config"] = v
		} else {
			v = asConfigured(tree{v}).v
		}
		out[k] = v
	}
	return tree{out}
}

// withLingering returns the configured entries and those that linger, from what a server says of
// config and state; each with its name and its parts so far.
func withLingering(configs, states []tree) []map[string]any {
	var out []map[string]any
	seen := map[string]bool{}
	for _, c := range configs {
		seen[c.name()] = true
		out = append(out, map[string]any{"name": c.name(), "config": c.v})
	}
	for _, s := range states {
		m := map[string]any{"name": s.name(), "state": s.v}
		if !seen[s.name()] && lingers(tree{m}) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b map[string]any) int { return natural(tree{a}.name(), tree{b}.name()) })
	return out
}

// pending returns an entry as not in force, for a reason.
func pending(e tree, reason string) tree {
	entry, _ := e.v.(map[string]any)
	reported, _ := e.at("state").v.(map[string]any)
	now := map[string]any{}
	for k, v := range reported {
		if !slices.Contains(outdated, k[strings.LastIndex(k, ":")+1:]) {
			now[k] = v
		}
	}
	now["status"], now["reason"] = "pending", reason
	out := maps.Clone(entry)
	maps.DeleteFunc(out, func(k string, _ any) bool { return k == "state" || strings.HasSuffix(k, ":state") })
	out["state"] = now
	return tree{out}
}

// allInForce applies inForce to entries.
func allInForce(entries []tree) []tree {
	out := make([]tree, len(entries))
	for i, e := range entries {
		out[i] = inForce(e)
	}
	return out
}

// groupsInForce reports whether the switch, which counts them, knows of no flow group that is not in force.
func (s *Shell) groupsInForce(ctx context.Context) bool {
	tally, err := s.client.all(ctx, gpath(talliesRoot, keyed{"tally", "list", flowGroups.container}, "state"))
	if err != nil {
		return false // it does not count, or does not tell us
	}
	for _, word := range []string{"pending", "failed", "unknown"} {
		if n, ok := tally.count(word); !ok || n > 0 {
			return false
		}
	}
	return true
}

// groupStates puts the states of flow groups: that of one, or of several out of all. Where all are in force no flow
// group is left.
func (s *Shell) groupStates(ctx context.Context, of map[string]tree) error {
	if len(of) == 1 {
		name := slices.Collect(maps.Keys(of))[0]
		state, err := s.client.all(ctx, flowGroups.path(name, "state"))
		of[name] = state
		return err
	}
	if len(of) == 0 || s.groupsInForce(ctx) {
		clear(of)
		return nil
	}
	found, err := s.client.upTo(ctx, listLevels, gpb.GetRequest_STATE, gpath(tamRoot, flowGroups.container))
	for _, e := range found.items(flowGroups.list) {
		of[e.name()] = e.at("state")
	}
	return err
}

// withGroups marks sessions whose flow group is not in force: then the session is not either.
func (s *Shell) withGroups(ctx context.Context, sessions []tree) ([]tree, error) {
	groups := map[string]tree{}
	for _, e := range sessions {
		if g := e.text("config", "flowgroup"); g != "" && !inactive(e.at("state")) {
			groups[g] = tree{}
		}
	}
	if err := s.groupStates(ctx, groups); err != nil || len(groups) == 0 {
		return sessions, err
	}
	out := slices.Clone(sessions)
	for i, e := range sessions {
		g := e.text("config", "flowgroup")
		group := inForce(tree{map[string]any{"state": groups[g].v}}).at("state")
		if !inactive(e.at("state")) && inactive(group) {
			out[i] = pending(e, "flow group "+g+": "+group.text("reason"))
		}
	}
	return out, nil
}
