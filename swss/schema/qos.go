package schema

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Bounds of the QoS tables.
const (
	maxDSCP  = 63
	maxDot1p = 7
	maxTC    = 15
	maxQueue = 15
	maxGroup = 7 // of priority groups
	maxPFC   = 7 // of the priorities of flow control
)

// A QoSMap is a row of DSCP_TO_TC_MAP, DOT1P_TO_TC_MAP, TC_TO_QUEUE_MAP, TC_TO_PRIORITY_GROUP_MAP, TC_TO_DSCP_MAP,
// MAP_PFC_PRIORITY_TO_QUEUE or PFC_PRIORITY_TO_PRIORITY_GROUP_MAP, and of the tables of the same name in APPL_DB.
// Values that it omits map to 0, except that a DSCP then stays as it is.
type QoSMap struct {
	Table string // the name of a table of CONFIG_DB
	Name  string
	Pairs []QoSPair // sorted by From, in which no value occurs twice; not empty
}

// A QoSPair maps a DSCP, dot1p priority, traffic class or priority of flow control to a traffic class, queue, priority
// group or DSCP. From is in 0..63, 0..7 or 0..15, To in 0..7, 0..15 or 0..63.
type QoSPair struct{ From, To uint8 }

// layout returns the layout of the map's table. The names of the fields are numbers up to one bound, and their values
// are numbers up to another.
func (m *QoSMap) layout() layout {
	from, to, words := uint64(maxDSCP), uint64(maxTC), "The traffic class of each DSCP."
	const others = " What is not named maps to 0."
	switch m.Table {
	case CfgDot1pToTC:
		from, words = maxDot1p, "The traffic class of each priority of a VLAN tag."
	case CfgTCToQueue:
		from, to, words = maxTC, maxQueue, "The queue of each traffic class."
	case CfgTCToPG:
		from, to, words = maxTC, maxGroup, "The ingress priority group of each traffic class."
	case CfgTCToDSCP:
		from, to, words = maxTC, maxDSCP, "The DSCP that IP packets of each traffic class get."
	case CfgPFCToQueue:
		from, to, words = maxPFC, maxQueue, "The queue that a pause of each priority of flow control stops."
	case CfgPFCToPG:
		from, to, words = maxPFC, maxGroup, "The ingress priority group that each priority of flow control protects."
	}
	if m.Table != CfgTCToDSCP {
		words += others
	}
	return layout{
		table:  m.Table,
		key:    named(&m.Name),
		fields: []field{own(rangeForm(0, from), rangeForm(0, to), words, nil, nil)},
		check:  func(r *reader) { r.qosMap(m, from, to) },
		format: func(f map[string]string) {
			for _, p := range m.Pairs {
				f[utoa(p.From)] = utoa(p.To)
			}
		},
	}
}

func (r *reader) qosMap(m *QoSMap, from, to uint64) {
	for _, f := range slices.Sorted(maps.Keys(r.fields)) {
		r.known = append(r.known, f)
		n, ok := decimal(f)
		if !ok || n > from {
			r.bad(f, cmp.Or(r.fields[f], empty), "fields that are "+rangeWords(0, from))
			continue
		}
		p := QoSPair{uint8(n), uint8(r.number(f, 0, to, 0))}
		if slices.ContainsFunc(m.Pairs, func(q QoSPair) bool { return q.From == p.From }) {
			r.bad(f, r.fields[f], "the field once")
			continue
		}
		m.Pairs = append(m.Pairs, p)
	}
	if len(r.fields) == 0 {
		r.bad("0", "", "at least one value in "+rangeWords(0, from)+" as field")
	}
	slices.SortFunc(m.Pairs, func(a, b QoSPair) int { return cmp.Compare(a.From, b.From) })
}

// ParseQoSMap parses a map. table is that of CONFIG_DB.
func ParseQoSMap(table, key string, fields map[string]string) (QoSMap, error) {
	m := QoSMap{Table: table}
	err := m.layout().parse(table, key, fields)
	return m, err
}

// ref reads a field with the name of another row. It also accepts SONiC's old form [TABLE|name].
func (r *reader) ref(field, table string) string {
	v, ok := r.value(field)
	if !ok {
		return ""
	}
	name := Referred(table, v)
	if !ValidName(name) {
		r.bad(field, v, "the name of a row of "+table)
	}
	return name
}

// Referred returns the name of the row of a table that a value of a field names.
func Referred(table, value string) string {
	if old, ok := strings.CutPrefix(value, "["+table+"|"); ok {
		return strings.TrimSuffix(old, "]")
	}
	return value
}

// ignore reads fields that have no effect in this switch. A value after "=" is the switch's fixed behaviour.
func (r *reader) ignore(fields ...string) {
	for _, f := range fields {
		name, does, _ := strings.Cut(f, "=")
		if v, ok := r.value(name); ok && (does == "" || !strings.EqualFold(v, does)) {
			r.idle = append(r.idle, name)
		}
	}
}

// portKeys parses the ports of a key such as Ethernet0,Ethernet4.
func (r *reader) portKeys(key, text string) []string {
	ports := splitList(text)
	for _, p := range ports {
		if !IsPortName(p) {
			r.bad("", key, "EthernetN, or several separated by commas")
			return nil
		}
	}
	if len(ports) == 0 {
		r.bad("", key, "EthernetN, or several separated by commas")
	}
	SortNames(ports)
	return ports
}

// PortQoSGlobal is SONiC's key of PORT_QOS_MAP for the map of the whole switch, which applies to MPLS packets and to
// tunnels. This switch has neither.
const PortQoSGlobal = "global"

// PortQoS is a row of PORT_QOS_MAP and PORT_QOS_MAP_TABLE: the maps of ports.
type PortQoS struct {
	Ports     []string // sorted
	DSCPToTC  string   // names of maps; "" means that there is none
	Dot1pToTC string
	TCToQueue string
	TCToPG    string
	TCToDSCP  string
	PFCToPG   string
	PFCToQ    string
	PFC       []uint8 // priorities with flow control, 0..7, sorted and unique
	Scheduler string  // name of a scheduler whose shaper the port uses; "" means that it has none
}

func (p *PortQoS) layout() layout {
	return layout{
		table: CfgPortQoS,
		key: key{form: "EthernetN, or several separated by commas", read: func(r *reader, key string) {
			p.Ports = r.portKeys(key, key)
		}},
		fields: []field{
			ref("dscp_to_tc_map", CfgDSCPToTC, &p.DSCPToTC, "The classes of IP packets."),
			ref("dot1p_to_tc_map", CfgDot1pToTC, &p.Dot1pToTC, "The classes of other frames."),
			ref("tc_to_queue_map", CfgTCToQueue, &p.TCToQueue, "The queues of classes."),
			ref("tc_to_pg_map", CfgTCToPG, &p.TCToPG, "The ingress priority groups of classes."),
			ref("tc_to_dscp_map", CfgTCToDSCP, &p.TCToDSCP, "The DSCPs of classes, of packets that leave."),
			ref("pfc_to_pg_map", CfgPFCToPG, &p.PFCToPG, "The priority groups of priorities of flow control."),
			ref("pfc_to_queue_map", CfgPFCToQueue, &p.PFCToQ, "The queues of priorities of flow control."),
			own("pfc_enable", "numbers in 0..7, separated by commas", "The priorities with flow control (PFC).",
				p.readPFC, func() string { return numbers(p.PFC) }).parted(","),
			ref("scheduler", CfgScheduler, &p.Scheduler, "The scheduler whose shaper limits the port."),
			ignored("pfcwd_sw_enable",
				"tc_to_dot1p_map", "dscp_to_fc_map", "exp_to_fc_map", "mpls_tc_to_tc_map"),
		},
	}
}

func (p *PortQoS) readPFC(r *reader) {
	for _, e := range r.list("pfc_enable") {
		n, ok := decimal(e)
		if !ok || n > maxPFC {
			r.bad("pfc_enable", e, "priorities in 0..7, separated by commas")
			continue
		}
		p.PFC = append(p.PFC, uint8(n))
	}
	slices.Sort(p.PFC)
	p.PFC = slices.Compact(p.PFC)
}

// PFCBits returns the priorities with flow control as a mask, with priority 0 lowest.
func (p PortQoS) PFCBits() (bits uint8) {
	for _, n := range p.PFC {
		bits |= 1 << n
	}
	return bits
}

// Types of schedulers.
const (
	SchedulerStrict = "STRICT"
	SchedulerDWRR   = "DWRR"
	SchedulerWRR    = "WRR"
)

// Scheduler is a row of SCHEDULER and SCHEDULER_TABLE.
type Scheduler struct {
	Name   string
	Type   string // SchedulerStrict, SchedulerDWRR or SchedulerWRR, which is the default
	Weight uint8  // weight for DWRR and WRR, 1..100; default 1
	// Packets means that the rates and bursts below count packets; otherwise they count bytes.
	Packets bool
	PIR     uint64 // the peak rate per second; 0 means no limit
	PBS     uint64 // the burst at the peak rate; 0 means the ASIC's default
	CIR     uint64 // the guaranteed rate per second; 0 means no guarantee
	CBS     uint64 // the burst at the guaranteed rate; 0 means the ASIC's default
}

func (s *Scheduler) layout() layout {
	return layout{
		table: CfgScheduler,
		key:   named(&s.Name),
		fields: []field{
			word("type", SchedulerWRR, []string{SchedulerStrict, SchedulerDWRR, SchedulerWRR},
				&s.Type, "How the queues share the port."),
			number("weight", 1, 100, 1, &s.Weight, "The share of DWRR and WRR."),
			ignored("priority"),
			either("meter_type", "bytes", "packets", &s.Packets, "What rates and bursts count.").ifSet(),
			number("pir", 0, maxRate, 0, &s.PIR, "The peak rate per second, to which a queue is shaped; 0 if unlimited.").
				or("0").ifSet(),
			number("pbs", 0, maxRate, 0, &s.PBS, "The burst at the peak rate; 0 for that of the chip.").or("0").ifSet(),
			number("cir", 0, maxRate, 0, &s.CIR, "The guaranteed rate per second, if not 0. "+noGuarantee).or("0").ifSet(),
			number("cbs", 0, maxRate, 0, &s.CBS, "The burst at the guaranteed rate. "+noGuarantee).or("0").ifSet(),
		},
		check: func(r *reader) {
			if s.PBS > 0 && s.PIR == 0 {
				r.bad("pbs", utoa(s.PBS), "0 or no such field without pir: a burst needs a rate")
			}
			for f, n := range map[string]uint64{"cir": s.CIR, "cbs": s.CBS} {
				if n > 0 {
					r.idle = append(r.idle, f)
				}
			}
		},
	}
}

// maxRate is the largest rate of a scheduler, in bytes or packets per second, and its largest burst.
const maxRate = 1 << 40

// noGuarantee describes what orchagent passes on and the simulated chip does not do.
const noGuarantee = "The simulated chip accepts it without effect."

// QueueKey is the key of QUEUE, BUFFER_QUEUE and BUFFER_PG: ports, and queues or priority groups of each.
type QueueKey struct {
	Ports  []string // sorted and unique; not empty
	Queues []uint8  // queues in 0..15 or priority groups in 0..7, sorted and unique; not empty
}

// queuesKey returns the key of rows about queues.
func queuesKey(at *QueueKey) key { return portsKey(at, "queues", maxQueue) }

// portsKey returns the key of rows about parts of ports that are numbered up to most.
func portsKey(at *QueueKey, parts string, most uint64) key {
	return key{form: "ports|" + parts + ", such as Ethernet0,Ethernet4|0,3-5", read: func(r *reader, key string) {
		*at = r.queueKey(key, parts, most)
	}}
}

// queueKey splits a key.
func (r *reader) queueKey(key, parts string, most uint64) (k QueueKey) {
	queueKeyWords := "ports and " + parts + " such as Ethernet0|3, Ethernet0|0-2 or Ethernet0,Ethernet4|0,3-5"
	ports, queues, ok := strings.Cut(key, "|")
	if !ok || strings.Contains(queues, "|") {
		r.bad("", key, queueKeyWords)
		return k
	}
	k.Ports = r.portKeys(key, ports)
	for _, e := range splitList(queues) {
		a, b, isRange := strings.Cut(e, "-")
		if !isRange {
			b = a
		}
		lo, ok := decimal(a)
		hi, ok2 := decimal(b)
		if !ok || !ok2 || lo > hi || hi > most {
			r.bad("", key, queueKeyWords+", "+parts+" in "+rangeForm(0, most))
			return k
		}
		for q := lo; q <= hi; q++ {
			k.Queues = append(k.Queues, uint8(q))
		}
	}
	if len(k.Queues) == 0 {
		r.bad("", key, queueKeyWords)
	}
	slices.Sort(k.Queues)
	k.Queues = slices.Compact(k.Queues)
	return k
}

// Queue is a row of QUEUE and QUEUE_TABLE.
type Queue struct {
	QueueKey
	Scheduler string // name of a scheduler; "" means the switch's default scheduler
	WRED      string // name of a WRED profile; "" means only tail drop
}

func (q *Queue) layout() layout {
	return layout{
		table: CfgQueue,
		key:   queuesKey(&q.QueueKey),
		fields: []field{
			ref("scheduler", CfgScheduler, &q.Scheduler, "How the queue shares its port; without it, as the switch has it."),
			ref("wred_profile", CfgWRED, &q.WRED, "How packets are dropped or marked early; without it, none are."),
		},
	}
}

// WRED is a row of WRED_PROFILE and WRED_PROFILE_TABLE. All packets of this switch are green.
type WRED struct {
	Name        string
	Drop        bool   // true if packets that cannot be marked are dropped
	ECN         bool   // true if packets that can be marked are marked
	Min, Max    uint32 // queue lengths in bytes; Min is below Max if Drop or ECN
	Probability uint8  // the probability at Max, in percent, 0..100; default 100
}

func (w *WRED) layout() layout {
	return layout{
		table: CfgWRED,
		key:   named(&w.Name),
		fields: []field{
			boolean("wred_green_enable", false, &w.Drop, "Whether packets that cannot be marked are dropped."),
			number("green_min_threshold", 0, 1<<32-1, 0, &w.Min, "Bytes of the queue up to which nothing happens."),
			number("green_max_threshold", 0, 1<<32-1, 0, &w.Max,
				"Bytes of the queue from which on all packets are dropped or marked."),
			number("green_drop_probability", 0, 100, 100, &w.Probability, "At green_max_threshold, in percent."),
			ignored("wred_yellow_enable", "yellow_min_threshold", "yellow_max_threshold", "yellow_drop_probability",
				"wred_red_enable", "red_min_threshold", "red_max_threshold", "red_drop_probability"),
			own("ecn", "ecn_none, ecn_green or ecn_all",
				"Whether packets that can be marked are. All packets of this switch are green.",
				w.readECN, func() string {
					if w.ECN {
						return "ecn_all"
					}
					return "ecn_none"
				}).or("ecn_none"),
		},
		check: func(r *reader) {
			if (w.Drop || w.ECN) && w.Min >= w.Max {
				r.bad("green_max_threshold", utoa(w.Max), "more bytes than green_min_threshold has")
			}
		},
	}
}

func (w *WRED) readECN(r *reader) {
	ecn := r.word("ecn", "ecn_none", "ecn_none", "ecn_green", "ecn_yellow", "ecn_red",
		"ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all")
	w.ECN = ecn == "ecn_all" || strings.Contains(ecn, "green")
	if !w.ECN && ecn != "ecn_none" {
		r.bad("ecn", ecn, "ecn_none, ecn_green or ecn_all: all packets of this switch are green")
	}
}
