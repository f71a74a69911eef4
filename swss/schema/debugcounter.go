package schema

import (
	"strings"
	"time"
)

// Tables of debug counters: drops by SAI's reasons.
const (
	CfgDebugCounter        = "DEBUG_COUNTER"
	CfgDebugReason         = "DEBUG_COUNTER_DROP_REASON"
	AppDebugCounter        = "DEBUG_COUNTER_TABLE"
	AppDebugReason         = "DEBUG_COUNTER_DROP_REASON_TABLE"
	StateDebugCapabilities = "DEBUG_COUNTER_CAPABILITIES"
	CountersDebugPortMap   = "COUNTERS_DEBUG_NAME_PORT_STAT_MAP"
	CountersDebugSwitchMap = "COUNTERS_DEBUG_NAME_SWITCH_STAT_MAP"
	// CountersDebugOIDMap maps counters to their objects. A counter that is created again under its name has a new
	// object.
	CountersDebugOIDMap = "COUNTERS_DEBUG_NAME_OID_MAP"
	// CountersDebugSinceMap maps the object of a counter to the time since which it counts.
	CountersDebugSinceMap = "COUNTERS_DEBUG_OID_SINCE_MAP"
	// CountersDebugCleared holds the values of counters when an operator cleared them, as JSON.
	CountersDebugCleared = "TAMTAM_CLEARED_DEBUG"
	FlexDebugCounter     = "DEBUG_COUNTER" // name of the group, and key of its row in FLEX_COUNTER_TABLE
	FieldDebugCount      = "count"
	FieldDebugReasons    = "reasons"
	debugReasonKey       = "counter|reason"
)

// Tables and fields of persistent drops: drops of debug counters that come again and again. SONiC calls this the drop
// monitor of debug counters; it has nothing to do with [SessionDropMonitor].
const (
	CfgPersistentDrops   = "DEBUG_DROP_MONITOR"
	PersistentDropsKey   = "CONFIG"
	FlexPersistentDrops  = "DEBUG_MONITOR_COUNTER" // key of its row in FLEX_COUNTER_TABLE
	StatePersistentDrops = "TAMTAM_PERSISTENT_DROPS"
	// CountersDropStats is the name of a hash without the counter and the port, and, with CountersIncidents behind them,
	// of a list. They are separated by | even in COUNTERS_DB.
	CountersDropStats  = "DEBUG_DROP_MONITOR_STATS"
	CountersIncidents  = "incidents"
	CountersDropAlerts = "PERSISTENT_DROP_ALERTS"
	FieldLastCount     = "prev_drop_count"
	FieldAlerts        = "alerts"
	FieldLastAlert     = "last_alert" // seconds since 1970
	FieldIncidents     = "live_incidents"
	maxIncidents       = 65535
)

// DropStats returns the names of the hash of COUNTERS_DB with what is known of a debug counter at a port, and of the
// list with the times of its incidents.
func DropStats(counter, port string) (stats, incidents string) {
	stats = CountersDropStats + "|" + counter + "|" + port
	return stats, stats + "|" + CountersIncidents
}

// Types of debug counters.
const (
	PortIngressDrops   = "PORT_INGRESS_DROPS"
	PortEgressDrops    = "PORT_EGRESS_DROPS"
	SwitchIngressDrops = "SWITCH_INGRESS_DROPS"
	SwitchEgressDrops  = "SWITCH_EGRESS_DROPS"
)

// DebugCounterTypes returns all types of debug counters.
func DebugCounterTypes() []string {
	return []string{PortEgressDrops, PortIngressDrops, SwitchEgressDrops, SwitchIngressDrops}
}

// DebugCounter is a row of DEBUG_COUNTER.
type DebugCounter struct {
	Name  string
	Type  string // one of DebugCounterTypes
	Alias string // the displayed name; "" means Name
	Desc  string
	Group string
	Watch DropWatch
}

// DropWatch is how the persistent drops of a debug counter are found. More drops than Drops between two looks are an
// incident; more incidents than Incidents within Window are persistent drops.
type DropWatch struct {
	On        bool
	Drops     uint32
	Incidents uint32
	Window    time.Duration // whole seconds
}

func (c *DebugCounter) layout() layout {
	return layout{table: CfgDebugCounter, key: named(&c.Name), fields: []field{
		word("type", "", DebugCounterTypes(), &c.Type, "What is counted: drops of each port, or of the switch "+
			"as a whole, where packets come in or where they leave.").needed(),
		text("alias", &c.Alias, "What it is called where it is shown; as it is named without it."),
		text("desc", &c.Desc, "What it is for."),
		text("group", &c.Group, "Which counters it is shown with."),
		flag("drop_monitor_status", "enabled", "disabled", false, &c.Watch.On, "Whether persistent drops of this counter "+
			"raise alerts, if those of the switch do (DEBUG_DROP_MONITOR).").ifSet(),
		number("drop_count_threshold", 0, 1<<32-1, 0, &c.Watch.Drops,
			"More drops than that at a port between two looks are an incident.").ifSet(),
		number("incident_count_threshold", 0, maxIncidents, 0, &c.Watch.Incidents,
			"More incidents than that within the window are persistent drops.").ifSet(),
		duration("window", time.Second, 0, 1<<32-1, 0, &c.Watch.Window,
			"Seconds for which an incident counts.").ifSet(),
	}, check: func(r *reader) {
		if c.Watch.On && strings.HasPrefix(c.Type, "SWITCH_") {
			r.bad("drop_monitor_status", "enabled", "disabled: only counters of ports (PORT_INGRESS_DROPS, "+
				"PORT_EGRESS_DROPS) are watched for persistent drops")
		}
	}}
}

// PersistentDrops is the row of DEBUG_DROP_MONITOR: whether any persistent drops raise alerts.
type PersistentDrops struct{ On bool }

func (p *PersistentDrops) layout() layout {
	return layout{table: CfgPersistentDrops, key: only(PersistentDropsKey), fields: []field{
		flag("status", "enabled", "disabled", false, &p.On, "Whether persistent drops raise alerts; those of a counter do "+
			"if its drop_monitor_status is enabled too."),
	}}
}

// DebugReason is a row of DEBUG_COUNTER_DROP_REASON: one reason that a counter counts.
type DebugReason struct {
	Counter string
	Reason  string // SAI's name without SAI_IN_DROP_REASON_ or SAI_OUT_DROP_REASON_
}

func (d *DebugReason) layout() layout {
	return layout{
		table: CfgDebugReason,
		key: key{form: debugReasonKey, read: func(r *reader, key string) {
			counter, reason, _ := strings.Cut(key, "|")
			if d.Counter, d.Reason = counter, reason; !ValidName(counter) || !isReason(reason) {
				r.bad("", key, debugReasonKey+", the reason as SAI has it, such as "+CfgDebugReason+"|drops|L3_ANY")
			}
		}},
	}
}

// isReason reports whether a text can be the name of a reason.
func isReason(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// DebugReasonList formats reasons as in DEBUG_COUNTER_CAPABILITIES.
func DebugReasonList(reasons []string) string { return "[" + strings.Join(reasons, ",") + "]" }

// ParseDebugReasonList parses the output of DebugReasonList.
func ParseDebugReasonList(text string) []string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func debugCounterTables() []Table {
	stats := func(table, of string) Table {
		return Table{Counters: table, Words: "The debug counters of " + of + ".", Fields: []Field{
			{Name: "counter", Form: "name of a statistic in SAI", Words: "Under which the row of COUNTERS has it."},
		}}
	}
	return []Table{
		of(Table{Config: CfgDebugCounter, Appl: AppDebugCounter, State: AppDebugCounter,
			Words: "A debug counter: drops by SAI's reasons."}, DebugCounter{}),
		of(Table{Config: CfgDebugReason, Appl: AppDebugReason, State: AppDebugReason,
			Words: "A reason that a debug counter counts."}, DebugReason{}),
		{State: StateDebugCapabilities, Words: "What debug counters of a type there may be.", Key: oneOf(DebugCounterTypes()),
			Fields: []Field{
				{Name: FieldDebugCount, Form: "a number", Words: "How many there may be."},
				{Name: FieldDebugReasons, Form: "[reason,...]", Words: "What they may count."},
			}},
		of(Table{Config: CfgPersistentDrops, State: CfgPersistentDrops,
			Words: "Whether persistent drops raise alerts (SONiC's drop monitor of debug counters)."}, PersistentDrops{}),
		{State: StatePersistentDrops, Words: "Drops of a debug counter that persist at a port now: each row is an alarm.",
			Key: "counter|port", Fields: []Field{
				{Name: FieldAlerts, Form: "a number", Words: "Alerts so far."},
				{Name: FieldLastAlert, Form: "a time as in RFC 3339", Words: "Of the last alert."},
			}},
		{Counters: CountersDropStats, Words: "What is known of a debug counter at a port, for persistent drops. " +
			"As in SONiC, the table's name ends in | too. The list with the name of this row and |" + CountersIncidents +
			" has the times of its incidents, in seconds since 1970.",
			Key: "counter|port", Fields: []Field{
				{Name: FieldLastCount, Form: "a number", Words: "The counter at the last look."},
				{Name: FieldIncidents, Form: "a number", Words: "Incidents within the window at the last look."},
				{Name: FieldAlerts, Form: "a number", Words: "Alerts so far. Absent: none."},
				{Name: FieldLastAlert, Form: "seconds since 1970", Words: "Of the last alert."},
			}},
		{Counters: CountersDropAlerts, Words: "Alerts of persistent drops, the last 1,000.", Fields: []Field{
			{Name: "alert", Form: "text", Words: "Which ports. The field's name is the counter's, | and seconds since 1970."},
		}},
		stats(CountersDebugPortMap, "ports"), stats(CountersDebugSwitchMap, "the switch"),
		{Counters: CountersDebugOIDMap, Words: "The objects of debug counters.", Fields: []Field{
			{Name: "counter", Form: "object id", Words: "A counter that is created again gets another id. For a counter of " +
				"the switch, the switch's id follows after a blank."},
		}},
		{Counters: CountersDebugSinceMap, Words: "Since when debug counters count; the port that they count at may be newer.",
			Fields: []Field{{Name: "object id", Form: "a time as in RFC 3339", Words: "Of the counter. Empty: not known."}}},
		{Counters: CountersDebugCleared, Words: "What debug counters were when an operator cleared them.", Fields: []Field{
			{Name: "counter", Form: "JSON", Words: "Its object, the mark of the syncd that counted, the counts, and when."},
		}},
	}
}
