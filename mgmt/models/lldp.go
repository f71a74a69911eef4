package models

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// lldpModule returns the mapping of openconfig-lldp: the data that hostd announces for the switch and receives from
// neighbours.
func lldpModule() tree.Module {
	const fixedLLDP = "LLDP is spoken at each port"
	kind := tree.Codec{Get: func(r tree.Record) []string {
		if r.Field("mac") == "" {
			return nil
		}
		return tree.One("MAC_ADDRESS")
	}}
	neighbor := func(name, field string) tree.Leaf { return leaf("state/"+name, readOnly(text("lldp_rem_"+field))) }
	return tree.Module{Name: "openconfig-lldp", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, Leaves: []tree.Leaf{
				leaf("lldp/state/system-name", readOnly(text("hostname"))), leaf("lldp/state/chassis-id", mac("mac")),
				leaf("lldp/state/chassis-id-type", kind),
				leaf("lldp/config/enabled", fixed(constant("true"), fixedLLDP)),
				leaf("lldp/config/system-description",
					fixed(constant(schema.LLDPDescription), "it is that of the program that speaks LLDP")),
			}},
			{DB: swss.StateDB, Table: schema.StateHealth, Key: "hostd", Counter: true,
				Leaves: []tree.Leaf{leaf("lldp/state/enabled", constant("true")),
					leaf("lldp/state/system-description", constant(schema.LLDPDescription))}},
		}},
		{Path: "/lldp/interfaces/interface", View: fixedLLDP, Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet", Entry: true,
				Leaves: []tree.Leaf{leaf("config/enabled", constant("true")), leaf("state/enabled", constant("true"))}},
		}},
		{Path: "/lldp/interfaces/interface/neighbors/neighbor",
			Keys: map[string]tree.Codec{"id": {Get: neighborID}}, Rows: []tree.Row{
				{DB: swss.ApplDB, Table: schema.AppLLDPEntry, Key: "{name}", Entry: true, Leaves: []tree.Leaf{
					neighbor("system-name", "sys_name"), neighbor("system-description", "sys_desc"),
					neighbor("chassis-id", "chassis_id"), neighbor("port-id", "port_id"), neighbor("port-description", "port_desc"),
					neighbor("management-address", "man_addr"),
					leaf("state/chassis-id-type", subtype("lldp_rem_chassis_id_subtype", "CHASSIS_COMPONENT", "INTERFACE_ALIAS",
						"PORT_COMPONENT", "MAC_ADDRESS", "NETWORK_ADDRESS", "INTERFACE_NAME", "LOCAL")),
					leaf("state/port-id-type", subtype("lldp_rem_port_id_subtype", "INTERFACE_ALIAS", "PORT_COMPONENT",
						"MAC_ADDRESS", "NETWORK_ADDRESS", "INTERFACE_NAME", "AGENT_CIRCUIT_ID", "LOCAL")),
				}},
			}},
		{Path: "/lldp/interfaces/interface/neighbors/neighbor/capabilities/capability", Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppLLDPEntry, Key: "{name}", Each: "name", Fold: neighborCan, Entry: true,
				Leaves: []tree.Leaf{leaf("state/enabled", readOnly(text("enabled")))}},
		}},
	}}
}

// systemCapabilities holds OpenConfig's names for the capability bits of IEEE 802.1AB, from bit 0 on.
var systemCapabilities = [...]string{"OTHER", "REPEATER", "MAC_BRIDGE", "WLAN_ACCESS_POINT", "ROUTER", "TELEPHONE",
	"DOCSIS_CABLE_DEVICE", "STATION_ONLY"}

// neighborCan returns the capabilities that a neighbour announces, by name. The index field of each capability is the
// number that the row assigns to the neighbour.
func neighborCan(row map[string]string) map[string]string {
	supported, ok := firstOctet(row["lldp_rem_sys_cap_supported"])
	if !ok {
		return nil
	}
	enabled, known := firstOctet(row["lldp_rem_sys_cap_enabled"])
	list := map[string]string{}
	for i, name := range systemCapabilities {
		bit := uint8(0x80) >> i
		if (supported|enabled)&bit == 0 {
			continue
		}
		fields := map[string]string{neighborIndex: row[neighborIndex]}
		if known {
			fields["enabled"] = strconv.FormatBool(enabled&bit != 0)
		}
		text, _ := json.Marshal(fields) // strings can be encoded
		list[name] = string(text)
	}
	return list
}

// firstOctet returns the first of two octets in hexadecimal; SONiC writes SNMP's bits, the first one highest.
func firstOctet(text string) (uint8, bool) {
	octets, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil || len(octets) != 2 {
		return 0, false
	}
	return octets[0], true
}

// neighborIndex is the field with the number that hostd has given a neighbour.
const neighborIndex = "lldp_rem_index"

// neighborID returns the number that the row has for a neighbour. Without a number, it returns the neighbour's port.
func neighborID(r tree.Record) []string { return tree.One(cmp.Or(r.Field(neighborIndex), r.Keys[0])) }

// subtype returns the codec of a number, counted from 1 as in IEEE 802.1AB, as a word.
func subtype(field string, words ...string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		n, err := strconv.Atoi(r.Field(field))
		if err != nil || n < 1 || n > len(words) {
			return nil
		}
		return tree.One(words[n-1])
	}}
}
