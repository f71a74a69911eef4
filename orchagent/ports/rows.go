package ports

import (
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// A rowKey names one row of APPL_DB.
type rowKey struct{ table, key string }

// A store holds the rows of APPL_DB as they are now.
type store map[rowKey]swss.FieldValues

// keys returns the keys of one table, sorted.
func (s store) keys(table string) []string {
	var keys []string
	for k := range s {
		if k.table == table {
			keys = append(keys, k.key)
		}
	}
	slices.SortFunc(keys, schema.CompareNames)
	return keys
}

// stateKey is a row's key as STATE_DB has it: that of CONFIG_DB, where the port
// of a member may be an alias.
func (s store) stateKey(k rowKey) string {
	key := schema.ConfigKey(k.key)
	alias := s[k][schema.FieldAlias]
	if group, _, ok := strings.Cut(key, "|"); ok && alias != "" {
		return group + "|" + alias
	}
	return key
}

func parsePort(key string, fv swss.FieldValues) (portSpec, error) {
	p, err := schema.ParsePort(key, fv)
	return portSpec{lanes: p.Lanes, speed: p.Speed, mtu: uint32(p.MTU), up: p.AdminUp}, err
}

// parseLAGMember also returns whether the member sends and receives.
func parseLAGMember(key string, fv swss.FieldValues) (member, bool, error) {
	m, err := schema.ParsePortChannelMember(schema.ConfigKey(key), fv)
	return member{m.PortChannel, m.Port}, !strings.EqualFold(fv["status"], "disabled"), err
}

func parseVLANMember(key string, fv swss.FieldValues) (member, sai.Enum, error) {
	m, err := schema.ParseVLANMember(schema.ConfigKey(key), fv)
	mode := sai.VLANTaggingModeUntagged
	switch m.Tagging {
	case schema.Tagged:
		mode = sai.VLANTaggingModeTagged
	case schema.PriorityTagged:
		mode = sai.VLANTaggingModePriorityTagged
	}
	return member{m.VLAN, m.Port}, mode, err
}
