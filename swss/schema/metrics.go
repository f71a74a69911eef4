package schema

import (
	"slices"
	"strings"
)

// A Metric is a family of metrics. Fields of the tables of COUNTERS_DB name it, see [Field.Metric].
type Metric struct {
	Name  string // without the prefix tamtam_; counters end in _total, all others are gauges
	Unit  string // a UCUM unit; empty if there is none
	Words string // description, in a sentence
	// Label is the label that distinguishes the fields of a row; "" if the family has one field. Its value is the
	// field's Outcome. If that is "", the label has the field's text, and the value is 1.
	Label string
	Scale float64 // factor from the unit of the fields to that of the metric; 0 means 1
}

// Labels whose values are in the declarations of fields.
const (
	labelOutcome = "outcome"
	labelFlag    = "flag"
	labelStatus  = "status"
	labelCount   = "count"
)

const nano = 1e-9 // seconds in a nanosecond

// AnyName is the name of a [Field] that stands for all fields of a row with a number.
const AnyName = "name"

// Metrics returns all families of metrics that fields have. A metric of a period or of an epoch is a gauge, because a
// row has only the last one.
func Metrics() []Metric {
	return []Metric{
		{Name: "tailstamp_packets_total", Unit: "{packet}", Words: "Packets of a session by outcome.", Label: labelOutcome},
		{Name: "tailstamp_matched_bytes_total", Unit: "By", Words: "Bytes of the packets of a session."},
		{Name: "tailstamp_syns_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Segments with SYN in the reverse direction of a session with clamp-mss, by outcome."},
		{Name: "altmark_encap_packets_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Packets of a session with a header of its own, by outcome."},
		{Name: "altmark_period", Words: "Number of the last whole period of a session."},
		{Name: "altmark_period_packets", Unit: "{packet}", Words: "Packets in the last whole period."},
		{Name: "altmark_period_bytes", Unit: "By", Words: "Their bytes, with FCS."},
		{Name: "altmark_period_captures", Unit: "{packet}",
			Words: "Pulses in the last whole period whose time was captured."},
		{Name: "altmark_period_out_of_window_packets", Unit: "{packet}",
			Words: "Packets in the last whole period where the guard allows none."},
		{Name: "altmark_period_foreign_packets", Unit: "{packet}",
			Words: "Packets in the last whole period that came to the initiator with a mark."},
		{Name: "altmark_period_read_timestamp_seconds", Unit: "s",
			Words: "When the last whole period was read, by the switch's clock."},
		{Name: "altmark_period_flag", Words: "1: the last whole period has the flag.", Label: labelFlag},
		{Name: "altmark_path_period", Words: "Number of the last period of a path."},
		{Name: "altmark_path_status", Words: "1: the result of the last period of a path has the status.",
			Label: labelStatus},
		{Name: "altmark_path_packets", Unit: "{packet}", Label: "point",
			Words: "Packets in the last period of a path at its first and last point."},
		{Name: "altmark_path_lost_packets", Unit: "{packet}",
			Words: "Packets lost in the last period of a path; below zero if packets were duplicated."},
		{Name: "altmark_path_delay_seconds", Unit: "s", Words: "Delay in the last period of a path.", Scale: nano},
		{Name: "altmark_path_mean_delay_seconds", Unit: "s", Scale: nano,
			Words: "Mean delay of all packets in the last period of a path."},
		{Name: "altmark_path_jitter_seconds", Unit: "s", Scale: nano,
			Words: "Difference of the delays in the last two periods of a path."},
		{Name: "flymon_buckets", Unit: "{bucket}", Words: "Buckets of one bank of a task."},
		{Name: "flymon_bytes", Unit: "By", Words: "Memory of a task in the chip, all banks together."},
		{Name: "flymon_rules", Unit: "{rule}", Words: "Rules of a task in the chip."},
		{Name: "flymon_group_tasks", Unit: "{task}", Words: "Tasks that use a CMU group."},
		{Name: "flymon_epoch", Words: "Number of the last epoch of a task."},
		{Name: "flymon_epoch_end_timestamp_seconds", Unit: "s", Words: "End of the last epoch of a task.", Scale: nano},
		{Name: "flymon_epoch_flag", Words: "1: the last epoch of a task has the flag.", Label: labelFlag},
		{Name: "flymon_load_ratio", Unit: "1", Words: "Part of a task's buckets that are not 0, in the last epoch."},
		{Name: "flymon_full_ratio", Unit: "1",
			Words: "Part of a task's buckets that are at their maximum, in the last epoch."},
		{Name: "flymon_left_out", Label: "what",
			Words: "In the last epoch: digests that the chip lost, and flows and changes beyond the size of the tables."},
		{Name: "record_packets_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Packets of a session of table recording by outcome; recorded and lost count records."},
		{Name: "record_plan_width", Unit: "bit", Words: "Bits of a record of a session."},
		{Name: "record_plan_entropy", Unit: "bit", Label: "of",
			Words: "Entropy of the plan of a session: of a record, of recording everything, and the bound of any plan."},
		{Name: "record_plan_recovery_ratio", Unit: "1", Words: "Probability that a path follows from its record."},
		{Name: "dropmonitor_packets_total", Unit: "{packet}", Words: "Packets of a session of the drop monitor by outcome.",
			Label: labelOutcome},
		{Name: "dropmonitor_reports_total", Unit: "{report}", Words: "Reports of a session of the drop monitor by outcome.",
			Label: labelOutcome},
		{Name: "dropmonitor_messages_total", Unit: "{message}", Label: labelOutcome,
			Words: "Messages of a session of the drop monitor by outcome."},
		{Name: "dropmonitor_flows", Unit: "{flow}", Words: "Flows of a stateful session that are counted now."},
		{Name: "dropmonitor_evicted_flows_total", Unit: "{flow}",
			Words: "Flows of a stateful session that were reported early, because others needed their place."},
		{Name: "microbursts_total", Unit: "{burst}", Words: "Bursts of a queue that have ended."},
		{Name: "microbursts_lost_total", Unit: "{burst}", Words: "Bursts of a queue without a record."},
		{Name: "microburst_seconds_total", Unit: "s", Words: "Duration of the recorded bursts of a queue.", Scale: nano},
		{Name: "microburst_peak_bytes", Unit: "By", Words: "Largest number of bytes in a queue in a recorded burst."},
		{Name: "microburst_dropped_packets_total", Unit: "{packet}",
			Words: "Packets that a queue dropped in recorded bursts."},
		{Name: "ifa_packets_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Packets of a session of Inband Flow Analyzer by outcome."},
		{Name: "ifa_transit_packets_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Packets of Inband Flow Analyzer at a transit switch by outcome."},
		{Name: "management_report_messages_total", Unit: "{message}", Label: labelOutcome,
			Words: "Messages with reports that the host has sent by the management interface, by outcome."},
		{Name: "sflow_agent_total", Label: labelCount,
			Words: "What sflowd has made of samples: datagrams, samples or drops."},
		{Name: "sflow_collector_total", Label: labelCount,
			Words: "What sflowd has sent to a collector: datagrams, bytes or errors."},
		{Name: "sflow_rule_samples_total", Unit: "{sample}", Label: labelOutcome,
			Words: "Samples of an ACL rule by outcome."},
		{Name: "host_packets_total", Unit: "{packet}", Label: labelCount,
			Words: "Packets of the switch as a host, by what became of them."},
		{Name: "lacp_total", Label: labelCount,
			Words: "What a member of a PortChannel with LACP has sent, received and left out."},
		{Name: "queue_packets_total", Unit: "{packet}", Words: "Packets of an egress queue by outcome.", Label: labelOutcome},
		{Name: "queue_trimmed_packets_total", Unit: "{packet}",
			Words: "Packets that an egress queue did not admit, and that were trimmed."},
		{Name: "queue_trim_copies_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Trimmed packets that an egress queue did not admit, by what became of them."},
		{Name: "port_trimmed_packets_total", Unit: "{packet}", Words: "Packets that queues of a port trimmed."},
		{Name: "port_trim_copies_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Trimmed packets of a port by what became of them."},
		{Name: "switch_trim_copies_total", Unit: "{packet}", Label: labelOutcome,
			Words: "Trimmed packets of the switch by what became of them."},
		{Name: "queue_bytes_total", Unit: "By", Words: "Bytes of an egress queue by outcome.", Label: labelOutcome},
		{Name: "queue_occupancy_bytes", Unit: "By", Words: "Bytes in an egress queue."},
		{Name: "queue_watermark_bytes", Unit: "By",
			Words: "Largest number of bytes in an egress queue since the last clear."},
		{Name: "priority_group_dropped_packets_total", Unit: "{packet}",
			Words: "Packets that an ingress priority group had no room for."},
		{Name: "priority_group_watermark_bytes", Unit: "By", Label: "part",
			Words: "Largest number of bytes that an ingress priority group held, shared or in its headroom."},
		{Name: "buffer_pool_watermark_bytes", Unit: "By", Label: "part",
			Words: "Largest number of bytes in a buffer pool, shared or in its headroom."},
		{Name: "pfc_frames_total", Unit: "{packet}", Label: "frames",
			Words: "Frames of priority flow control of a port, by direction and priority, such as received_3."},
		{Name: "acl_rule_packets_total", Unit: "{packet}", Words: "Packets that matched an ACL rule."},
		{Name: "acl_rule_bytes_total", Unit: "By", Words: "Bytes of the packets that matched an ACL rule."},
		{Name: "trap_packets_total", Unit: "{packet}", Words: "Packets for the CPU by the colour of their policer.",
			Label: "colour"},
		{Name: "trap_bytes_total", Unit: "By", Words: "Bytes of packets for the CPU by the colour of their policer.",
			Label: "colour"},
	}
}

// A MeasuredObject is a kind of objects in the chip whose counters are rows of [CountersTable].
type MeasuredObject struct {
	Map    string   // table with the object's id by its name
	Labels []string // labels of its metrics, one for each part of the name; the parts are separated by colons
	Fields []Field
}

// MeasuredObjects returns the kinds of objects with metrics. Of ports it has those of flow control and trimming.
func MeasuredObjects() []MeasuredObject {
	stat := func(prefix, name, metric, outcome string) Field {
		return Field{Name: prefix + name, Metric: metric, Outcome: outcome}
	}
	queue := MeasuredObject{Map: CountersQueueNameMap, Labels: []string{"port", "queue"}}
	for _, kind := range []struct{ stat, outcome string }{
		{"", "sent"}, {"DROPPED_", "dropped"}, {"WRED_DROPPED_", "wred_dropped"}, {"WRED_ECN_MARKED_", "ecn_marked"},
	} {
		queue.Fields = append(queue.Fields,
			stat("SAI_QUEUE_STAT_", kind.stat+"PACKETS", "queue_packets_total", kind.outcome),
			stat("SAI_QUEUE_STAT_", kind.stat+"BYTES", "queue_bytes_total", kind.outcome))
	}
	queue.Fields = append(queue.Fields, stat("SAI_QUEUE_STAT_", "CURR_OCCUPANCY_BYTES", "queue_occupancy_bytes", ""),
		stat("SAI_QUEUE_STAT_", "WATERMARK_BYTES", "queue_watermark_bytes", ""))
	trimmed := func(kind string) []Field {
		prefix := "SAI_" + strings.ToUpper(kind) + "_STAT_"
		return []Field{stat(prefix, "TRIM_PACKETS", kind+"_trimmed_packets_total", ""),
			stat(prefix, "TX_TRIM_PACKETS", kind+"_trim_copies_total", "sent"),
			stat(prefix, "DROPPED_TRIM_PACKETS", kind+"_trim_copies_total", "dropped")}
	}
	queue.Fields = append(queue.Fields, trimmed("queue")...)
	whole := MeasuredObject{Map: CountersSwitchNameMap, Labels: []string{"chip"}, Fields: trimmed("switch")[1:]}
	trap := MeasuredObject{Map: CountersPolicerNameMap, Labels: []string{"group"}}
	for _, colour := range []string{"green", "yellow", "red"} {
		upper := map[string]string{"green": "GREEN_", "yellow": "YELLOW_", "red": "RED_"}[colour]
		trap.Fields = append(trap.Fields, stat("SAI_POLICER_STAT_", upper+"PACKETS", "trap_packets_total", colour),
			stat("SAI_POLICER_STAT_", upper+"BYTES", "trap_bytes_total", colour))
	}
	group := MeasuredObject{Map: CountersPGNameMap, Labels: []string{"port", "priority_group"}, Fields: []Field{
		stat("SAI_INGRESS_PRIORITY_GROUP_STAT_", "DROPPED_PACKETS", "priority_group_dropped_packets_total", ""),
		stat("SAI_INGRESS_PRIORITY_GROUP_STAT_", "SHARED_WATERMARK_BYTES", "priority_group_watermark_bytes", "shared"),
		stat("SAI_INGRESS_PRIORITY_GROUP_STAT_", "XOFF_ROOM_WATERMARK_BYTES", "priority_group_watermark_bytes", "headroom"),
	}}
	pool := MeasuredObject{Map: CountersPoolNameMap, Labels: []string{"pool"}, Fields: []Field{
		stat("SAI_BUFFER_POOL_STAT_", "WATERMARK_BYTES", "buffer_pool_watermark_bytes", "shared"),
		stat("SAI_BUFFER_POOL_STAT_", "XOFF_ROOM_WATERMARK_BYTES", "buffer_pool_watermark_bytes", "headroom"),
	}}
	port := MeasuredObject{Map: CountersPortNameMap, Labels: []string{"port"}, Fields: trimmed("port")}
	for n := range maxPFC + 1 {
		port.Fields = append(port.Fields,
			stat("SAI_PORT_STAT_PFC_", utoa(uint8(n))+"_RX_PKTS", "pfc_frames_total", "received_"+utoa(uint8(n))),
			stat("SAI_PORT_STAT_PFC_", utoa(uint8(n))+"_TX_PKTS", "pfc_frames_total", "sent_"+utoa(uint8(n))))
	}
	rule := MeasuredObject{Map: CountersACLRuleMap, Labels: []string{"table", "rule"}, Fields: []Field{
		stat("SAI_ACL_COUNTER_ATTR_", "PACKETS", "acl_rule_packets_total", ""),
		stat("SAI_ACL_COUNTER_ATTR_", "BYTES", "acl_rule_bytes_total", ""),
	}}
	return []MeasuredObject{whole, queue, group, pool, port, trap, rule}
}

// MeasuredTables returns the tables of COUNTERS_DB with fields that have metrics.
func MeasuredTables() (list []Table) {
	for _, t := range tables() {
		if t.Counters != "" && slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Metric != "" }) {
			list = append(list, t)
		}
	}
	return list
}
