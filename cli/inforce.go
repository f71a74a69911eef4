package cli

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// notYet is said of what the switch has not said anything of.
const notYet = "the switch has not said yet what became of it"

// inForce is an entry with its state as it is right now: behind a change the
// switch may not have said anything yet, or what it says is of what was before.
func inForce(e tree) tree {
	entry, _ := e.v.(map[string]any)
	state := e.at("state")
	if !e.at("config").exists() {
		return e // there is only a state
	}
	reason := ""
	switch {
	case state.word("status") == "":
		reason = notYet
	case inactive(state):
		return e
	default:
		for _, box := range []string{"", "l2", "ipv4", "ipv6", "transport"} {
			at := e
			if box != "" {
				at = e.at(box)
			}
			if reason = behind(at.at("config"), at.at("state")); reason != "" {
				break
			}
		}
		if reason == "" {
			return e
		}
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

// behind says which leaf of a state is not what is configured. A leaf that only
// one of them has says nothing: there are defaults, and what is worked out.
func behind(config, state tree) string {
	m, _ := config.v.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		leaf := k[strings.LastIndex(k, ":")+1:]
		wanted, is := config.text(leaf), state.text(leaf)
		switch {
		case slices.Contains([]string{"interfaces", "other-fields", "key", "filter", "attribute"}, leaf):
			continue // one thing has many words there: an alias, a hexadecimal number, a mask that is a prefix
		case config.at(leaf + "-mask").exists(): // the state has the bits that count
			continue
		case wanted == "" || is == "" || sameSetting(wanted, is):
			continue
		case leaf == "flowgroup":
			leaf = "flow group"
		}
		return leaf + " " + wanted + " is not in force yet, " + is + " is"
	}
	return ""
}

// sameSetting compares what is configured with what is in force, which may be
// written otherwise: a prefix of one address, a list in another order.
func sameSetting(a, b string) bool {
	plain := func(text string) []string {
		parts := strings.Split(strings.ToLower(text), ",")
		for i, p := range parts {
			if addr, err := netip.ParseAddr(p); err == nil {
				addr = addr.Unmap()
				parts[i] = netip.PrefixFrom(addr, addr.BitLen()).String()
			} else if prefix, err := netip.ParsePrefix(p); err == nil {
				parts[i] = prefix.Masked().String()
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(parts)))
	}
	return slices.Equal(plain(a), plain(b))
}
