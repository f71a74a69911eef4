// Package forwarding is the mapping of the module tamtam-forwarding: how flows are spread, and tunnels that end at the
// switch.
//
// What belongs here: that module. The rows belong to schema.
package forwarding

import (
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Module returns the mapping of tamtam-forwarding.
func Module() tree.Module {
	state := func(name, field string) tree.Leaf { return kit.Leaf("state/"+name, kit.ReadOnly(kit.Text(field))) }
	outcome := []tree.Leaf{state("status", schema.FieldStatus), state("reason", schema.FieldReason)}
	modes := []tree.Leaf{state("type", "tunnel_type"), state("dscp-mode", "dscp_mode"), state("ttl-mode", "ttl_mode"),
		state("ecn-mode", "ecn_mode")}
	const name, end = "{name}", "{name}|{address}"
	return tree.Module{Name: "tamtam-forwarding", Groups: []tree.Group{
		{Path: "/", Rows: hashRows()},
		{Path: "/tunnels/tunnel", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTunnel, Key: name, Entry: true},
			{DB: swss.ApplDB, Table: schema.AppTunnel, Key: name, Entry: true, Leaves: modes},
			{DB: swss.StateDB, Table: schema.AppTunnel, Key: name, Leaves: outcome},
		}},
		{Path: "/tunnels/tunnel/ends/end", Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppTunnelTerm, Key: "{name}:{address}", Entry: true, Leaves: []tree.Leaf{
				state("type", "term_type"), state("source", "src_ip")}},
			{DB: swss.StateDB, Table: schema.AppTunnelTerm, Key: end, Leaves: outcome},
		}},
	}}
}

// hashRows returns the rows of the hashes. Without a row of SWITCH_HASH, the defaults hold.
func hashRows() []tree.Row {
	usual := schema.DefaultSwitchHash().Fields()
	list := func(name, field, unless string) tree.Leaf {
		return kit.Leaf(name, tree.Codec{Get: func(r tree.Record) []string {
			v := r.Field(field)
			if v == "" {
				v = unless
			}
			if v == schema.SwitchHashUnknown {
				return nil
			}
			return strings.FieldsFunc(v, func(c rune) bool { return c == ',' || c == ' ' })
		}})
	}
	now := func(name, field string) tree.Leaf { return list("switch-hash/state/"+name, field, usual[field]) }
	plain := func(name, field string) tree.Leaf { return kit.Leaf(name, kit.ReadOnly(kit.Text(field))) }
	const can = "switch-hash/capabilities/state/"
	return []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgSwitchHash, Key: schema.SwitchHashKey, Leaves: []tree.Leaf{
			now("ecmp-field", "ecmp_hash"), now("ecmp-algorithm", "ecmp_hash_algorithm"),
			now("lag-field", "lag_hash"), now("lag-algorithm", "lag_hash_algorithm")}},
		{DB: swss.StateDB, Table: schema.AppSwitchHash, Key: schema.SwitchHashKey, Leaves: []tree.Leaf{
			plain("switch-hash/state/status", schema.FieldStatus), plain("switch-hash/state/reason", schema.FieldReason)}},
		{DB: swss.StateDB, Table: schema.StateSwitchCap, Key: schema.SwitchKey, Leaves: []tree.Leaf{
			list(can+"field", schema.FieldHashFields, ""),
			list(can+"ecmp-algorithm", schema.FieldECMPAlgorithms, ""),
			list(can+"lag-algorithm", schema.FieldLAGAlgorithms, ""),
			plain(can+"ecmp-fields", schema.FieldECMPHashCapable), plain(can+"lag-fields", schema.FieldLAGHashCapable),
			plain(can+"ecmp-algorithms", schema.FieldECMPAlgorithmsCapable),
			plain(can+"lag-algorithms", schema.FieldLAGAlgorithmsCapable)}},
	}
}
