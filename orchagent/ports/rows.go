package ports

import (
	"strings"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// marker reports whether a key of PORT_TABLE is a marker and not a port.
func marker(key string) bool { return key == schema.PortConfigDone || key == schema.PortInitDone }

// stateKey returns a row's key in STATE_DB. It is that of CONFIG_DB, in which the port of a member may be an alias.
func stateKey(key string, fields swss.FieldValues) string {
	if marker(key) {
		return ""
	}
	key = schema.ConfigKey(key)
	alias := fields[schema.FieldAlias]
	if group, _, ok := strings.Cut(key, "|"); ok && alias != "" {
		return group + "|" + alias
	}
	return key
}

func parsePort(key string, fv swss.FieldValues) (portSpec, error) {
	p, err := schema.ParsePort(key, fv)
	return portSpec{lanes: p.Lanes, speed: p.Speed, mtu: uint32(p.MTU), up: p.AdminUp}, err
}

// parseLAGMember also returns whether the member receives and sends. A disabled member may already receive, so that its
// partner can begin to send.
func parseLAGMember(key string, fv swss.FieldValues) (member, traffic, error) {
	m, err := schema.ParsePortChannelMember(schema.ConfigKey(key), fv)
	enabled := !strings.EqualFold(fv["status"], schema.MemberDisabled)
	return member{m.PortChannel, m.Port}, traffic{enabled || fv[schema.FieldCollecting] == "true", enabled}, err
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
