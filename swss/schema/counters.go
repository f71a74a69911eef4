package schema

import (
	"strings"
	"time"
)

// FlexCounter is a row of FLEX_COUNTER_TABLE: whether and how often a group of counters is polled.
type FlexCounter struct {
	Group    string        // ACL, PORT, ...
	Enabled  bool          // false if not Given
	Given    bool          // true if the row has the field FLEX_COUNTER_STATUS
	Interval time.Duration // whole milliseconds, 10 ms to 1 h; 0 means the group's default
}

// Bounds of POLL_INTERVAL, in milliseconds.
const (
	minPoll = 10
	maxPoll = 3_600_000
)

// FieldCountedSince is the prefix of the fields of COUNTERS with the time since which the counters of a group count.
// The group's name follows.
const FieldCountedSince = "COUNTED_SINCE_"

// GroupPort is the group in which the counters of ports are polled.
const GroupPort = "PORT_STAT_COUNTER"

// CollectedTimes returns the times in a hash of CountersCollected, by the groups' keys in FLEX_COUNTER_TABLE.
func CollectedTimes(hash map[string]string) map[string]time.Time {
	times := make(map[string]time.Time, len(hash))
	for group, text := range hash {
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			times[strings.TrimSuffix(group, "_STAT_COUNTER")] = at
		}
	}
	return times
}

// FlexSwitch is the key of FLEX_COUNTER_TABLE of the counters of the switch as a whole.
const FlexSwitch = "SWITCH"

// SwitchName is the name of the switch in [CountersSwitchNameMap].
const SwitchName = "ASIC"

// DefaultPoll returns the default interval of a group of counters, as in SONiC.
func DefaultPoll(group string) time.Duration {
	switch group {
	case "PORT", "RIF", FlexDebugCounter:
		return time.Second
	case "QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK", FlexSwitch, FlexPersistentDrops:
		return time.Minute
	}
	return 10 * time.Second
}

func (c *FlexCounter) layout() layout {
	return layout{
		table: CfgFlexCounter, open: true, upper: true,
		key: key{form: strings.Join(flexKeys(), ", "), read: func(r *reader, key string) {
			if c.Group = key; !ValidName(key) {
				r.bad("", key, "the name of a counter group such as ACL or PORT")
			}
		}},
		fields: []field{
			own("FLEX_COUNTER_STATUS", "enable or disable",
				"Whether the counters are polled; without it, as the group's default is.",
				func(r *reader) {
					c.Enabled = r.flag("FLEX_COUNTER_STATUS", false, "enable", "disable")
					_, c.Given = r.value("FLEX_COUNTER_STATUS")
				},
				func() string {
					switch {
					case !c.Given:
						return ""
					case c.Enabled:
						return "enable"
					}
					return "disable"
				}),
			duration("POLL_INTERVAL", time.Millisecond, minPoll, maxPoll, 0, &c.Interval,
				"In ms; without it, as the group's default is."),
			ignored(sonicFlex...),
		},
	}
}

// Kinds of CRM thresholds.
const (
	CRMPercentage = "percentage"
	CRMUsed       = "used"
	CRMFree       = "free"
)

// CRMThreshold defines when the use of a resource triggers a warning, and when it clears.
type CRMThreshold struct {
	Type      string // CRMPercentage, CRMUsed or CRMFree
	Low, High uint32 // percent (0..100) for CRMPercentage, else number of objects; Low is at most High
}

// CRM is the row CRM|Config.
type CRM struct {
	Interval   time.Duration           // whole seconds, 1..9999; default 300
	Thresholds map[string]CRMThreshold // by resource; resources without an entry have DefaultCRMThreshold
}

// DefaultCRMThreshold returns the threshold of resources that CRM|Config does not contain.
func DefaultCRMThreshold() CRMThreshold { return CRMThreshold{Type: CRMPercentage, Low: 70, High: 85} }

// CRMResources returns the resources that tamtam counts.
func CRMResources() []string {
	return []string{
		"acl_table", "acl_group", "acl_entry", "acl_counter", "ipv4_route", "ipv6_route", "ipv4_nexthop", "ipv6_nexthop",
		"ipv4_neighbor", "ipv6_neighbor", "nexthop_group", "nexthop_group_member", "fdb_entry",
	}
}

// DefaultCRM returns the settings that apply without a row.
func DefaultCRM() CRM { return CRM{Interval: 300 * time.Second, Thresholds: map[string]CRMThreshold{}} }

// layout returns the layout of the row. As in SONiC the key does not matter, and unknown resources are ignored.
func (c *CRM) layout() layout {
	return layout{
		table: CfgCRM, open: true,
		key: about("Config"),
		fields: []field{
			duration("polling_interval", time.Second, 1, 9999, DefaultCRM().Interval, &c.Interval,
				"How often the use of resources is looked at, in seconds."),
			own("RESOURCE_threshold_type", "percentage, used or free", "What the thresholds are of. "+
				"RESOURCE is "+oneOf(CRMResources())+".", nil, nil).or(CRMPercentage),
			within("RESOURCE_low_threshold", 0, 1<<32-1, "Below it a warning ends; of percentage, 0..100.", nil, nil).
				or(utoa(DefaultCRMThreshold().Low)),
			within("RESOURCE_high_threshold", 0, 1<<32-1,
				"From it on there is a warning; of percentage, 0..100.", nil, nil).
				or(utoa(DefaultCRMThreshold().High)),
			ignored(sonicCRM()...),
		},
		check: c.readThresholds,
		format: func(f map[string]string) {
			for res, t := range c.Thresholds {
				f[res+"_threshold_type"] = t.Type
				f[res+"_low_threshold"] = utoa(t.Low)
				f[res+"_high_threshold"] = utoa(t.High)
			}
		},
	}
}

func (c *CRM) readThresholds(r *reader) {
	c.Thresholds = map[string]CRMThreshold{}
	for _, res := range CRMResources() {
		t, d := DefaultCRMThreshold(), DefaultCRMThreshold()
		t.Type = r.word(res+"_threshold_type", d.Type, CRMPercentage, CRMUsed, CRMFree)
		limit := uint64(1<<32 - 1)
		if t.Type == CRMPercentage {
			limit = 100
		}
		t.Low = uint32(r.number(res+"_low_threshold", 0, limit, uint64(d.Low)))
		t.High = uint32(r.number(res+"_high_threshold", 0, limit, uint64(d.High)))
		if t.Low > t.High {
			r.bad(res+"_low_threshold", utoa(t.Low), "at most the high threshold, "+utoa(t.High))
		}
		if t != d {
			c.Thresholds[res] = t
		}
	}
}
