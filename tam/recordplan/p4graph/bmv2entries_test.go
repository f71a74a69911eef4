package p4graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/record"
)

// An entryTable is a table of a random program: its key is one field of a few bits, which no other table has.
type entryTable struct {
	kind     string // of match
	bits     int
	entries  []keyEntry
	actions  []string
	action   string // the default one
	constant bool   // that one
	byHit    bool
	next     map[string]string
}

// A keyEntry matches values under a mask.
type keyEntry struct {
	key, mask, priority int
	prefix              int
	action              string
}

// randomEntryTable makes a table whose paths lead to some of the tables behind it.
func randomEntryTable(r *rand.Rand, behind []string) *entryTable {
	t := &entryTable{kind: []string{"exact", "ternary", "lpm"}[r.IntN(3)], bits: 1 + r.IntN(3), byHit: r.IntN(3) == 0,
		constant: r.IntN(3) > 0, next: map[string]string{}}
	for i := range 1 + r.IntN(4) {
		t.actions = append(t.actions, fmt.Sprint("a", i))
	}
	t.action = t.actions[r.IntN(len(t.actions))]
	seen := map[[2]int]bool{}
	for i := range r.IntN(5) {
		e := keyEntry{key: r.IntN(1 << t.bits), mask: 1<<t.bits - 1, priority: i + 1, prefix: t.bits,
			action: t.actions[r.IntN(len(t.actions))]}
		switch t.kind {
		case "ternary":
			e.mask = r.IntN(1 << t.bits)
		case "lpm":
			e.prefix = r.IntN(t.bits + 1)
			e.mask = (1<<t.bits - 1) &^ (1<<(t.bits-e.prefix) - 1)
		}
		e.key &= e.mask
		if !seen[[2]int{e.key, e.mask}] {
			seen[[2]int{e.key, e.mask}] = true
			t.entries = append(t.entries, e)
		}
	}
	r.Shuffle(len(t.entries), func(i, k int) { t.entries[i], t.entries[k] = t.entries[k], t.entries[i] })
	labels := t.actions
	if t.byHit {
		labels = []string{bmHit, bmMiss}
	}
	for _, l := range labels {
		t.next[l] = behind[r.IntN(len(behind))]
	}
	return t
}

// lookup is what a packet with a value runs, if the default action is not changed: an action, and whether it hits.
func (t *entryTable) lookup(value int) (action string, hit bool) {
	best := -1
	for i, e := range t.entries {
		if value&e.mask != e.key {
			continue
		}
		if best < 0 || t.kind == "ternary" && e.priority < t.entries[best].priority ||
			t.kind == "lpm" && e.prefix > t.entries[best].prefix {
			best = i
		}
	}
	if best < 0 {
		return t.action, false
	}
	return t.entries[best].action, true
}

// exits are where packets go on from the table, over all values and all default actions that there may be.
func (t *entryTable) exits() []string {
	to := map[string]bool{}
	for value := range 1 << t.bits {
		action, hit := t.lookup(value)
		run := []string{action}
		if !hit && !t.constant {
			run = t.actions
		}
		for _, a := range run {
			switch {
			case !t.byHit:
				to[t.next[a]] = true
			case hit:
				to[t.next[bmHit]] = true
			default:
				to[t.next[bmMiss]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(to))
}

// plain reports whether entries neither cover all values together without one that does alone, nor one another without
// one that covers all: then the graph has just the exits of the table.
func (t *entryTable) plain() bool {
	missed, ran, has := false, map[string]bool{}, map[string]bool{}
	everything := -1 // its priority
	for _, e := range t.entries {
		if e.mask == 0 && t.kind != "exact" {
			everything = e.priority
		}
	}
	for value := range 1 << t.bits {
		action, hit := t.lookup(value)
		missed = missed || !hit
		if hit {
			ran[action] = true
		}
	}
	for _, e := range t.entries {
		if t.kind != "ternary" || everything < 0 || e.priority <= everything {
			has[e.action] = true
		}
	}
	return missed == (everything < 0) && maps.Equal(ran, has)
}

func (t *entryTable) json(name string, ids map[string]int) map[string]any {
	next, list, entries := map[string]any{}, []int{}, []any{}
	for l, to := range t.next {
		if next[l] = to; to == record.Exit {
			next[l] = nil
		}
	}
	for _, a := range t.actions {
		list = append(list, ids[a])
	}
	for _, e := range t.entries {
		m := map[string]any{"match_type": t.kind, "key": fmt.Sprintf("0x%02x", e.key)}
		switch t.kind {
		case "ternary":
			m["mask"] = fmt.Sprintf("0x%02x", e.mask)
		case "lpm":
			m["prefix_length"] = e.prefix
		}
		entries = append(entries, map[string]any{"match_key": []any{m}, "priority": e.priority,
			"action_entry": map[string]any{"action_id": ids[e.action], "action_data": []any{}}})
	}
	return map[string]any{"name": name, "match_type": t.kind, "type": "simple", "next_tables": next, "action_ids": list,
		"actions": t.actions, "entries": entries,
		"key":           []any{map[string]any{"match_type": t.kind, "target": []string{"h", name}}},
		"default_entry": map[string]any{"action_id": ids[t.action], "action_const": t.constant}}
}

// pathsOf are the sequences of nodes from one on, by where each leads.
func pathsOf(from string, to func(string) []string) []string {
	if from == record.Exit {
		return []string{""}
	}
	var all []string
	for _, n := range to(from) {
		for _, p := range pathsOf(n, to) {
			all = append(all, from+" "+p)
		}
	}
	return all
}

// The paths of a program with constant entries have all that packets take, found by running every value through every
// table, and none more unless entries cover one another in part.
func TestPathsOfConstantEntries(t *testing.T) {
	plain := 0
	cases := randtest.Run(t, randtest.Cases{Count: 500}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 37))
		ids, actions := map[string]int{}, []any{}
		for i := range 4 {
			ids[fmt.Sprint("a", i)] = 7 * i
			actions = append(actions, map[string]any{"name": fmt.Sprint("a", i), "id": 7 * i, "primitives": []any{}})
		}
		tables, behind := map[string]*entryTable{}, []string{record.Exit}
		var list []any
		exact := true
		for i := range 1 + r.IntN(5) {
			name := fmt.Sprint("t", i)
			tables[name] = randomEntryTable(r, behind)
			list, behind = append(list, tables[name].json(name, ids)), append(behind, name)
			exact = exact && tables[name].plain()
		}
		init := behind[len(behind)-1]
		text, err := json.Marshal(map[string]any{"actions": actions, "pipelines": []any{map[string]any{"name": "ingress",
			"init_table": init, "tables": list, "conditionals": []any{}}}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := Read(strings.NewReader(string(text)), "")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want := pathsOf(init, func(n string) []string { return tables[n].exits() })
		got := pathsOf(init, func(n string) []string {
			to := map[string]bool{}
			for _, e := range g.Edges {
				if e.From == n {
					to[e.To] = true
				}
			}
			return slices.Sorted(maps.Keys(to))
		})
		for _, p := range want {
			if !slices.Contains(got, p) {
				t.Errorf("no path %q in %q\n%s", p, got, text)
			}
		}
		if exact {
			plain++
			if !slices.Equal(got, want) {
				t.Errorf("paths %q, want %q\n%s", got, want, text)
			}
		}
	})
	if cases.Count >= 100 && plain < cases.Count/10 {
		t.Errorf("%d of %d programs in which no entries cover one another", plain, cases.Count)
	}
}

// Whatever stands in the entries of a table, it is read or refused.
func FuzzConstantEntries(f *testing.F) {
	f.Add(`[{"match_key": [{"match_type": "ternary", "mask": "0x00"}], "action_entry": {"action_id": 0}, "priority": 1}]`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, entries string) {
		if !json.Valid([]byte(entries)) {
			return
		}
		text := `{"actions": [{"name": "a", "id": 0, "primitives": []}], "pipelines": [{"name": "ingress", "init_table": ` +
			`"t", "tables": [` +
			`{"name": "t", "key": [{"match_type": "ternary", "target": ["h", "k"]}], "match_type": "ternary", "next_tables": ` +
			`{"a": null}, ` +
			`"action_ids": [0], "actions": ["a"], "entries": ` + entries + `}]}]}`
		g, err := Read(strings.NewReader(text), "")
		if err == nil && len(g.Edges) == 0 {
			t.Errorf("%s: no packet leaves the table", entries)
		}
	})
}
