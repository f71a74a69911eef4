package qos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// disabled is the reason of a row whose only effect is to disable the default row of the same name.
const disabled = "the default of this name is disabled"

// copp forwards the groups of traps, and reports on groups and traps. A forwarded group has the traps whose feature is
// enabled. Once there are ports, SONiC's defaults apply where CONFIG_DB has no row.
func (d *decision) copp() {
	groupDefaults, trapDefaults := forward.Rows{}, forward.Rows{}
	if len(d.rows[schema.CfgPort]) > 0 {
		groupDefaults, trapDefaults = coppDefaults()
	}
	groups := d.trapGroups(groupDefaults)
	given := d.rows[schema.CfgCOPPTrap]
	for _, key := range given.Sorted() {
		fields, off := over(trapDefaults[key], given[key])
		status, reason := schema.StatusActive, disabled
		if !off {
			status, reason = d.trap(key, fields, groups)
		}
		d.out.Report(forward.Row{Table: schema.StateCOPPTrap, Key: key}, status, reason)
	}
	for _, key := range trapDefaults.Sorted() {
		if given[key] != nil {
			continue
		}
		if any, refused := d.defaultTrap(key, trapDefaults[key], groups); any {
			status := schema.StatusActive
			if refused != "" {
				status = schema.StatusFailed
			}
			d.out.Report(forward.Row{Table: schema.StateCOPPTrap, Key: key}, status, refused)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		if d.rows[schema.CfgCOPPGroup][key] == nil && len(g.Traps) == 0 && key != schema.COPPDefault {
			continue // a default without traps
		}
		row := forward.Row{Table: schema.AppCOPP, Key: key}
		slices.Sort(g.Traps)
		d.out.Forward(row, g.Fields(), row)
	}
}

// trapGroups returns the groups that rows define. It reports the status of disabled and invalid rows.
func (d *decision) trapGroups(defaults forward.Rows) map[string]schema.COPPGroup {
	groups := map[string]schema.COPPGroup{}
	given := d.rows[schema.CfgCOPPGroup]
	all := maps.Clone(defaults)
	maps.Copy(all, given)
	for _, key := range all.Sorted() {
		fields, off := over(defaults[key], all[key])
		g, err := schema.ParseCOPPGroup(key, fields)
		row := forward.Row{Table: schema.AppCOPP, Key: key}
		switch {
		case off:
			d.out.Report(row, schema.StatusActive, disabled)
		case err != nil:
			d.out.Report(row, schema.StatusFailed, schema.Reason(err))
		default:
			g.Traps = nil // traps come from COPP_TRAP
			groups[key] = g
		}
	}
	return groups
}

// trap adds the traps of a row to their group, or returns the reason for not doing so. As in SONiC, a trap that cannot
// be added does not keep the row's other traps out.
func (d *decision) trap(
	key string, fields swss.FieldValues, groups map[string]schema.COPPGroup,
) (status, reason string) {
	var bad []string
	t, err := schema.ParseCOPPTrap(key, fields)
	if known, ok := schema.WithKnownTraps(fields); ok {
		var rest error
		if t, rest = schema.ParseCOPPTrap(key, known); rest == nil {
			bad, err = append(bad, schema.Reason(err)), nil
		}
	}
	if err != nil {
		return schema.StatusFailed, schema.Reason(err)
	}
	g, ok := groups[t.Group]
	switch {
	case !ok:
		bad = append(bad, fmt.Sprintf("trap group %q does not exist", t.Group))
	case !t.Always && !d.enabled(key):
		bad = append(bad, fmt.Sprintf("feature %q is not enabled", key))
	default:
		added := 0
		for _, id := range t.Traps {
			if v := d.reserve(key, trapThing(id)); v != (verdict{}) {
				bad = append(bad, v.reason)
				continue
			}
			g.Traps = append(g.Traps, id)
			if why := d.refused[id]; why != "" {
				bad = addOnce(bad, why)
				continue
			}
			added++
		}
		groups[t.Group] = g
		switch {
		case len(bad) == 0:
			return schema.StatusActive, ""
		case added > 0:
			bad = append(bad, "the row's other traps are in the group")
		}
		return schema.StatusFailed, strings.Join(bad, "; ")
	}
	if len(bad) > 1 {
		return schema.StatusFailed, strings.Join(bad, "; ")
	}
	return schema.StatusPending, bad[0]
}

// defaultTrap adds the traps of a default row, except those that a row of CONFIG_DB already defines. It reports whether
// it added any, and why the ASIC has refused some. A trap that it leaves out is not reported, because no row of
// CONFIG_DB requests it.
func (d *decision) defaultTrap(
	key string, fields swss.FieldValues, groups map[string]schema.COPPGroup,
) (any bool, refused string) {
	t, err := schema.ParseCOPPTrap(key, fields)
	g, ok := groups[t.Group]
	if err != nil || !ok || !t.Always && !d.enabled(key) {
		return false, ""
	}
	var bad []string
	for _, id := range t.Traps {
		if d.reserve(key, trapThing(id)) == (verdict{}) {
			g.Traps = append(g.Traps, id)
			any = true
			if why := d.refused[id]; why != "" {
				bad = addOnce(bad, why)
			}
		}
	}
	groups[t.Group] = g
	return any, strings.Join(bad, "; ")
}

// addOnce adds a reason unless the list has it: all traps of a group may be refused for the same reason.
func addOnce(list []string, reason string) []string {
	if slices.Contains(list, reason) {
		return list
	}
	return append(list, reason)
}

func trapThing(id string) string { return "trap " + id }

// enabled reports whether a feature is enabled in FEATURE.
func (d *decision) enabled(feature string) bool {
	state := strings.ToLower(d.rows[schema.CfgFeature][feature]["state"])
	return state == "enabled" || state == "always_enabled"
}
