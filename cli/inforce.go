package cli

import (
	"maps"
	"strings"
)

// notYet is said of what the switch has not said anything of.
const notYet = "the switch has not said yet what became of it"

// inForce is an entry with its state as it is right now: behind a change the
// switch may not have said anything yet, or what it says is of what was before.
func inForce(e tree) tree {
	entry, _ := e.v.(map[string]any)
	state := e.at("state")
	reason := strings.Join(state.texts("not-in-force"), "; ")
	switch {
	case inactive(state): // it says itself what is the matter
		return e
	case state.word("status") == "" && e.at("config").exists():
		reason = notYet
	case reason == "":
		return e
	}
	said, _ := state.v.(map[string]any)
	now := map[string]any{}
	for k, v := range said {
		if _, local, _ := strings.Cut(":"+k, ":"); !strings.HasSuffix(local, "status") && !strings.HasSuffix(local, "reason") {
			now[k] = v
		}
	}
	now["status"], now["reason"] = "pending", reason
	out := maps.Clone(entry)
	maps.DeleteFunc(out, func(k string, _ any) bool { return k == "state" || strings.HasSuffix(k, ":state") })
	out["state"] = now
	return tree{out}
}

// allInForce is inForce of entries.
func allInForce(entries []tree) []tree {
	out := make([]tree, len(entries))
	for i, e := range entries {
		out[i] = inForce(e)
	}
	return out
}
