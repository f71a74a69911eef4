package mgmt

import (
	"strconv"
	"testing"

	"tamtam/mgmt/models"
	"tamtam/swss"
)

// Errors and transitions of a port, and the MTU of IP packets, follow the rows of ports.
func TestStateOfPorts(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000", "CONFIG_DB INTERFACE|Ethernet0": "NULL=NULL",
		"APPL_DB PORT_TABLE:Ethernet0":       "lanes=0 flap_count=3",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP": "Ethernet0=oid:0x1",
		"COUNTERS_DB COUNTERS:oid:0x1":       "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS=4",
	})
	b.shows(t, map[string]string{
		portE0 + "/state/counters/in-fcs-errors": `"4"`, portE0 + "/ethernet/state/counters/in-crc-errors": `"4"`,
		portE0 + "/state/counters/link-transitions": `"3"`, subE0 + "/state/counters/carrier-transitions": `"3"`,
		subE0 + "/ipv4/state/mtu": "9100", subE0 + "/ipv6/state/mtu": "9100",
	})
	b.rows(map[string]string{"APPL_DB PORT_TABLE:Ethernet0": "mtu=1400 flap_count=4"})
	b.shows(t, map[string]string{
		portE0 + "/state/counters/link-transitions": `"4"`, subE0 + "/state/counters/carrier-transitions": `"4"`,
		subE0 + "/ipv4/state/mtu": "1400", subE0 + "/ipv6/state/mtu": "1400",
	})
	// The interface has a smaller MTU, with which IPv6 does not work.
	b.rows(map[string]string{"CONFIG_DB INTERFACE|Ethernet0": "mtu=1000"})
	b.shows(t, map[string]string{subE0 + "/ipv4/state/mtu": "1000", subE0 + "/ipv6/state/mtu": ""})
}

// The MTU of a VLAN interface is that of its VLAN.
func TestMTUOfVLANs(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB VLAN|Vlan10": "vlanid=10", "CONFIG_DB VLAN_INTERFACE|Vlan10": "NULL=NULL",
		"APPL_DB VLAN_TABLE:Vlan10": "mtu=1500"})
	const routed = "/interfaces/interface[name=Vlan10]/routed-vlan"
	b.shows(t, map[string]string{routed + "/ipv4/state/mtu": "1500"})
	b.rows(map[string]string{"APPL_DB VLAN_TABLE:Vlan10": "mtu=1600"})
	b.shows(t, map[string]string{routed + "/ipv4/state/mtu": "1600", routed + "/ipv6/state/mtu": "1600"})
}

// The speed of a PortChannel is what orchagent reports, unless the state of the ASIC is unknown.
func TestLAGSpeed(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORTCHANNEL|PortChannel1": "static=true",
		"APPL_DB LAG_TABLE:PortChannel1": "oper_status=up active_speed=200000"})
	const speed = "/interfaces/interface[name=PortChannel1]/aggregation/state/lag-speed"
	b.shows(t, map[string]string{speed: "200000"})
	b.rows(map[string]string{"APPL_DB LAG_TABLE:PortChannel1": "oper_status=down active_speed=0"})
	b.shows(t, map[string]string{speed: "0"})
	b.rows(map[string]string{"APPL_DB LAG_TABLE:PortChannel1": "oper_status=unknown"})
	b.shows(t, map[string]string{speed: ""})
}

// A next hop has the MAC address of its neighbour, and routes are counted by their origin.
func TestStateOfRoutes(t *testing.T) {
	const afts = "/network-instances/network-instance[name=default]/afts"
	count := func(family, origin string) string {
		return afts + "/aft-summaries/" + family + "-unicast/protocols/protocol[origin-protocol=" + origin +
			"]/state/counters/aft-entries"
	}
	hop := nextHop{Address: "10.0.0.1", Interface: "Ethernet0", Weight: "1"}
	at := afts + "/next-hops/next-hop[index=" + hop.index() + "]"
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost":      "hostname=leaf1",
		"APPL_DB INTF_TABLE:Ethernet0":             "NULL=NULL",
		"APPL_DB INTF_TABLE:Ethernet0:10.0.0.9/24": "scope=global family=IPv4",
		"APPL_DB ROUTE_TABLE:10.0.0.0/24":          "nexthop=10.0.0.1 ifname=Ethernet0 protocol=static",
		"APPL_DB ROUTE_TABLE:10.1.0.0/16":          "nexthop=10.0.0.1 ifname=Ethernet0 protocol=static",
		"APPL_DB ROUTE_TABLE:10.2.0.0/16":          "nexthop=10.0.0.1 ifname=Ethernet0 protocol=0xc4",
		"APPL_DB ROUTE_TABLE:2001:db8::/32":        "nexthop=fe80::1 ifname=Ethernet0 protocol=bgp",
	})
	b.shows(t, map[string]string{
		// The subnet comes before the static route to the same prefix.
		count("ipv4", "DIRECTLY_CONNECTED"): `"1"`, count("ipv4", "STATIC"): `"1"`, count("ipv6", "BGP"): `"1"`,
		count("ipv6", "STATIC"): "", at + "/state/mac-address": "",
		at + "/interface-ref/state/subinterface": "0",
	})
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.3.0.0/16": "nexthop=10.0.0.1 ifname=Ethernet0 protocol=static",
		"APPL_DB NEIGH_TABLE:Ethernet0:10.0.0.1": "neigh=02:00:00:00:00:AA family=IPv4",
		"APPL_DB NEIGH_TABLE:Ethernet4:10.0.0.1": "neigh=02:00:00:00:00:BB family=IPv4"})
	b.shows(t, map[string]string{count("ipv4", "STATIC"): `"2"`, at + "/state/mac-address": `"02:00:00:00:00:aa"`})
}

// A subscriber is notified when the neighbour of a next hop is found.
func TestNextHopIsResolvedOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"APPL_DB ROUTE_TABLE:10.1.0.0/16": "nexthop=10.0.0.1 ifname=Ethernet0"})
	const hops = "/network-instances/network-instance[name=default]/afts/next-hops/next-hop"
	at := hops + "[index=" + nextHop{Address: "10.0.0.1", Interface: "Ethernet0"}.index() + "]/state/mac-address"
	s := b.subscribe(streamOf(subOf(onChange, "/network-instances/network-instance[name=*]/afts/next-hops/"+
		"next-hop[index=*]/state/mac-address")))
	s.want("S")
	b.rows(map[string]string{"APPL_DB NEIGH_TABLE:Ethernet0:10.0.0.1": "neigh=02:00:00:00:00:aa"})
	s.want("U " + at + ` "02:00:00:00:00:aa"`)
	b.rows(map[string]string{"APPL_DB NEIGH_TABLE:Ethernet0:10.0.0.1": "neigh=02:00:00:00:00:bb"})
	s.want("U " + at + ` "02:00:00:00:00:bb"`)
}

// The interfaces of a port on the front panel are in groups of equal speed and number of lanes. The chassis has all
// other components.
func TestPortsOfTheFrontPanel(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"APPL_DB SWITCH_TABLE:switch":  "fdb_aging_time=600",
		"APPL_DB PORT_TABLE:Ethernet0": "index=1 lanes=0,1,2,3 speed=100000"})
	const group = "/components/component[name=port-1]/port/breakout-mode/groups/group"
	const part = "/components/component[name=chassis]/subcomponents/subcomponent"
	of := func(i int, leaf string) string { return group + "[index=" + strconv.Itoa(i) + "]/state/" + leaf }
	b.shows(t, map[string]string{
		of(1, "index"): "1", of(1, "num-breakouts"): "1", of(1, "num-physical-channels"): "4",
		of(1, "breakout-speed"): `"openconfig-if-ethernet:SPEED_100GB"`,
		part + "[name=chip]": `{"openconfig-platform:name":"chip","openconfig-platform:config":{"name":"chip"},
			"openconfig-platform:state":{"name":"chip"}}`,
		part + "[name=port-1]/state/name": `"port-1"`, part + "[name=chassis]": "",
		"/components/component[name=port-1]/subcomponents": "",
	})
	b.rows(map[string]string{"APPL_DB PORT_TABLE:Ethernet0": "lanes=0 speed=25000",
		"APPL_DB PORT_TABLE:Ethernet1": "index=1 lanes=1 speed=25000",
		"APPL_DB PORT_TABLE:Ethernet2": "index=1 lanes=2,3 speed=50000",
		"APPL_DB PORT_TABLE:Ethernet4": "index=2 lanes=4 speed=10000"})
	b.shows(t, map[string]string{
		of(1, "num-breakouts"): "2", of(1, "num-physical-channels"): "1",
		of(1, "breakout-speed"): `"openconfig-if-ethernet:SPEED_25GB"`,
		of(2, "num-breakouts"):  "1", of(2, "num-physical-channels"): "2",
		of(2, "breakout-speed"): `"openconfig-if-ethernet:SPEED_50GB"`, of(3, "index"): "",
		part + "[name=port-2]/name": `"port-2"`,
	})
	b.refusedSet(updating(update(group+"[index=9]/config/index", "9")), "InvalidArgument", "breakout-mode")
}

// A resource is exceeded while orchagent reports it. Its thresholds are those in force, if they are percentages.
func TestThresholdsOfResources(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"APPL_DB SWITCH_TABLE:switch": "fdb_aging_time=600",
		"COUNTERS_DB CRM:STATS":      "crm_stats_ipv4_route_used=90 crm_stats_ipv4_route_available=10",
		"COUNTERS_DB CRM:THRESHOLDS": "ipv4_route_high=85 ipv4_route_low=70 ipv4_route_exceeded=true"})
	const chip = "/components/component[name=chip]/integrated-circuit/utilization/resources/resource[name=ipv4_route]"
	const all = "/system/utilization/resources/resource[name=ipv4_route]"
	b.shows(t, map[string]string{chip + "/state/used": `"90"`, chip + "/state/used-threshold-upper": "85",
		chip + "/state/used-threshold-upper-clear": "70", chip + "/state/used-threshold-upper-exceeded": "true",
		all + "/state/name": `"ipv4_route"`, all + "/state/used-threshold-upper": "85",
		all + "/state/used-threshold-upper-clear": "70", all + "/state/active-component-list": `["chip"]`})
	b.rows(map[string]string{
		"COUNTERS_DB CRM:THRESHOLDS": "ipv4_route_high=95 ipv4_route_low=90 ipv4_route_exceeded=false"})
	b.shows(t, map[string]string{chip + "/state/used-threshold-upper": "95", all + "/state/used-threshold-upper": "95",
		chip + "/state/used-threshold-upper-exceeded": "false"})
	b.rows(map[string]string{"COUNTERS_DB CRM:THRESHOLDS": "ipv4_route_high= ipv4_route_low= ipv4_route_exceeded="})
	b.shows(t, map[string]string{chip + "/state/used-threshold-upper": "", all + "/state/used-threshold-upper": ""})
}

// Packets for the CPU that were dropped are those of the colours that a policer drops. Without a count of one of them
// the sum is unknown.
func TestPolicedPackets(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"APPL_DB SWITCH_TABLE:switch":           "fdb_aging_time=600",
		"APPL_DB COPP_TABLE:a":                  "trap_ids=lldp meter_type=packets cir=1 red_action=drop",
		"APPL_DB COPP_TABLE:b":                  "trap_ids=arp_req meter_type=packets red_action=drop yellow_action=drop",
		"APPL_DB COPP_TABLE:c":                  "trap_ids=bgp",
		"COUNTERS_DB COUNTERS_POLICER_NAME_MAP": "a=oid:0x1 b=oid:0x2",
		"COUNTERS_DB COUNTERS:oid:0x1": "SAI_POLICER_STAT_GREEN_PACKETS=9 SAI_POLICER_STAT_RED_PACKETS=1 " +
			"SAI_POLICER_STAT_RED_BYTES=64",
	})
	const dropped = "/components/component[name=chip]/integrated-circuit/pipeline-counters/control-plane-traffic/state/"
	b.shows(t, map[string]string{dropped + "dropped-aggregate": "", dropped + "dropped-bytes-aggregate": ""})
	b.rows(map[string]string{
		"COUNTERS_DB COUNTERS:oid:0x2": "SAI_POLICER_STAT_YELLOW_PACKETS=2 SAI_POLICER_STAT_RED_PACKETS=4",
	})
	b.shows(t, map[string]string{dropped + "dropped-aggregate": `"7"`, dropped + "dropped-bytes-aggregate": ""})
}

// The rules of access lists are counted for all interfaces together.
func TestCountersOfACLs(t *testing.T) {
	b := newBed(t, nil)
	b.shows(t, map[string]string{"/acl/state": ""})
	b.rows(map[string]string{"APPL_DB SWITCH_TABLE:switch": "fdb_aging_time=600"})
	b.shows(t, map[string]string{"/acl/state/counter-capability": `"openconfig-acl:AGGREGATE_ONLY"`})
}

// The resolver, the time zone and the load of processes are those of the machine.
func TestStateOfTheMachine(t *testing.T) {
	tables := map[string]map[string]map[string]string{
		models.HostState: {"switch": {"timezone-name": "Europe/Oslo", "search": "a.example b.example",
			"domain-name": "a.example"}},
		models.HostCPUs:      {"ALL": {"instant": "7", "avg": "9", "interval": "60000000000"}, "0": {}},
		models.HostProcesses: {"7": {"name": "tamtam", "cpu-utilization": "25"}, "8": {"name": "sh"}},
	}
	b := newBed(t, func(c *Config) {
		c.Host = func(table string) map[string]map[string]string { return tables[table] }
	})
	b.shows(t, map[string]string{"/system/clock/state/timezone-name": `"Europe/Oslo"`,
		"/system/dns/state/search":                               `["a.example","b.example"]`,
		"/system/processes/process[pid=7]/state/cpu-utilization": "25",
		"/system/processes/process[pid=8]/state/cpu-utilization": ""})
	b.shows(t, map[string]string{"/system/state/domain-name": `"a.example"`,
		"/system/cpus/cpu[index=ALL]/state/total": `{"openconfig-system:avg":9,"openconfig-system:instant":7,
			"openconfig-system:interval":"60000000000"}`,
		"/system/cpus/cpu[index=0]/state": `{"openconfig-system:index":0}`})
	tables[models.HostCPUs]["ALL"]["instant"] = "8"
	b.shows(t, map[string]string{"/system/cpus/cpu[index=ALL]/state/total/instant": "8"})
	tables[models.HostProcesses]["7"]["cpu-utilization"] = "26"
	delete(tables[models.HostState]["switch"], "search")
	b.shows(t, map[string]string{"/system/dns/state/search": "",
		"/system/processes/process[pid=7]/state/cpu-utilization": "26"})
}

// A VLAN interface is up while one of the VLAN's members is. Otherwise its lower layer is down, unless it is itself.
func TestOperOfVLANs(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB VLAN|Vlan10": "vlanid=10", "CONFIG_DB VLAN_INTERFACE|Vlan10": "NULL=NULL"})
	const state = "/interfaces/interface[name=Vlan10]/state"
	b.shows(t, map[string]string{state + "/oper-status": `"UNKNOWN"`, state + "/admin-status": `"UP"`})
	for row, want := range map[string][3]string{
		"admin_status=up oper_status=up last_change=7":     {"UP", "UP", `"7"`},
		"admin_status=up oper_status=down last_change=8":   {"UP", "LOWER_LAYER_DOWN", `"8"`},
		"admin_status=down oper_status=down last_change=9": {"DOWN", "DOWN", `"9"`},
		"admin_status=up oper_status=unknown":              {"UP", "UNKNOWN", ""},
	} {
		b.rows(map[string]string{"APPL_DB VLAN_TABLE:Vlan10": row})
		b.shows(t, map[string]string{state + "/admin-status": strconv.Quote(want[0]),
			state + "/oper-status": strconv.Quote(want[1]), state + "/last-change": want[2],
			state + "/oper-status-number": map[string]string{"UP": "1", "DOWN": "2", "UNKNOWN": "4",
				"LOWER_LAYER_DOWN": "7"}[want[1]]})
		b.redis.DB(swss.ApplDB).Client().Del(b.ctx, "VLAN_TABLE:Vlan10")
	}
}

// The types and codes of ICMP in force are those of the rule in force.
func TestStateOfICMPRules(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB ACL_TABLE|A":           "TYPE=L3",
		"CONFIG_DB ACL_RULE|A|RULE_1":     "PRIORITY=9 ICMP_TYPE=3 ICMP_CODE=1 PACKET_ACTION=DROP",
		"APPL_DB ACL_RULE_TABLE:A:RULE_1": "PRIORITY=9 ICMP_TYPE=11 PACKET_ACTION=DROP",
	})
	const icmp = "/acl/acl-sets/acl-set[name=A][type=ACL_IPV4]/acl-entries/acl-entry[sequence-id=1]/ipv4/icmpv4/state"
	b.shows(t, map[string]string{icmp + "/type": `"openconfig-icmpv4-types:TIME_EXCEEDED"`, icmp + "/code": ""})
	b.rows(map[string]string{"APPL_DB ACL_RULE_TABLE:A:RULE_1": "ICMP_TYPE=3 ICMP_CODE=1"})
	b.shows(t, map[string]string{icmp + "/type": `"openconfig-icmpv4-types:DST_UNREACHABLE"`,
		icmp + "/code": `"openconfig-icmpv4-types:DST_UNREACHABLE_HOST"`})
	b.rows(map[string]string{"CONFIG_DB ACL_TABLE|B": "TYPE=L3V6",
		"CONFIG_DB ACL_RULE|B|RULE_1":     "PRIORITY=9 ICMPV6_TYPE=128 PACKET_ACTION=DROP",
		"APPL_DB ACL_RULE_TABLE:B:RULE_1": "PRIORITY=9 ICMPV6_TYPE=1 ICMPV6_CODE=4 PACKET_ACTION=DROP"})
	const icmpv6 = "/acl/acl-sets/acl-set[name=B][type=ACL_IPV6]/acl-entries/acl-entry[sequence-id=1]/ipv6/icmpv6"
	b.shows(t, map[string]string{icmpv6 + "/config/type": `"openconfig-icmpv6-types:ECHO_REQUEST"`,
		icmpv6 + "/config/code": "", icmpv6 + "/state/type": `"openconfig-icmpv6-types:DESTINATION_UNREACHABLE"`,
		icmpv6 + "/state/code": `"openconfig-icmpv6-types:DST_UNREACHABLE_PORT"`})
}
