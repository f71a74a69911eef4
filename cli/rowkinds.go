package cli

import (
	"strings"

	"tamtam/cli/kit"
)

// names returns fields whose help is a generic text with their name.
func names(list string) (out []rowField) {
	for name := range strings.FieldsSeq(list) {
		out = append(out, rowField{name: name, help: "Field " + strings.TrimSuffix(name, "@"), kind: anything})
	}
	return out
}

// rowKinds returns the tables of CONFIG_DB with their own commands, but without other nodes in the tree.
func rowKinds() []rowKind {
	name := func(help string) kit.Element {
		return kit.Arg("name", &kit.Kind{Label: "<name>", Parse: kit.ParseName}, help)
	}
	ports := kit.Arg("ports", &kit.Kind{Label: "<EthernetN[,EthernetN]>", Parse: kit.ParseName, Live: kit.LiveInterfaces},
		"Ports")
	queues := kit.Arg("queues", &kit.Kind{Label: "<N | N-M>", Parse: kit.ParseName}, "Queues")
	qos, buffer := kit.Keyword("qos", "Quality of service"), kit.Keyword("buffer", "Packet memory")
	mapped := func(table, word, help string) rowKind {
		return rowKind{table: table, words: []kit.Element{qos, kit.Keyword(word, help)},
			keys:  []kit.Element{name("Name of the map")},
			pairs: &rowField{help: "FROM:TO, with commas between"}}
	}
	return append(aclKinds(),
		rowKind{
			table: "PORT", words: words2("port", "A port as it is made: its lanes and speed"),
			keys: []kit.Element{name("EthernetN")}, update: true, fields: []rowField{
				{"lanes", "Lanes of the chip, such as 0,1,2,3", anything}, {"speed", "Mbit/s", anything},
				{"alias", "Another name", anything}, {"index", "Place on the front panel", anything},
				{"fec", "Error correction", offered("rs", "fc", "none", "auto")},
				{"autoneg", "Autonegotiation", offered("on", "off")},
			},
		},
		mapped("DSCP_TO_TC_MAP", "dscp-to-tc-map", "Traffic classes of DSCPs"),
		mapped("DOT1P_TO_TC_MAP", "dot1p-to-tc-map", "Traffic classes of VLAN priorities"),
		mapped("TC_TO_QUEUE_MAP", "tc-to-queue-map", "Queues of traffic classes"),
		mapped("TC_TO_PRIORITY_GROUP_MAP", "tc-to-priority-group-map", "Ingress priority groups of traffic classes"),
		mapped("TC_TO_DSCP_MAP", "tc-to-dscp-map", "DSCPs of traffic classes"),
		mapped("MAP_PFC_PRIORITY_TO_QUEUE", "pfc-to-queue-map", "Queues that priorities of flow control pause"),
		mapped("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc-to-priority-group-map",
			"Ingress priority groups of priorities of flow control"),
		rowKind{
			table: "PORT_QOS_MAP", words: []kit.Element{qos, kit.Keyword("port", "Maps of ports")}, keys: []kit.Element{ports},
			fields: names("dscp_to_tc_map dot1p_to_tc_map tc_to_queue_map tc_to_pg_map tc_to_dscp_map pfc_to_queue_map " +
				"pfc_to_pg_map pfc_enable scheduler"),
		},
		rowKind{
			table: "SCHEDULER", words: []kit.Element{qos, kit.Keyword("scheduler", "How a queue shares its port")},
			keys: []kit.Element{name("Name of the scheduler")}, fields: []rowField{
				{"type", "How it shares", offered("STRICT", "DWRR", "WRR")}, {"weight", "Of DWRR and WRR, 1 to 100", anything},
				{"meter_type", "What rates and bursts count", offered("bytes", "packets")},
				{"pir", "Peak rate per second", anything}, {"pbs", "Burst at the peak rate", anything},
				{"cir", "Guaranteed rate per second", anything}, {"cbs", "Burst at the guaranteed rate", anything},
			},
		},
		rowKind{
			table: "WRED_PROFILE", words: []kit.Element{qos,
				kit.Keyword("wred-profile", "Drops and marks before a queue is full")},
			keys: []kit.Element{name("Name of the profile")}, fields: []rowField{
				{"wred_green_enable", "Whether packets are dropped", offered("true", "false")},
				{"green_min_threshold", "Octets from which on packets are dropped", anything},
				{"green_max_threshold", "Octets from which on all are", anything},
				{"green_drop_probability", "Percent below that", anything},
				{"ecn", "Whether packets are marked instead", offered("ecn_none", "ecn_green", "ecn_all")},
			},
		},
		rowKind{
			table: "QUEUE", words: []kit.Element{qos, kit.Keyword("queue", "Scheduler and WRED profile of queues")},
			keys: []kit.Element{ports, queues}, fields: names("scheduler wred_profile"),
		},
		rowKind{
			table: "BUFFER_POOL", words: []kit.Element{buffer, kit.Keyword("pool", "A part of the packet memory")},
			keys: []kit.Element{name("Name of the pool")}, fields: []rowField{
				{"type", "Which way", offered("egress", "ingress", "both")},
				{"mode", "How it is shared", offered("dynamic", "static")},
				{"size", "Octets", anything}, {"xoff", "Octets of headroom that priority groups share", anything},
			},
		},
		rowKind{
			table: "BUFFER_PROFILE", words: []kit.Element{buffer, kit.Keyword("profile", "How much of a pool each may take")},
			keys: []kit.Element{name("Name of the profile")},
			fields: append(names("pool size dynamic_th static_th xoff xon xon_offset"), rowField{
				"packet_discard_action", "What becomes of a packet that a queue does not admit", offered("drop", "trim")}),
		},
		rowKind{
			table: "BUFFER_QUEUE", words: []kit.Element{buffer, kit.Keyword("queue", "Buffer profile of queues")},
			keys: []kit.Element{ports, queues}, fields: names("profile"),
		},
		rowKind{
			table: "BUFFER_PG", words: []kit.Element{buffer,
				kit.Keyword("priority-group", "Buffer profile of priority groups")},
			keys: []kit.Element{ports,
				kit.Arg("groups", &kit.Kind{Label: "<N | N-M>", Parse: kit.ParseName}, "Priority groups")},
			fields: names("profile"),
		},
		rowKind{
			table: "WATERMARK_TABLE", words: words2("watermark", "Most octets held"),
			keys:   []kit.Element{kit.Arg("name", offered("TELEMETRY_INTERVAL"), "What is set")},
			fields: []rowField{{"interval", "Seconds after which the periodic watermarks begin again", anything}},
		},
		rowKind{
			table: "SWITCH_HASH", words: words2("switch-hash", "What spreads flows over next hops and ports of PortChannels"),
			keys:   []kit.Element{kit.Arg("key", kit.OneOf(kit.Pick("GLOBAL", "The whole switch")), "The whole switch")},
			update: true, fields: names("ecmp_hash@ lag_hash@ ecmp_hash_algorithm lag_hash_algorithm"),
		},
		rowKind{
			table: "SWITCH_TRIMMING", words: words2("switch-trimming", "What becomes of packets that queues trim"),
			keys:   []kit.Element{kit.Arg("key", kit.OneOf(kit.Pick("GLOBAL", "The whole switch")), "The whole switch")},
			update: true, fields: []rowField{
				{"size", "Octets to which a packet is cut", anything},
				{"dscp_value", "DSCP of trimmed packets, or from-tc", anything},
				{"tc_value", "Traffic class of trimmed packets, with from-tc", anything},
				{"queue_index", "Queue of trimmed packets, or dynamic", anything},
			},
		},
		rowKind{
			table: "TUNNEL", words: words2("tunnel", "A tunnel of IP in IP that ends at the switch"),
			keys: []kit.Element{name("Name of the tunnel")}, fields: []rowField{
				{"tunnel_type", "Kind of the tunnel", offered("IPINIP")}, {"dst_ip", "Address where it ends", anything},
				{"src_ip", "Only packets of this source", anything}, {"dscp_mode", "DSCP", offered("uniform", "pipe")},
				{"ttl_mode", "TTL", offered("uniform", "pipe")}, {"ecn_mode", "ECN", offered("standard", "copy_from_outer")},
			},
		},
		rowKind{
			table: "MIRROR_SESSION", words: words2("mirror-session", "Copies of packets"),
			keys: []kit.Element{name("Name of the session")}, fields: append([]rowField{
				{"type", "Where copies go", offered("ERSPAN", "SPAN")},
				{"direction", "Which packets of the source ports", offered("RX", "TX", "BOTH")},
			}, names("src_ip dst_ip gre_type dscp ttl queue src_port dst_port")...),
		},
		rowKind{
			table: "TAM_FLOW_GROUP", words: words2("match-rule", "A rule of a match group: packets that match all of it"),
			keys: []kit.Element{
				name("Name of the match group"), kit.Arg("rule", &kit.Kind{Label: "<name>", Parse: kit.ParseName},
					"Name of the rule"),
			},
			fields: names("src_ip_prefix dst_ip_prefix ip_protocol l4_src_port l4_dst_port"),
		},
		rowKind{
			table: "COPP_GROUP", words: []kit.Element{kit.Keyword("copp", "What goes to the CPU"),
				kit.Keyword("group", "Queue and policer of traps")},
			keys: []kit.Element{name("Name of the group")}, fields: append([]rowField{
				{"trap_action", "What becomes of the packets", offered("trap", "copy", "drop", "forward")},
				{"meter_type", "What is metered", offered("packets", "bytes")},
				{"mode", "Kind of the policer", offered("sr_tcm", "tr_tcm", "storm")},
			}, names("trap_ids trap_priority queue color cir cbs pir pbs green_action yellow_action red_action")...),
		},
		rowKind{
			table: "COPP_TRAP", words: []kit.Element{kit.Keyword("copp", "What goes to the CPU"),
				kit.Keyword("trap", "Packets of a group")},
			keys: []kit.Element{name("Name of the trap")}, fields: names("trap_ids trap_group always_enabled"),
		},
		rowKind{
			table: "DEBUG_COUNTER", words: words2("drop-counter", "Drops by SAI's reasons"), parts: "DEBUG_COUNTER_DROP_REASON",
			keys: []kit.Element{name("Name of the counter")}, fields: []rowField{
				{"type", "What is counted", dropCounterType}, {"alias", "What it is called where it is shown", anything},
				{"group", "Which counters it is shown with", anything}, {"desc", "What it is for", anything},
				{"drop_monitor_status", "Whether persistent drops raise alerts", offered("enabled", "disabled")},
				{"window", "Seconds for which an incident counts", anything},
				{"drop_count_threshold", "More drops in a minute are an incident", anything},
				{"incident_count_threshold", "More incidents within the window are an alert", anything},
			},
		},
		rowKind{
			table: "DEBUG_COUNTER_DROP_REASON", words: words2("drop-reason", "A reason that a drop counter counts"),
			keys: []kit.Element{name("Name of the counter"), kit.Arg("reason",
				&kit.Kind{Label: "<REASON>", Parse: kit.ParseName}, "As show dropcounters capabilities has it")},
		},
		rowKind{table: "HIGH_FREQUENCY_TELEMETRY_PROFILE",
			words: []kit.Element{kit.Keyword("hft", "Streams of statistics"), kit.Keyword("profile", "How often")},
			keys:  []kit.Element{name("Name of the profile")}, fields: names("stream_state poll_interval")},
		rowKind{table: "HIGH_FREQUENCY_TELEMETRY_GROUP",
			words: []kit.Element{kit.Keyword("hft", "Streams of statistics"), kit.Keyword("group", "What is streamed")},
			keys: []kit.Element{name("Name of the profile"),
				kit.Arg("type", offered("PORT", "QUEUE", "INGRESS_PRIORITY_GROUP", "BUFFER_POOL"), "Type of objects")},
			fields: names("object_names object_counters")},
		rowKind{table: "MICROBURST", words: words2("microburst", "Thresholds of queues whose bursts are recorded"),
			keys: []kit.Element{name("EthernetN"), queues}, fields: names("threshold end_threshold")},
		rowKind{
			table: "FLEX_COUNTER_TABLE", words: words2("counterpoll", "Which counters are polled, and how often"),
			keys: []kit.Element{name("PORT, RIF, QUEUE, QUEUE_WATERMARK, PG_WATERMARK, PG_DROP, ACL, ...")},
			fields: []rowField{{"FLEX_COUNTER_STATUS", "Whether they are", offered("enable", "disable")},
				{"POLL_INTERVAL", "Milliseconds", anything}},
		})
}

// dropCounterType is the kind of the packets that a drop counter counts.
var dropCounterType = offered("PORT_INGRESS_DROPS", "PORT_EGRESS_DROPS", "SWITCH_INGRESS_DROPS", "SWITCH_EGRESS_DROPS")

// words2 returns a list of one keyword with its help.
func words2(word, help string) []kit.Element {
	return []kit.Element{kit.Keyword(word, help)}
}

// aclKinds returns ACL tables, their rules and types.
func aclKinds() []rowKind {
	list := kit.Keyword("access-list", "Which packets may pass, are dropped or copied")
	name := func(as, help string) kit.Element {
		return kit.Arg(as, &kit.Kind{Label: "<name>", Parse: kit.ParseName}, help)
	}
	return []rowKind{
		{
			table: "ACL_TABLE_TYPE",
			words: []kit.Element{list, kit.Keyword("type", "Matches and actions that rules of a table may use")},
			keys:  []kit.Element{name("name", "Name of the type")}, fields: names("MATCHES@ ACTIONS@ BIND_POINTS@"),
		},
		{
			table: "ACL_TABLE", words: []kit.Element{list, kit.Keyword("table", "A list of rules")},
			keys: []kit.Element{name("name", "Name of the table")}, fields: []rowField{
				{"type", "Matches and actions that rules may use", offered("L3", "L3V6", "L3V4V6", "MIRROR", "MIRRORV6", "TAM")},
				{"stage", "Where on a packet's way", offered("INGRESS", "EGRESS")},
				{"ports@", "Ports and PortChannels, with commas between", anything},
				{"policy_desc", "Words of the user", anything},
			},
		},
		{
			table: "ACL_RULE", words: []kit.Element{list, kit.Keyword("rule", "A rule of a table")},
			keys: []kit.Element{name("table", "Name of the table"), name("name", "Name of the rule")},
			fields: append([]rowField{
				{"PRIORITY", "Of several rules that match, the largest counts", anything},
				{"PACKET_ACTION", "What becomes of the packets", offered("FORWARD", "DROP", "COPY")},
			}, names(`REDIRECT_ACTION MIRROR_INGRESS_ACTION MIRROR_EGRESS_ACTION POLICER_ACTION META_DATA_ACTION DSCP_ACTION
				SAMPLE_INGRESS_ACTION SAMPLE_EGRESS_ACTION
				SRC_IP DST_IP SRC_IPV6 DST_IPV6 IP_PROTOCOL NEXT_HEADER L4_SRC_PORT L4_DST_PORT L4_SRC_PORT_RANGE
				L4_DST_PORT_RANGE TCP_FLAGS DSCP TTL IPV6_FLOW_LABEL ICMP_TYPE ICMP_CODE ICMPV6_TYPE ICMPV6_CODE
				ETHER_TYPE IP_TYPE VLAN_ID SRC_MAC DST_MAC TC IN_PORTS OUT_PORTS OUT_PORT TUNNEL_VNI TUNNEL_TERM
				INNER_ETHER_TYPE INNER_IP_PROTOCOL INNER_SRC_IP INNER_L4_SRC_PORT INNER_L4_DST_PORT META_DATA`)...),
		},
	}
}
