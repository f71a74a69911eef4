package tam

import (
	"context"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
	"tamtam/tam/words"
)

// notYet is the reason of objects that the switch has not reported on.
const notYet = "the switch has not reported its status yet"

// outdated contains the leaves of a state that are invalid once the configuration has changed.
var outdated = []string{"status", "reason", "since"}

// InForce returns an entry with its current state. After a change, the switch may not have reported yet, or its report
// may still refer to the previous configuration.
func InForce(e tree.Node) tree.Node {
	state := e.At("state")
	reason := strings.Join(state.Texts("not-in-force"), "; ")
	switch {
	case lingers(e): // deleted, so its report is outdated
		return pending(asConfigured(e), reason)
	case kit.Inactive(state): // the state itself contains the reason
		return e
	case state.Word("status") == "" && e.At("config").Exists():
		reason = notYet
	case reason == "":
		return e
	}
	return pending(e, reason)
}

// lingers reports whether an entry is deleted, but still in the ASIC.
func lingers(e tree.Node) bool {
	return e.Name() != "" && !e.At("config").Exists() && e.At("state", "not-in-force").Exists()
}

// asConfigured returns a lingering entry for display, with its state in place of its config.
func asConfigured(e tree.Node) tree.Node {
	m, ok := e.Value.(map[string]any)
	if !ok {
		return e
	}
	out := map[string]any{}
	for k, v := range m {
		if name := k[strings.LastIndex(k, ":")+1:]; name == "state" {
			out["config"] = v
		} else {
			v = asConfigured(tree.Of(v)).Value
		}
		out[k] = v
	}
	return tree.Of(out)
}

// withLingering joins the config and the state that a server returned. It returns the configured and the lingering
// entries, each with its name and the containers read so far.
func withLingering(configs, states []tree.Node) []map[string]any {
	var out []map[string]any
	seen := map[string]bool{}
	for _, c := range configs {
		seen[c.Name()] = true
		out = append(out, map[string]any{"name": c.Name(), "config": c.Value})
	}
	for _, s := range states {
		m := map[string]any{"name": s.Name(), "state": s.Value}
		if !seen[s.Name()] && lingers(tree.Of(m)) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b map[string]any) int { return tree.Natural(tree.Of(a).Name(), tree.Of(b).Name()) })
	return out
}

// pending returns an entry with the status pending and a reason.
func pending(e tree.Node, reason string) tree.Node {
	entry, _ := e.Value.(map[string]any)
	reported, _ := e.At("state").Value.(map[string]any)
	now := map[string]any{}
	for k, v := range reported {
		if !slices.Contains(outdated, k[strings.LastIndex(k, ":")+1:]) {
			now[k] = v
		}
	}
	now["status"], now["reason"] = words.Pending, reason
	out := maps.Clone(entry)
	maps.DeleteFunc(out, func(k string, _ any) bool { return k == "state" || strings.HasSuffix(k, ":state") })
	out["state"] = now
	return tree.Of(out)
}

// allInForce applies InForce to entries.
func allInForce(entries []tree.Node) []tree.Node {
	out := make([]tree.Node, len(entries))
	for i, e := range entries {
		out[i] = InForce(e)
	}
	return out
}

// groupsInForce reports whether all flow groups are in force by the switch's own count.
func groupsInForce(ctx context.Context, s *kit.Session) bool {
	tally, err := s.Client.All(ctx, tree.Path(talliesRoot, tree.In("tally", "list", FlowGroups.Container), "state"))
	if err != nil {
		return false // the server does not count, or the user may not see it
	}
	for _, word := range kit.NotActive {
		if n, ok := tally.Count(word); !ok || n > 0 {
			return false
		}
	}
	return true
}

// groupStates fills the map, whose keys are names of flow groups, with the states of these groups. It reads a single
// group by itself, and all groups if the map has several. If all flow groups are in force, it clears the map.
func groupStates(ctx context.Context, s *kit.Session, of map[string]tree.Node) error {
	if len(of) == 1 {
		name := slices.Collect(maps.Keys(of))[0]
		state, err := s.Client.All(ctx, FlowGroups.Path(name, "state"))
		of[name] = state
		return err
	}
	if len(of) == 0 || groupsInForce(ctx, s) {
		clear(of)
		return nil
	}
	found, err := s.Client.UpTo(ctx, listLevels, gpb.GetRequest_STATE, tree.Path(TamRoot, FlowGroups.Container))
	for _, e := range found.Items(FlowGroups.list) {
		of[e.Name()] = e.At("state")
	}
	return err
}

// withGroups sets the status of sessions to pending if their flow group is not in force.
func withGroups(ctx context.Context, s *kit.Session, sessions []tree.Node) ([]tree.Node, error) {
	groups := map[string]tree.Node{}
	for _, e := range sessions {
		if g := e.Text("config", "flowgroup"); g != "" && !kit.Inactive(e.At("state")) {
			groups[g] = tree.Node{}
		}
	}
	if err := groupStates(ctx, s, groups); err != nil || len(groups) == 0 {
		return sessions, err
	}
	out := slices.Clone(sessions)
	for i, e := range sessions {
		g := e.Text("config", "flowgroup")
		group := InForce(tree.Of(map[string]any{"state": groups[g].Value})).At("state")
		if !kit.Inactive(e.At("state")) && kit.Inactive(group) {
			out[i] = pending(e, "flow group "+g+": "+group.Text("reason"))
		}
	}
	return out, nil
}
