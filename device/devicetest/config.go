package devicetest

import (
	_ "embed"
	"fmt"
	"maps"
	"testing"

	"tamtam/device"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// TwoPorts returns a switch with Ethernet0 and Ethernet1 in VLAN 10 (untagged) and 20
// (tagged), and one session that matches every frame from Ethernet0.
func TwoPorts() device.ConfigDB {
	c, err := device.ParseConfigDB([]byte(`{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:07:e4"}},
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "alias": "etp1", "mtu": "1500", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "alias": "etp2", "mtu": "1500", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}, "Vlan20": {"vlanid": "20"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"},
		"Vlan20|Ethernet0": {"tagging_mode": "tagged"}, "Vlan20|Ethernet1": {"tagging_mode": "tagged"}},
	"TAM_FEATURES_TABLE": {"TAILSTAMPING": {"status": "ACTIVE"}},
	"TAM_FLOWGROUP_TABLE": {"all": {"id": "1"}},
	"ACL_RULE": {"TAM|all": {"IN_PORTS": "Ethernet0"}},
	"TAM_TAILSTAMPING_TABLE": {"s": {"flowgroup": "all"}}}`))
	if err != nil {
		panic(err)
	}
	return c
}

// Merge returns the rows of two configurations.
func Merge(a, b device.ConfigDB) device.ConfigDB {
	all := device.ConfigDB{}
	for _, c := range []device.ConfigDB{a, b} {
		for table, rows := range c {
			if all[table] == nil {
				all[table] = map[string]swss.FieldValues{}
			}
			maps.Copy(all[table], rows)
		}
	}
	return all
}

// RecordedPorts returns a switch that bridges between two ports. It sends records of packets that enter by the first
// port to a collector at a third port.
func RecordedPorts(fields ...string) device.ConfigDB {
	c := TwoPorts()
	session := swss.FieldValues{"flowgroup": "all", "collector": "c"}
	for i := 0; i < len(fields); i += 2 {
		session[fields[i]] = fields[i+1]
	}
	delete(c, schema.CfgTAMTailStamp)
	c[schema.CfgPort]["Ethernet2"] = swss.FieldValues{"lanes": "2", "speed": "10000", "admin_status": "up"}
	c["INTERFACE"] = map[string]swss.FieldValues{"Ethernet2": {"NULL": "NULL"}, "Ethernet2|10.8.0.1/24": {"NULL": "NULL"}}
	c["NEIGH"] = map[string]swss.FieldValues{"Ethernet2|10.8.0.2": {"neigh": "02:00:00:00:00:77"}}
	c[schema.CfgTAMCollector] = map[string]swss.FieldValues{"c": {"ipaddress": "10.8.0.2", "port": "4739"}}
	c[schema.CfgTAMFeature] = map[string]swss.FieldValues{schema.FeatureTableRecord: {"status": "ACTIVE"}}
	c[schema.CfgTAMTableRecord] = map[string]swss.FieldValues{"s": session}
	return c
}

// AllFeatures returns a switch that uses every feature that counts.
func AllFeatures() device.ConfigDB {
	c := RecordedPorts()
	c[schema.CfgTAMFeature] = map[string]swss.FieldValues{}
	for _, f := range schema.Features() {
		c[schema.CfgTAMFeature][f] = swss.FieldValues{"status": "ACTIVE"}
	}
	c[schema.CfgTAMTailStamp] = map[string]swss.FieldValues{"s": {"flowgroup": "all"}}
	c[schema.CfgTAMAltMark] = map[string]swss.FieldValues{
		"m": {"flowgroup": "all", "role": "initiator", "method": "step", "mark": "dscp0", "interval": "0"},
	}
	c[schema.CfgTAMFlyMonTask] = map[string]swss.FieldValues{
		"z": {"key": "src-ip", "attribute": "frequency", "memory": "192", "epoch": "100", "threshold": "1"},
		"a": {"key": "dst-ip", "attribute": "frequency", "memory": "96", "epoch": "0", "threshold": "1"},
	}
	c[schema.CfgTAMFlyMonQuery] = map[string]swss.FieldValues{"q": {"task": "z", "flow": "10.0.0.1"}}
	c[schema.CfgACLTable] = map[string]swss.FieldValues{"T1": {"type": "L3", "stage": "ingress", "ports@": "Ethernet0"}}
	c[schema.CfgACLRule]["T1|R1"] = swss.FieldValues{"PRIORITY": "10", "SRC_IP": "10.0.0.0/8", "PACKET_ACTION": "FORWARD"}
	return c
}

// RoutedPorts returns a switch that routes between two subnets, with an ACL rule.
func RoutedPorts() device.ConfigDB {
	config := TwoPorts()
	delete(config, "VLAN")
	delete(config, "VLAN_MEMBER")
	config[schema.CfgACLTable] = map[string]swss.FieldValues{"EDGE": {"TYPE": "L3", "PORTS": "Ethernet0"}}
	config[schema.CfgACLRule] = map[string]swss.FieldValues{
		"EDGE|RULE_1": {"PRIORITY": "100", "DST_IP": "10.2.0.9/32", "PACKET_ACTION": "DROP"},
	}
	config["INTERFACE"] = map[string]swss.FieldValues{
		"Ethernet0": {}, "Ethernet0|10.1.0.1/24": {}, "Ethernet1": {}, "Ethernet1|10.2.0.1/24": {},
	}
	config["NEIGH"] = map[string]swss.FieldValues{
		"Ethernet1|10.2.0.9": {"neigh": "02:00:00:00:02:09"}, "Ethernet1|10.2.0.8": {"neigh": "02:00:00:00:02:08"},
	}
	config["STATIC_ROUTE"] = map[string]swss.FieldValues{"10.9.0.0/16": {"nexthop": "10.2.0.8", "ifname": "Ethernet1"}}
	return config
}

// RoutedConfig is a switch with a VLAN of two ports and two routed ports.
const RoutedConfig = `{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:07:e4"}},
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"},
		"Ethernet2": {"lanes": "2", "speed": "10000", "admin_status": "up"},
		"Ethernet3": {"lanes": "3", "speed": "10000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}},
	"VLAN_INTERFACE": {"Vlan10": {}, "Vlan10|10.0.0.1/24": {}, "Vlan10|2001:db8::1/64": {}},
	"INTERFACE": {
		"Ethernet2": {}, "Ethernet2|10.2.0.1/24": {}, "Ethernet2|2001:db8:2::1/64": {},
		"Ethernet3": {"mtu": "1500"}, "Ethernet3|10.3.0.1/24": {}},
	"LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.255.0.1/32": {}},
	"NEIGH": {
		"Vlan10|10.0.0.9": {"neigh": "02:00:00:00:00:09"},
		"Ethernet2|10.2.0.2": {"neigh": "02:00:00:00:00:22"},
		"Ethernet2|2001:db8:2::2": {"neigh": "02:00:00:00:00:22"},
		"Ethernet3|10.3.0.2": {"neigh": "02:00:00:00:00:33"}},
	"FDB": {"Vlan10|02:00:00:00:00:09": {"port": "Ethernet1"}},
	"STATIC_ROUTE": {
		"10.9.0.0/16": {"nexthop": "10.2.0.2"},
		"10.8.0.0/16": {"nexthop": "10.2.0.2,10.3.0.2"},
		"10.7.0.0/16": {"blackhole": "true"},
		"default|2001:db8:9::/48": {"nexthop": "2001:db8:2::2"},
		"10.6.0.0/16": {"nexthop": "10.3.0.7"}}
}`

//go:embed fullswitch.json
var fullSwitch []byte

// FullSwitch returns a configuration in which every table has a row. It has 32 ports of four lanes, and groups
// further flow groups, each with a session of tail-stamping.
func FullSwitch(t *testing.T, groups int) device.ConfigDB {
	t.Helper()
	c, err := device.ParseConfigDB(fullSwitch)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]swss.FieldValues{}
	for i := range 32 {
		ports[fmt.Sprintf("Ethernet%d", 4*i)] = swss.FieldValues{
			"lanes": fmt.Sprintf("%d,%d,%d,%d", 4*i, 4*i+1, 4*i+2, 4*i+3), "alias": fmt.Sprintf("etp%d", i+1),
			"index": fmt.Sprint(i + 1), "speed": "100000", "mtu": "9100", "admin_status": "up",
		}
	}
	c[schema.CfgPort] = ports
	return Merge(c, manyGroups(groups))
}

// manyGroups returns flow groups F0, F1, ..., each with a session.
func manyGroups(n int) device.ConfigDB {
	groups, rules, sessions := map[string]swss.FieldValues{}, map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	for i := range n {
		name := fmt.Sprintf("F%d", i)
		groups[name] = swss.FieldValues{"id": fmt.Sprint(1000 + i)}
		rules["TAM|"+name] = swss.FieldValues{
			"PRIORITY": "100", "SRC_IP": fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), "IP_TYPE": "IPV4ANY",
		}
		sessions["S"+name] = swss.FieldValues{"flowgroup": name}
	}
	return device.ConfigDB{
		schema.CfgTAMFlowGroup: groups, schema.CfgACLRule: rules, schema.CfgTAMTailStamp: sessions,
	}
}
