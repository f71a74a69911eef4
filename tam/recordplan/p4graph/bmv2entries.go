package p4graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

type (
	// A bmEntry is an entry that a table has for good.
	bmEntry struct {
		Match []struct {
			Kind   string          `json:"match_type"`
			Mask   json.RawMessage `json:"mask"`
			Prefix *int            `json:"prefix_length"`
		} `json:"match_key"`
		Action *struct {
			ID int `json:"action_id"`
		} `json:"action_entry"`
		// Priority counts where an entry may match by masks or ranges. The smallest comes first.
		Priority int `json:"priority"`
	}

	// bmRuns are the actions that a table may run, in the order of its list.
	bmRuns struct {
		any, hits, misses []*bmAction
		hit               bool // it may hit
		never             bool // it never misses
	}
)

// runs finds the actions that a table may run. A table without key never hits. A hit runs the action of an entry,
// which may be any unless the entries are constant. A miss runs the default action if that is fixed, otherwise any, or
// none; a table misses unless a constant entry matches everything.
func (r *bmReader) runs(t *bmTable, actions []*bmAction) (run bmRuns, err error) {
	run = bmRuns{hits: actions, misses: actions, hit: len(t.Key) > 0}
	if t.Entries != nil {
		if run.hits, run.never, err = r.constant(t, actions); err != nil {
			return bmRuns{}, err
		}
		run.hit = len(run.hits) > 0
	}
	if t.Default != nil && t.Default.Const {
		a := r.byID[t.Default.Action]
		if a == nil {
			return bmRuns{}, fmt.Errorf("default_entry: no action has id %d", t.Default.Action)
		}
		if !slices.Contains(actions, a) {
			return bmRuns{}, fmt.Errorf("default_entry: action_id %d is no action of the table; it has %q",
				t.Default.Action, names(actions))
		}
		run.misses = []*bmAction{a}
	}
	may := map[*bmAction]bool{}
	for _, a := range run.hits {
		may[a] = run.hit
	}
	for _, a := range run.misses {
		may[a] = may[a] || !run.never
	}
	for _, a := range actions {
		if may[a] {
			run.any = append(run.any, a)
		}
	}
	return run, nil
}

// constant returns the actions of constant entries that some packet matches, and whether every packet matches one.
func (r *bmReader) constant(t *bmTable, actions []*bmAction) (hits []*bmAction, all bool, err error) {
	has, may := map[*bmAction]bool{}, map[*bmAction]bool{}
	for _, a := range actions {
		has[a] = true
	}
	first := 0 // priority of the entry that matches everything, in a table where priorities count
	byPriority := false
	for i := range t.Entries {
		e := &t.Entries[i]
		if err := e.check(len(t.Key)); err != nil {
			return nil, false, fmt.Errorf("entry %d: %w", i, err)
		}
		if !has[r.byID[e.Action.ID]] {
			return nil, false, fmt.Errorf("entry %d: action_id %d is no action of the table; it has %q",
				i, e.Action.ID, names(actions))
		}
		if e.everything() {
			if prior := e.Priority; !byPriority || prior < first {
				first = prior
			}
			all, byPriority = true, true
		}
	}
	if t.Match != "ternary" && t.Match != "range" {
		byPriority = false
	}
	for i := range t.Entries {
		if e := &t.Entries[i]; !byPriority || e.Priority <= first {
			may[r.byID[e.Action.ID]] = true
		}
	}
	for _, a := range actions {
		if may[a] {
			hits = append(hits, a)
		}
	}
	return hits, all, nil
}

// check holds the form of an entry to the number of fields of the table's key.
func (e *bmEntry) check(fields int) error {
	switch {
	case len(e.Match) != fields:
		return fmt.Errorf("match_key has %d fields, want %d as the key has", len(e.Match), fields)
	case e.Action == nil:
		return errors.New("it has no action_entry")
	}
	return nil
}

// everything reports whether an entry matches every packet.
func (e *bmEntry) everything() bool {
	for _, m := range e.Match {
		switch m.Kind {
		case "ternary":
			var mask string
			if json.Unmarshal(m.Mask, &mask) != nil || strings.Trim(strings.TrimPrefix(mask, "0x"), "0") != "" {
				return false
			}
		case "lpm":
			if m.Prefix == nil || *m.Prefix != 0 {
				return false
			}
		default:
			return false
		}
	}
	return len(e.Match) > 0
}

// oneOf is an action that is one of several.
func oneOf(list []*bmAction) *bmAction {
	one := &bmAction{}
	for _, a := range list {
		one.mayExit, one.mayStay = one.mayExit || a.mayExit, one.mayStay || a.mayStay
	}
	return one
}

// names are the names of actions.
func names(list []*bmAction) []string {
	all := make([]string, len(list))
	for i, a := range list {
		all[i] = a.name
	}
	return all
}
