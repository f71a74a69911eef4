package schema

import (
	"strconv"
	"strings"
	"time"
)

// BufferPool is a row of BUFFER_POOL and BUFFER_POOL_TABLE.
type BufferPool struct {
	Name    string
	Both    bool   // true if the pool is for ingress and egress
	Ingress bool   // true if the pool is only for ingress
	Dynamic bool   // true if thresholds are fractions of the free memory
	Size    uint64 // size of the pool in bytes
	Xoff    uint64 // headroom that priority groups share, in bytes; 0 unless the pool is for ingress
}

const maxBuffer = 1 << 40 // bytes

// layout returns the layout of the row.
func (p *BufferPool) layout() layout {
	return layout{
		table: CfgBufferPool,
		key:   named(&p.Name),
		fields: []field{
			flag("mode", "dynamic", "static", true, &p.Dynamic,
				"Whether the thresholds are shares of what is free, or bytes."),
			number("size", 0, maxBuffer, 0, &p.Size, "In bytes. A pool of size 0 admits nothing.").must(
				"the size in bytes"),
			number("xoff", 0, maxBuffer, 0, &p.Xoff, "The headroom that priority groups share, in bytes; of an ingress pool.").
				or("0").ifSet(),
			ignored("percentage"),
			own("type", "egress, both or ingress",
				"Which packets it counts: those in queues, those of priority groups, or all.", p.readType,
				func() string {
					switch {
					case p.Ingress:
						return "ingress"
					case p.Both:
						return "both"
					}
					return "egress"
				}).must(""),
		},
		check: func(r *reader) {
			switch {
			case p.Xoff > 0 && !p.Ingress:
				r.bad("xoff", utoa(p.Xoff), "0 or no such field: only a pool of type ingress has headroom")
			case p.Xoff > p.Size && p.Size > 0:
				r.bad("xoff", utoa(p.Xoff), "at most the size, "+utoa(p.Size))
			}
		},
	}
}

func (p *BufferPool) readType(r *reader) {
	switch r.word("type", "", "egress", "both", "ingress") {
	case "both":
		p.Both = true
	case "ingress":
		p.Ingress = true
	case "":
		if r.fields["type"] == "" {
			r.bad("type", "", "egress, both or ingress")
		}
	}
}

// BufferProfile is a row of BUFFER_PROFILE and BUFFER_PROFILE_TABLE: how much of a pool a queue or a priority group may
// use.
type BufferProfile struct {
	Name     string
	Pool     string // name of a BufferPool
	Reserved uint64 // memory reserved for each, in bytes
	// Dynamic means that a queue may hold 2^Alpha times the free memory. Otherwise it may hold Static bytes.
	Dynamic bool
	Alpha   int8   // exponent of the threshold, -8..8
	Static  uint64 // threshold in bytes
	// The thresholds of flow control of a priority group, in bytes. All are 0 for a lossy one and for queues.
	Xoff      uint64 // headroom: what it may hold after it has asked for a pause
	Xon       uint64 // what it holds at most when the pause ends
	XonOffset uint64 // how far below the threshold of the pause it is when the pause ends
	// Trim means that a packet which a queue does not admit is cut and put into another queue. Otherwise it is dropped.
	Trim bool
}

// FieldDiscardAction is the field of [BufferProfile.Trim], and ActionTrim its value if that is true.
const (
	FieldDiscardAction = "packet_discard_action"
	ActionTrim         = "trim"
)

func (p *BufferProfile) layout() layout {
	return layout{
		table: CfgBufferProfile,
		key:   named(&p.Name),
		fields: []field{
			ref("pool", CfgBufferPool, &p.Pool, "The pool that they share.").
				must("the name of a row of " + CfgBufferPool),
			number("size", 0, maxBuffer, 0, &p.Reserved, "Bytes that are kept for each queue or priority group."),
			number("xoff", 0, maxBuffer, 0, &p.Xoff,
				"Headroom: bytes that a priority group may hold after it has asked for a pause.").or("0").ifSet(),
			number("xon", 0, maxBuffer, 0, &p.Xon, "Bytes of a priority group at which the pause ends.").or("0").ifSet(),
			number("xon_offset", 0, maxBuffer, 0, &p.XonOffset,
				"The pause ends as many bytes below the threshold at which it began.").or("0").ifSet(),
			either(FieldDiscardAction, "drop", ActionTrim, &p.Trim,
				"The fate of a packet that a queue does not admit: trim cuts it as SWITCH_TRIMMING has it.").ifSet(),
			ignored("headroom_type"),
			own("dynamic_th", "-8..8", "Each may hold this power of two times what is free. Either this or static_th.",
				p.readThreshold, func() string {
					if !p.Dynamic {
						return ""
					}
					return strconv.Itoa(int(p.Alpha))
				}),
			within("static_th", 0, maxBuffer, "Bytes that each may hold.", nil, func() string {
				if p.Dynamic {
					return ""
				}
				return utoa(p.Static)
			}),
		},
	}
}

// readThreshold reads the threshold, which is in one of two fields. It is an error if both fields are given, or none.
func (p *BufferProfile) readThreshold(r *reader) {
	dynamic, hasDynamic := r.value("dynamic_th")
	_, hasStatic := r.value("static_th")
	p.Dynamic = hasDynamic
	switch {
	case hasDynamic == hasStatic:
		r.bad("dynamic_th", dynamic, "either dynamic_th or static_th")
	case hasDynamic:
		n, err := strconv.ParseInt(dynamic, 10, 8)
		if err != nil || n < -8 || n > 8 {
			r.bad("dynamic_th", dynamic, "a number in -8..8: the power of two that what is free is taken times")
			n = 0
		}
		p.Alpha = int8(n)
	default:
		p.Static = r.number("static_th", 0, maxBuffer, 0)
	}
}

// BufferQueue is a row of BUFFER_QUEUE and BUFFER_QUEUE_TABLE.
type BufferQueue struct {
	QueueKey
	Profile string // name of a BufferProfile
}

func (q *BufferQueue) layout() layout {
	return layout{
		table: CfgBufferQueue,
		key:   queuesKey(&q.QueueKey),
		fields: []field{
			ref("profile", CfgBufferProfile, &q.Profile, "How much each queue may hold.").
				must("the name of a row of " + CfgBufferProfile),
		},
	}
}

// BufferPG is a row of BUFFER_PG and BUFFER_PG_TABLE: how much ingress priority groups may hold.
type BufferPG struct {
	QueueKey
	Profile string // name of a BufferProfile
}

func (g *BufferPG) layout() layout {
	return layout{
		table: CfgBufferPG,
		key:   portsKey(&g.QueueKey, "priority groups", maxGroup),
		fields: []field{
			ref("profile", CfgBufferProfile, &g.Profile, "How much each priority group may hold.").
				must("the name of a row of " + CfgBufferProfile),
		},
	}
}

// BufferProfiles is a row of BUFFER_PORT_INGRESS_PROFILE_LIST or BUFFER_PORT_EGRESS_PROFILE_LIST, and of the tables of
// the same name in APPL_DB: how much of each pool all priority groups or all queues of a port may hold.
type BufferProfiles struct {
	Table    string   // the name of a table of CONFIG_DB
	Ports    []string // sorted
	Profiles []string // names of BufferProfiles, sorted; not empty
}

// FieldProfileList is the field of [BufferProfiles.Profiles].
const FieldProfileList = "profile_list"

func (b *BufferProfiles) layout() layout {
	const want = "names of rows of " + CfgBufferProfile + ", separated by commas"
	return layout{
		table: b.Table,
		key: key{form: "EthernetN, or several separated by commas", read: func(r *reader, key string) {
			b.Ports = r.portKeys(key, key)
		}},
		fields: []field{
			list(FieldProfileList, want, &b.Profiles, ValidName,
				"How much of their pools. The simulated chip accepts it without effect.").must(want).to(CfgBufferProfile),
		},
		check: func(r *reader) {
			if given, ok := r.value(FieldProfileList); ok && len(b.Profiles) == 0 {
				r.bad(FieldProfileList, given, want)
			} else if ok {
				r.idle = append(r.idle, FieldProfileList)
			}
		},
	}
}

// ParseBufferProfiles parses a list of profiles. table is that of CONFIG_DB.
func ParseBufferProfiles(table, key string, fields map[string]string) (BufferProfiles, error) {
	b := BufferProfiles{Table: table}
	err := b.layout().parse(table, key, fields)
	return b, err
}

// WatermarkPeriod is a row of WATERMARK_TABLE: how often the periodic watermarks begin again.
type WatermarkPeriod struct {
	Interval time.Duration // whole seconds; default 120 s, as in SONiC
}

// TelemetryInterval is the key of the only row of WATERMARK_TABLE.
const TelemetryInterval = "TELEMETRY_INTERVAL"

func (w *WatermarkPeriod) layout() layout {
	return layout{
		table: CfgWatermark,
		key:   only(TelemetryInterval),
		fields: []field{
			duration("interval", time.Second, 1, 1<<32-1, 2*time.Minute, &w.Interval,
				"Seconds after which the periodic watermarks begin again."),
		},
	}
}

// WatermarkWords returns what a request in [ClearWatermarkChannel] can name: the watermarks of queues by their type, of
// priority groups, and of buffer pools.
func WatermarkWords() []string {
	return strings.Fields("BUFFER_POOL HEADROOM_POOL PG_HEADROOM PG_SHARED Q_SHARED_ALL Q_SHARED_MULTI Q_SHARED_UNI")
}
