package schema

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// FieldIgnored is the field of APPL_DB with the fields of a row of CONFIG_DB
// that SONiC knows and that have no effect in this switch; orchagent warns of them.
const FieldIgnored = "ignored"

// Bounds of the QoS tables.
const (
	maxDSCP  = 63
	maxDot1p = 7
	maxTC    = 15
	maxQueue = 15
)

// A QoSMap is a row of DSCP_TO_TC_MAP, DOT1P_TO_TC_MAP or TC_TO_QUEUE_MAP, and
// of the tables of the same name in APPL_DB. What it does not name maps to 0.
type QoSMap struct {
	Table string // of CONFIG_DB
	Name  string
	Pairs []QoSPair // by From, none twice; not empty
}

// A QoSPair maps a DSCP, dot1p priority or traffic class to a traffic class or
// queue: From is in 0..63, 0..7 or 0..15, To in 0..15.
type QoSPair struct{ From, To uint8 }

// ParseQoSMap reads a map; table is that of CONFIG_DB.
func ParseQoSMap(table, key string, fields map[string]string) (QoSMap, error) {
	r := newReader(table, key, fields)
	r.named(key)
	from, to := uint64(maxDSCP), uint64(maxTC)
	switch table {
	case CfgDot1pToTC:
		from = maxDot1p
	case CfgTCToQueue:
		from, to = maxTC, maxQueue
	}
	m := QoSMap{Table: table, Name: key}
	for _, f := range slices.Sorted(maps.Keys(r.fields)) {
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
	return m, r.err()
}

// Fields formats the row.
func (m QoSMap) Fields() map[string]string {
	f := map[string]string{}
	for _, p := range m.Pairs {
		f[utoa(p.From)] = utoa(p.To)
	}
	return f
}

// named checks the name that a row has as its key.
func (r *reader) named(key string) {
	if !ValidName(key) {
		r.bad("", key, nameWords)
	}
}

// ref takes a field with the name of another row; SONiC's old form
// [TABLE|name] is read too.
func (r *reader) ref(field, table string) string {
	v, ok := r.take(field)
	if !ok {
		return ""
	}
	name := v
	if old, ok := strings.CutPrefix(v, "["+table+"|"); ok {
		name = strings.TrimSuffix(old, "]")
	}
	if !ValidName(name) {
		r.bad(field, v, "the name of a row of "+table)
	}
	return name
}

// ignore takes fields that SONiC has and this switch makes nothing of, and
// returns those that the row has, and those that it says were ignored before.
func (r *reader) ignore(fields ...string) []string {
	out := r.list(FieldIgnored)
	for _, f := range fields {
		if _, ok := r.take(f); ok && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// portKeys takes the ports of a key such as Ethernet0,Ethernet4.
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

// PortQoS is a row of PORT_QOS_MAP and PORT_QOS_MAP_TABLE: the maps of ports.
type PortQoS struct {
	Ports     []string // sorted
	DSCPToTC  string   // names of maps; "": none
	Dot1pToTC string
	TCToQueue string
	Ignored   []string // fields, sorted
}

// ParsePortQoS reads PORT_QOS_MAP. The maps of priority flow control, of
// rewriting and of MPLS have no effect; Ignored names them.
func ParsePortQoS(key string, fields map[string]string) (PortQoS, error) {
	r := newReader(CfgPortQoS, key, fields)
	p := PortQoS{
		Ports:     r.portKeys(key, key),
		DSCPToTC:  r.ref("dscp_to_tc_map", CfgDSCPToTC),
		Dot1pToTC: r.ref("dot1p_to_tc_map", CfgDot1pToTC),
		TCToQueue: r.ref("tc_to_queue_map", CfgTCToQueue),
		Ignored: r.ignore("tc_to_pg_map", "pfc_to_pg_map", "pfc_to_queue_map", "pfc_enable", "pfcwd_sw_enable",
			"tc_to_dscp_map", "tc_to_dot1p_map", "dscp_to_fc_map", "exp_to_fc_map", "mpls_tc_to_tc_map"),
	}
	if v, ok := r.take("scheduler"); ok {
		r.bad("scheduler", v, "no scheduler of a whole port: the switch does not shape")
	}
	r.unknown()
	return p, r.err()
}

// Fields formats the row.
func (p PortQoS) Fields() map[string]string {
	f := map[string]string{}
	put(f, "dscp_to_tc_map", p.DSCPToTC)
	put(f, "dot1p_to_tc_map", p.Dot1pToTC)
	put(f, "tc_to_queue_map", p.TCToQueue)
	put(f, FieldIgnored, strings.Join(p.Ignored, ","))
	return f
}

// Types of schedulers.
const (
	SchedulerStrict = "STRICT"
	SchedulerDWRR   = "DWRR"
	SchedulerWRR    = "WRR"
)

// Scheduler is a row of SCHEDULER and SCHEDULER_TABLE.
type Scheduler struct {
	Name    string
	Type    string   // SchedulerStrict, SchedulerDWRR or SchedulerWRR; the last if not given
	Weight  uint8    // 1..100, of DWRR and WRR; 1 if not given
	Ignored []string // fields that have no effect, sorted
}

// ParseScheduler reads SCHEDULER. One that shapes is refused.
func ParseScheduler(key string, fields map[string]string) (Scheduler, error) {
	r := newReader(CfgScheduler, key, fields)
	r.named(key)
	s := Scheduler{
		Name:    key,
		Type:    r.word("type", SchedulerWRR, SchedulerStrict, SchedulerDWRR, SchedulerWRR),
		Weight:  uint8(r.number("weight", 1, 100, 1)),
		Ignored: r.ignore("priority", "meter_type"),
	}
	for _, f := range []string{"cir", "cbs", "pir", "pbs"} {
		if v, ok := r.take(f); ok && v != "0" {
			r.bad(f, v, "0 or no such field: the switch does not shape")
		}
	}
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s Scheduler) Fields() map[string]string {
	f := map[string]string{"type": s.Type, "weight": utoa(s.Weight)}
	put(f, FieldIgnored, strings.Join(s.Ignored, ","))
	return f
}

// QueueKey is the key of QUEUE and BUFFER_QUEUE: ports, and queues of each.
type QueueKey struct {
	Ports  []string // sorted, none twice; not empty
	Queues []uint8  // 0..15, sorted, none twice; not empty
}

const queueKeyWords = "ports and queues such as Ethernet0|3, Ethernet0|0-2 or Ethernet0,Ethernet4|0,3-5"

// queueKey takes a key apart.
func (r *reader) queueKey(key string) (k QueueKey) {
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
		if !ok || !ok2 || lo > hi || hi > maxQueue {
			r.bad("", key, queueKeyWords+", queues in 0..15")
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
	Scheduler string // name; "": the switch's own
	WRED      string // name; "": tail drop alone
}

// ParseQueue reads QUEUE.
func ParseQueue(key string, fields map[string]string) (Queue, error) {
	r := newReader(CfgQueue, key, fields)
	q := Queue{
		QueueKey: r.queueKey(key), Scheduler: r.ref("scheduler", CfgScheduler), WRED: r.ref("wred_profile", CfgWRED),
	}
	r.unknown()
	return q, r.err()
}

// Fields formats the row.
func (q Queue) Fields() map[string]string {
	f := map[string]string{}
	put(f, "scheduler", q.Scheduler)
	put(f, "wred_profile", q.WRED)
	return f
}

// WRED is a row of WRED_PROFILE and WRED_PROFILE_TABLE. All packets of this
// switch are green.
type WRED struct {
	Name        string
	Drop        bool     // packets that cannot be marked are dropped
	ECN         bool     // packets that can be marked are
	Min, Max    uint32   // of a queue, in bytes; Min is below Max if Drop or ECN
	Probability uint8    // at Max, in percent, 0..100; 100 if not given
	Ignored     []string // fields that have no effect, sorted
}

// ParseWRED reads WRED_PROFILE. What it says of yellow and red packets has
// no effect; Ignored names it.
func ParseWRED(key string, fields map[string]string) (WRED, error) {
	r := newReader(CfgWRED, key, fields)
	r.named(key)
	w := WRED{
		Name:        key,
		Drop:        r.flag("wred_green_enable", false, "true", "false"),
		Min:         uint32(r.number("green_min_threshold", 0, 1<<32-1, 0)),
		Max:         uint32(r.number("green_max_threshold", 0, 1<<32-1, 0)),
		Probability: uint8(r.number("green_drop_probability", 0, 100, 100)),
		Ignored: r.ignore("wred_yellow_enable", "yellow_min_threshold", "yellow_max_threshold", "yellow_drop_probability",
			"wred_red_enable", "red_min_threshold", "red_max_threshold", "red_drop_probability"),
	}
	ecn := r.word("ecn", "ecn_none", "ecn_none", "ecn_green", "ecn_yellow", "ecn_red",
		"ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all")
	w.ECN = ecn == "ecn_all" || strings.Contains(ecn, "green")
	if !w.ECN && ecn != "ecn_none" {
		r.bad("ecn", ecn, "ecn_none, ecn_green or ecn_all: all packets of this switch are green")
	}
	if (w.Drop || w.ECN) && w.Min >= w.Max {
		r.bad("green_max_threshold", utoa(w.Max), "more bytes than green_min_threshold has")
	}
	r.unknown()
	return w, r.err()
}

// Fields formats the row.
func (w WRED) Fields() map[string]string {
	ecn := "ecn_none"
	if w.ECN {
		ecn = "ecn_all"
	}
	f := map[string]string{
		"wred_green_enable": boolWord(w.Drop), "ecn": ecn,
		"green_min_threshold": utoa(w.Min), "green_max_threshold": utoa(w.Max), "green_drop_probability": utoa(w.Probability),
	}
	put(f, FieldIgnored, strings.Join(w.Ignored, ","))
	return f
}

func boolWord(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
