package schema

import "strings"

// Tables of packet trimming.
const (
	CfgTrimming = "SWITCH_TRIMMING"
	AppTrimming = "SWITCH_TRIMMING_TABLE" // also in STATE_DB
)

// TrimmingKey is the key of the only row of SWITCH_TRIMMING.
const TrimmingKey = "GLOBAL"

// Fields of [StateSwitchCap] about trimming, as SONiC's orchagent has them. They are [SwitchHashUnknown] if the ASIC
// does not report them.
const (
	FieldTrimmingCapable = "SWITCH_TRIMMING_CAPABLE"
	FieldTrimDSCPModes   = "SWITCH|PACKET_TRIMMING_DSCP_RESOLUTION_MODE"
	FieldTrimQueueModes  = "SWITCH|PACKET_TRIMMING_QUEUE_RESOLUTION_MODE"
	FieldTrafficClasses  = "SWITCH|NUMBER_OF_TRAFFIC_CLASSES"
	FieldUnicastQueues   = "SWITCH|NUMBER_OF_UNICAST_QUEUES"
)

// Words that stand for a number in a row of SWITCH_TRIMMING.
const (
	TrimDSCPFromTC   = "from-tc"
	TrimQueueDynamic = "dynamic"
)

// Fields of SWITCH_TRIMMING.
const (
	FieldTrimSize  = "size"
	FieldTrimDSCP  = "dscp_value"
	FieldTrimTC    = "tc_value"
	FieldTrimQueue = "queue_index"
)

// A TrimSetting is a field of a row of SWITCH_TRIMMING, which can have a word instead of a number.
type TrimSetting struct {
	Given  bool   // true if the row has the field
	ByWord bool   // true if the field has its word, such as dynamic; Number is then 0
	Number uint32 // 0 unless Given
}

// SwitchTrimming is the row of SWITCH_TRIMMING: how the switch trims packets that queues do not admit. A field that the
// row does not have leaves the switch as it is.
type SwitchTrimming struct {
	Size  TrimSetting // bytes to which packets are cut
	DSCP  TrimSetting // the new DSCP, or by the map of the egress port
	TC    TrimSetting // the new traffic class, if the DSCP is from the map
	Queue TrimSetting // the new queue, or that of the new DSCP
}

func (t *SwitchTrimming) layout() layout {
	setting := func(name, word string, most uint64, at *TrimSetting, words string) field {
		form := rangeForm(0, most)
		if word != "" {
			form += " or " + word
		}
		return own(name, form, words, func(r *reader) { *at = r.trimSetting(name, word, most) }, func() string {
			switch {
			case !at.Given:
				return ""
			case at.ByWord:
				return word
			}
			return utoa(at.Number)
		})
	}
	return layout{
		table: CfgTrimming, key: only(TrimmingKey),
		fields: []field{
			setting(FieldTrimSize, "", 1<<32-1, &t.Size, "Bytes to which a packet is cut, from its first byte on."),
			setting(FieldTrimDSCP, TrimDSCPFromTC, maxDSCP, &t.DSCP,
				"The DSCP of trimmed packets, or "+TrimDSCPFromTC+": what the tc_to_dscp_map of the egress port has for tc_value."),
			setting(FieldTrimTC, "", 255, &t.TC, "The traffic class of trimmed packets. It counts if dscp_value is "+
				TrimDSCPFromTC+"."),
			setting(FieldTrimQueue, TrimQueueDynamic, 255, &t.Queue,
				"The queue of trimmed packets, or "+TrimQueueDynamic+": that of the traffic class of their new DSCP."),
		},
		check: func(r *reader) {
			if !t.Size.Given && !t.DSCP.Given && !t.TC.Given && !t.Queue.Given && len(r.errs) == 0 {
				r.bad(FieldTrimSize, "", "at least one of "+oneOf(TrimmingFields()))
			}
		},
	}
}

// TrimmingFields returns the fields of SWITCH_TRIMMING, in SONiC's order.
func TrimmingFields() []string {
	return []string{FieldTrimSize, FieldTrimDSCP, FieldTrimTC, FieldTrimQueue}
}

// trimSetting reads a number up to most, or the word.
func (r *reader) trimSetting(name, word string, most uint64) (s TrimSetting) {
	v, ok := r.value(name)
	want := rangeWords(0, most)
	if word != "" {
		want += " or " + word
	}
	switch n, isNumber := decimal(v); {
	case !ok:
		if _, present := r.fields[name]; present {
			r.bad(name, empty, want)
		}
	case word != "" && strings.EqualFold(v, word):
		s = TrimSetting{Given: true, ByWord: true}
	case !isNumber || n > most:
		r.bad(name, v, want)
	default:
		s = TrimSetting{Given: true, Number: uint32(n)}
	}
	return s
}

func trimmingTable() Table {
	return of(Table{Config: CfgTrimming, Appl: AppTrimming, State: AppTrimming,
		Words: "How the switch trims packets that queues do not admit. What was set once can be changed, but not " +
			"removed: the switch keeps it until it starts without these rows."}, SwitchTrimming{})
}

// trimmingCapabilities returns the fields of [StateSwitchCap] about trimming.
func trimmingCapabilities() []Field {
	list := func(name, words string) Field {
		return Field{Name: name, Form: "names separated by commas, or N/A", Words: words}
	}
	number := func(name, words string) Field { return Field{Name: name, Form: "a number or N/A", Words: words} }
	return []Field{
		{Name: FieldTrimmingCapable, Form: "true or false", Words: "Whether packets can be trimmed."},
		list(FieldTrimDSCPModes, "Where the DSCP of trimmed packets can come from."),
		list(FieldTrimQueueModes, "How the queue of trimmed packets can be chosen."),
		number(FieldTrafficClasses, "How many traffic classes the switch has."),
		number(FieldUnicastQueues, "How many queues for unicast a port has."),
	}
}
