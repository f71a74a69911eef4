package qos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/cfgmgr/forward"
	"tamtam/schema"
)

// copp forwards the groups of traps, each with those of its traps whose feature is enabled, and
// reports on groups and traps.
func (d *decision) copp() {
	groups := map[string]schema.COPPGroup{}
	for _, key := range d.rows[schema.CfgCOPPGroup].sorted() {
		g, err := schema.ParseCOPPGroup(key, d.rows[schema.CfgCOPPGroup][key])
		if err != nil {
			d.out.Report(forward.Row{Table: schema.AppCOPP, Key: key}, schema.StatusFailed, schema.Reason(err))
			continue
		}
		g.Traps = nil // those of COPP_TRAP
		groups[key] = g
	}
	for _, key := range d.rows[schema.CfgCOPPTrap].sorted() {
		status, reason := d.trap(key, groups)
		d.out.Report(forward.Row{Table: schema.StateCOPPTrap, Key: key}, status, reason)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		row := forward.Row{Table: schema.AppCOPP, Key: key}
		slices.Sort(groups[key].Traps)
		d.out.Forward(row, groups[key].Fields(), row)
	}
}

// trap adds the traps of a row to their group, or says why not.
func (d *decision) trap(key string, groups map[string]schema.COPPGroup) (status, reason string) {
	t, err := schema.ParseCOPPTrap(key, d.rows[schema.CfgCOPPTrap][key])
	if err != nil {
		return schema.StatusFailed, schema.Reason(err)
	}
	g, ok := groups[t.Group]
	state := strings.ToLower(d.rows[schema.CfgFeature][key]["state"])
	switch {
	case !ok:
		return schema.StatusPending, fmt.Sprintf("trap group %q does not exist", t.Group)
	case !t.Always && state != "enabled" && state != "always_enabled":
		return schema.StatusPending, fmt.Sprintf("feature %q is not enabled", key)
	}
	var things []string
	for _, id := range t.Traps {
		things = append(things, "trap "+id)
	}
	if v := d.take(key, things...); v != (verdict{}) {
		return v.status, v.reason
	}
	g.Traps = append(g.Traps, t.Traps...)
	groups[t.Group] = g
	return schema.StatusActive, ""
}
