package devicetest

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A RandomConfig writes random rows, valid and invalid, over a small set of names. So rows refer to each other,
// exclude each other, and are deleted while in use.
type RandomConfig struct{ *rand.Rand }

// Pick returns a random one of the given words.
func (r RandomConfig) Pick(of ...string) string { return of[r.IntN(len(of))] }

// Row returns a random row of a random table: its key in CONFIG_DB and its
// fields.
func (r RandomConfig) Row() (string, swss.FieldValues) {
	port := r.Pick("Ethernet0", "Ethernet1", "Ethernet2", "Ethernet3", "etp1", "Ethernet77")
	lag := r.Pick("PortChannel1", "PortChannel2", "PortChannel", "PortChannel1")
	vlan := r.Pick("Vlan10", "Vlan20", "Vlan5000")
	group := r.Pick("F1", "F2", "F3", "F|4")
	switch r.IntN(56) {
	case 0:
		n := r.IntN(4)
		return fmt.Sprintf("PORT|Ethernet%d", n), swss.FieldValues{
			"lanes": r.Pick(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(n), "0", "0,1", "x", "900"),
			"speed": r.Pick("10000", "10000", "7"),
			"alias": r.Pick(fmt.Sprintf("etp%d", n+1), "etp1"), "mtu": r.Pick("9100", "1500", "70000"),
			"admin_status": r.Pick("up", "down", "sideways"),
		}
	case 1:
		return "PORTCHANNEL|" + lag, swss.FieldValues{"admin_status": r.Pick("up", "down"), "mtu": r.Pick("9100", "0")}
	case 2:
		return "PORTCHANNEL_MEMBER|" + lag + "|" + port, swss.FieldValues{"NULL": "NULL"}
	case 3:
		return "VLAN|" + vlan, swss.FieldValues{"vlanid": r.Pick("10", "20", "9999")}
	case 4:
		return "VLAN_MEMBER|" + vlan + "|" + r.Pick(port, lag),
			swss.FieldValues{"tagging_mode": r.Pick("tagged", "untagged", "sometimes")}
	case 5:
		return "ACL_TABLE|" + r.Pick("T1", "T2"), swss.FieldValues{
			"type": r.Pick("L3", "L3", "L3V6", "NONE"), "stage": r.Pick("ingress", "egress", "middle"),
			"ports@": r.Pick("Ethernet0", "Ethernet0,Ethernet2", "PortChannel1", "Ethernet77"),
		}
	case 6:
		return "ACL_RULE|" + r.Pick("T1", "T2") + "|" + r.Pick("R1", "R2", "R3"), swss.FieldValues{
			"PRIORITY": r.Pick("10", "20", "-1"), "SRC_IP": r.Pick("10.0.0.0/8", "10.0.0.1", "300.0.0.0"),
			"L4_DST_PORT_RANGE": r.Pick("1-10", "1-10", "20-3"), "PACKET_ACTION": r.Pick("FORWARD", "DROP", "DANCE"),
		}
	case 7, 8:
		f := swss.FieldValues{"SRC_IP": r.Pick("10.0.0.0/8", "10.1.0.0/16", "10.0.0.1"),
			"PRIORITY": r.Pick("100", "200", "5000")}
		if r.IntN(2) == 0 {
			f["IN_PORTS"] = r.Pick("Ethernet0", "Ethernet0,Ethernet1", "PortChannel1", "etp1", "Ethernet77")
		}
		if r.IntN(3) == 0 {
			f["L4_SRC_PORT_RANGE"] = r.Pick("5-9", "7-7", "9")
		}
		return "ACL_RULE|TAM|" + group, f
	case 9:
		return "TAM_FLOWGROUP_TABLE|" + group,
			swss.FieldValues{"id": r.Pick("1", "2", "3", "none"), "table-name": r.Pick("TAM", "TAM", "T9")}
	case 10:
		f := swss.FieldValues{"flowgroup": group}
		if r.IntN(2) == 0 {
			f["clamp-mss"] = r.Pick("1", "2", "8", "9")
		}
		return "TAM_TAILSTAMPING_TABLE|" + r.Pick("S1", "S2", "S3"), f
	case 11:
		return "TAM_FEATURES_TABLE|" + r.Pick("TAILSTAMPING", "TAILSTAMPING", "ALTMARK", "WINGS"),
			swss.FieldValues{"status": r.Pick("ACTIVE", "ACTIVE", "INACTIVE", "MAYBE")}
	case 12, 13, 14, 15:
		return r.routing(port, lag, vlan)
	case 17, 18, 19, 20, 21, 22, 23:
		return r.qos(r.Pick("Ethernet0", "Ethernet1", "Ethernet2", "Ethernet0,Ethernet3"))
	case 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35:
		return r.marking(r.Pick("1", "2", "3"))
	case 36, 37, 38, 39, 40, 41, 42, 43:
		return r.sketching(r.Pick("1", "2", "3"))
	case 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55:
		return r.recording(r.Pick("1", "2", "3"))
	default:
		return "TAM_COLLECTORS_TABLE|" + r.Pick("C1", "C2"),
			swss.FieldValues{"ipaddress": r.Pick("192.0.2.9", "2001:db8::9", "nowhere"), "port": r.Pick("4739", "0")}
	}
}

// marking returns a random row of a session of alternate marking, or of an object that it needs. Most are valid,
// since marking requires all of them.
func (r RandomConfig) marking(n string) (string, swss.FieldValues) {
	switch r.IntN(6) {
	case 0:
		return "TAM_FEATURES_TABLE|ALTMARK", swss.FieldValues{"status": r.Pick("ACTIVE", "ACTIVE", "ACTIVE", "INACTIVE")}
	case 1:
		return "TAM_FLOWGROUP_TABLE|F" + n, swss.FieldValues{"id": n}
	case 2:
		return "ACL_RULE|TAM|F" + n, swss.FieldValues{"SRC_IP": "10." + n + ".0.0/16", "PRIORITY": r.Pick("100", "200")}
	}
	f := swss.FieldValues{
		"flowgroup": "F" + n, "role": r.Pick("initiator", "transit", "terminator"),
		"method":   r.Pick("step", "step", "pulse", "double", "muxed"),
		"interval": r.Pick("0", "0", "-3"), "mark": r.Pick("dscp0", "dscp1", "ipv4-reserved"),
	}
	if f["method"] == "double" {
		f["mark2"] = r.Pick("dscp2", "dscp2", "dscp0")
	}
	if r.IntN(8) == 0 {
		f[r.Pick("interval", "mark", "mark2")] = r.Pick("9", "ecn", "dscp3")
	}
	if f["role"] == "terminator" {
		f["clear"] = r.Pick("true", "false")
	}
	return "TAM_ALTMARK_TABLE|" + r.Pick("A1", "A2", "A3"), f
}

// sketching returns a random row of a task of FlyMon, or of an object that it needs.
func (r RandomConfig) sketching(n string) (string, swss.FieldValues) {
	switch r.IntN(8) {
	case 0:
		return "TAM_FEATURES_TABLE|FLYMON", swss.FieldValues{"status": r.Pick("ACTIVE", "ACTIVE", "ACTIVE", "INACTIVE")}
	case 1:
		return "TAM_FLOWGROUP_TABLE|F" + n, swss.FieldValues{"id": n}
	case 2:
		return "TAM_FLYMON_QUERY_TABLE|Q" + n,
			swss.FieldValues{"task": "T" + r.Pick("1", "2"), "flow": r.Pick("10.0.0.1", "10.0.0.1,80")}
	}
	f := swss.FieldValues{
		"key":       r.Pick("src-ip", "ip-pair", "5-tuple", "none"),
		"attribute": r.Pick("frequency", "frequency", "frequency(bytes)", "max(size)", "distinct(dst-ip)"),
		"memory":    r.Pick("96", "192", "384"), "epoch": r.Pick("1000", "1000", "100", "0", "-1"),
		"threshold": r.Pick("0", "50"), "plan": r.Pick("false", "false", "false", "true"),
	}
	switch r.IntN(3) {
	case 0:
		f["flowgroup"] = "F" + n
	case 1:
		f["filter"] = r.Pick("protocol=17", "dst-port=80-90", "nothing")
	}
	return "TAM_FLYMON_TASK_TABLE|T" + n, f
}

// recording returns a random row of a session of table recording, or of an object that it needs. Most are valid,
// since recording requires all of them.
func (r RandomConfig) recording(n string) (string, swss.FieldValues) {
	switch r.IntN(9) {
	case 0:
		return "TAM_FEATURES_TABLE|TABLERECORD", swss.FieldValues{"status": r.Pick("ACTIVE", "ACTIVE", "ACTIVE", "INACTIVE")}
	case 1:
		return "TAM_FLOWGROUP_TABLE|F" + n, swss.FieldValues{"id": n}
	case 2:
		return "ACL_RULE|TAM|F" + n, swss.FieldValues{"SRC_IP": "10." + n + ".0.0/16", "PRIORITY": r.Pick("100", "200")}
	case 3, 4, 5:
		return r.toCollector()
	}
	f := swss.FieldValues{
		"flowgroup": "F" + n, "collector": "C9", "phv": r.Pick("8", "16", "8+8"), "mode": r.Pick("exec", "exec+hit"),
		"encapsulation": r.Pick("udp", "erspan"),
	}
	switch r.IntN(8) {
	case 0, 1:
		f["sampler"] = "E1"
	case 2:
		f["must-record"] = r.Pick("chip.acl", "chip.fdb", "chip.wings")
	case 3:
		f[r.Pick("phv", "truncate", "collector")] = r.Pick("7", "C8")
	}
	return "TAM_TABLERECORD_TABLE|R" + n, f
}

// Ground returns the initial rows: all that sessions of table recording need.
func (r RandomConfig) Ground() map[string]swss.FieldValues {
	rows := map[string]swss.FieldValues{
		"TAM_COLLECTORS_TABLE|C9":         {"ipaddress": "10.8.0.2", "port": "4739"},
		"TAM_FEATURES_TABLE|TABLERECORD":  {"status": "ACTIVE"},
		"PORT|Ethernet3":                  {"lanes": "3", "speed": "10000", "admin_status": "up"},
		"INTERFACE|Ethernet3":             {"NULL": "NULL"},
		"INTERFACE|Ethernet3|10.8.0.1/24": {"NULL": "NULL"}, "NEIGH|Ethernet3|10.8.0.2": {"neigh": "02:00:00:00:00:77"},
	}
	for _, n := range []string{"1", "2", "3"} {
		rows["TAM_FLOWGROUP_TABLE|F"+n] = swss.FieldValues{"id": n}
		rows["ACL_RULE|TAM|F"+n] = swss.FieldValues{"SRC_IP": "10." + n + ".0.0/16", "PRIORITY": "100"}
	}
	return rows
}

// toCollector returns a random row among the rows that make the collector C9 reachable.
func (r RandomConfig) toCollector() (string, swss.FieldValues) {
	switch r.IntN(6) {
	case 0:
		return "TAM_COLLECTORS_TABLE|C9", swss.FieldValues{"ipaddress": "10.8.0.2", "port": r.Pick("4739", "4740"),
			"protocol": r.Pick("UDP", "UDP", "UDP", "TCP")}
	case 1:
		return "TAM_SAMPLINGRATE_TABLE|E1", swss.FieldValues{"sampling-rate": r.Pick("1", "8", "8", "0")}
	case 2:
		return "NEIGH|Ethernet3|10.8.0.2", swss.FieldValues{"neigh": r.Pick("02:00:00:00:00:77", "02:00:00:00:00:78")}
	case 3:
		return "INTERFACE|Ethernet3|10.8.0.1/24", swss.FieldValues{"NULL": "NULL"}
	case 4:
		return "INTERFACE|Ethernet3", swss.FieldValues{"NULL": "NULL"}
	}
	return "PORT|Ethernet3", swss.FieldValues{"lanes": "3", "speed": "10000", "admin_status": "up"}
}

// routing returns a random row of a table of routing or of the FDB.
func (r RandomConfig) routing(port, lag, vlan string) (string, swss.FieldValues) {
	name := r.Pick(port, lag, vlan, vlan)
	table := schema.InterfaceTable(name)
	switch r.IntN(9) {
	case 0, 1, 2:
		return r.Pick(table, table, table, "INTERFACE") + "|" + name,
			swss.FieldValues{"mtu": r.Pick("9100", "1500", "0"), "loopback_action": r.Pick("drop", "forward")}
	case 3:
		return table + "|" + name + "|" + r.Pick("10.0.1.1/24", "10.0.2.1/24", "10.0.2.9/16", "2001:db8::1/64",
			"10.0.1.0/24"), swss.FieldValues{"NULL": "NULL"}
	case 4:
		return "NEIGH|" + name + "|" + r.Pick("10.0.1.2", "10.0.2.2", "2001:db8::2", "10.0.1.1"),
			swss.FieldValues{"neigh": r.Pick("02:00:00:00:00:02", "02:00:00:00:00:03", "x")}
	case 5, 6:
		return "STATIC_ROUTE|" + r.Pick("10.9.0.0/16", "default|10.9.0.0/16", "0.0.0.0/0", "10.0.1.0/24", "10.9.0.1/16"),
			swss.FieldValues{"nexthop": r.Pick("10.0.1.2", "10.0.1.2,10.0.2.2", "10.0.1.2,10.0.2.2", "2001:db8::2"),
				"distance": r.Pick("1", "1,2", "3,3")}
	case 7:
		return "FDB|" + vlan + "|" + r.Pick("02:00:00:00:00:02", "02-00-00-00-00-03"),
			swss.FieldValues{"port": r.Pick("Ethernet0", "Ethernet1", lag)}
	}
	return "SWITCH|switch", swss.FieldValues{"fdb_aging_time": r.Pick("30", "60", "never")}
}

// qos returns a random row of the QoS, buffer and mirror tables.
func (r RandomConfig) qos(ports string) (string, swss.FieldValues) {
	queues := ports + "|" + r.Pick("0", "0-1", "1,3", "7-9")
	switch r.IntN(13) {
	case 10:
		group := swss.FieldValues{"trap_action": r.Pick("copy", "trap", "drop"), "queue": r.Pick("0", "4", "8"),
			"trap_priority": r.Pick("1", "4")}
		if r.IntN(3) > 0 {
			maps.Copy(group, swss.FieldValues{
				"meter_type": r.Pick("packets", "bytes"), "mode": r.Pick("sr_tcm", "storm", "tr_tcm"), "cir": r.Pick("600", "6000"),
				"cbs": r.Pick("600", "600", "x"), "red_action": r.Pick("drop", "drop", "forward", "copy"), "pir": "6000",
				"pbs": "10",
			})
		}
		return "COPP_GROUP|" + r.Pick("G1", "G2", "default"), group
	case 11:
		return "COPP_TRAP|" + r.Pick("arp", "lldp"),
			swss.FieldValues{"trap_ids": r.Pick("arp_req", "lldp,arp_req", "bgp"), "trap_group": r.Pick("G1", "G2"),
				"always_enabled": r.Pick("true", "true", "false")}
	case 0:
		return r.Pick("DSCP_TO_TC_MAP|A", "DSCP_TO_TC_MAP|B"),
			swss.FieldValues{r.Pick("0", "46", "64"): r.Pick("1", "5", "16"), "8": "2"}
	case 1:
		return "DOT1P_TO_TC_MAP|A", swss.FieldValues{r.Pick("0", "7"): r.Pick("1", "2")}
	case 2:
		return "TC_TO_QUEUE_MAP|A", swss.FieldValues{"1": r.Pick("1", "2", "15"), "5": "3"}
	case 3:
		return "PORT_QOS_MAP|" + ports, swss.FieldValues{"dscp_to_tc_map": r.Pick("A", "B"),
			r.Pick("tc_to_queue_map", "dot1p_to_tc_map", "tc_to_pg_map", "pfc_to_queue_map"): "A",
			r.Pick("pfc_enable", "pfc_to_pg_map"):                                            r.Pick("3,4", "A")}
	case 4:
		return "SCHEDULER|" + r.Pick("S1", "S2"),
			swss.FieldValues{"type": r.Pick("STRICT", "DWRR", "WRR", "NONE"), "weight": r.Pick("1", "14", "200"),
				r.Pick("pir", "meter_type"): r.Pick("125000000", "bytes")}
	case 5:
		return "WRED_PROFILE|W", swss.FieldValues{
			"ecn": r.Pick("ecn_all", "ecn_none", "ecn_red"), "wred_green_enable": r.Pick("true", "false"),
			"green_min_threshold": r.Pick("1000", "9000"), "green_max_threshold": r.Pick("8000", "20000"),
			"green_drop_probability": r.Pick("5", "100"),
		}
	case 6:
		return "QUEUE|" + queues, swss.FieldValues{"scheduler": r.Pick("S1", "S2"),
			r.Pick("wred_profile", "scheduler"): r.Pick("W", "S1")}
	case 7:
		return "BUFFER_POOL|P", swss.FieldValues{"type": r.Pick("egress", "both", "ingress"),
			"mode": r.Pick("dynamic", "static"), "size": r.Pick("20000", "40000")}
	case 8:
		return "BUFFER_PROFILE|" + r.Pick("F1", "F2"),
			swss.FieldValues{"pool": "P", "size": r.Pick("0", "1000"), r.Pick("dynamic_th", "static_th"): r.Pick("1", "3000"),
				r.Pick("xoff", "headroom_type"): r.Pick("1000", "0")}
	case 9:
		switch r.IntN(4) {
		case 0:
			return "BUFFER_PG|" + queues, swss.FieldValues{"profile": r.Pick("F1", "F2")}
		case 1:
			return r.Pick("TC_TO_PRIORITY_GROUP_MAP|A", "MAP_PFC_PRIORITY_TO_QUEUE|A", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|A"),
				swss.FieldValues{r.Pick("3", "8"): r.Pick("3", "7", "8")}
		}
		return "BUFFER_QUEUE|" + queues, swss.FieldValues{"profile": r.Pick("F1", "F2")}
	default:
		if r.IntN(2) == 0 {
			return "MIRROR_SESSION|" + r.Pick("M1", "M2"),
				swss.FieldValues{"src_ip": "10.0.0.1", "dst_ip": r.Pick("10.0.0.2", "10.0.1.2", "::9"), "dscp": r.Pick("8", "9"),
					"src_port": r.Pick("Ethernet1", "PortChannel1")}
		}
		return "MIRROR_SESSION|" + r.Pick("M1", "M2"), swss.FieldValues{
			"type": "SPAN", "dst_port": r.Pick("Ethernet3", "Ethernet2"),
			"src_port": r.Pick("Ethernet0", "Ethernet0,Ethernet1", "PortChannel1"), "direction": r.Pick("RX", "TX", "BOTH"),
		}
	}
}
