// Package qos is the manager of QoS, buffers, packet trimming, mirror sessions and CPU traps. It copies rows of
// CONFIG_DB to APPL_DB once they are valid and all rows that they name exist. It reports the outcome of every row in
// STATE_DB.
//
// APPL_DB is a function of the current rows of CONFIG_DB, never of their order. If rows exclude each other, such as two
// for one queue or two that mirror one port, the one with the smaller key wins. A row without its port, map, scheduler
// or profile waits for it. Trimming has SONiC's rules instead, which refuse changes: see trimming.go.
//
// What belongs here: decisions about those tables of CONFIG_DB. SAI calls do not.
package qos

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// tables contains the tables of CONFIG_DB that the manager forwards. Each comes after the tables that its rows refer
// to. In APPL_DB and STATE_DB their names end in _TABLE.
var tables = []string{
	schema.CfgDSCPToTC, schema.CfgDot1pToTC, schema.CfgTCToQueue, schema.CfgTCToPG, schema.CfgTCToDSCP,
	schema.CfgPFCToQueue, schema.CfgPFCToPG, schema.CfgScheduler, schema.CfgWRED,
	schema.CfgBufferPool, schema.CfgBufferProfile,
	schema.CfgPortQoS, schema.CfgQueue, schema.CfgBufferQueue, schema.CfgBufferPG,
	schema.CfgBufferIngress, schema.CfgBufferEgress, schema.CfgMirrorSession,
}

// A Manager holds the rows of the tables. It runs on its daemon's goroutine.
type Manager struct {
	out  *forward.Output
	due  bool
	rows forward.Tables // rows of tables, PORT and PORTCHANNEL
	// refused holds why the ASIC has refused traps, by id, as orchagent reports it.
	refused map[string]string
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{due: true, rows: forward.Tables{}, refused: map[string]string{}}
	var own []forward.Table
	configured := append(slices.Clone(tables), schema.CfgTrimming, schema.CfgCOPPGroup, schema.CfgCOPPTrap)
	for _, t := range configured {
		out := forward.TableOf(t)
		if t == schema.CfgCOPPGroup {
			out.Others = schema.HostTrapGroups()
		}
		if describes(t) {
			out.Says = schema.TableOf(t).SONiCFields()
		}
		own = append(own, out)
	}
	m.rows.Follow(d, r.DB(swss.ConfigDB), func() { m.due = true },
		append(configured, schema.CfgFeature, schema.CfgPort, schema.CfgPortChannel)...)
	forward.Consume(d, r.DB(swss.StateDB), schema.StateCOPPTrap, func(id string, fields swss.FieldValues) {
		if why := fields[schema.FieldHWError]; why != m.refused[id] {
			m.due = true
			if m.refused[id] = why; why == "" {
				delete(m.refused, id)
			}
		}
	})
	m.out = forward.New(d, r, own...)
	m.out.Decide(&m.due, m.decide)
	return m
}

// decide decides on all rows.
func (m *Manager) decide(context.Context) error {
	d := decision{out: m.out, rows: m.rows, there: map[string]map[string]bool{}, pools: map[string]schema.BufferPool{},
		profiles: map[string]profile{}, owner: map[string]string{}, refused: m.refused}
	for _, t := range []string{schema.CfgPort, schema.CfgPortChannel} {
		d.there[t] = map[string]bool{}
		for key, fields := range m.rows[t] {
			var err error
			if t == schema.CfgPort {
				_, err = schema.ParsePort(key, fields)
			} else {
				_, err = schema.ParsePortChannel(key, fields)
			}
			d.there[t][key] = err == nil
		}
	}
	for _, t := range tables {
		d.there[t] = map[string]bool{}
		for _, key := range m.rows[t].Sorted() {
			if err := schema.RefusedKey(t, key); err != nil {
				d.out.Report(forward.Row{Table: t + "_TABLE", Key: key}, schema.StatusFailed, schema.Reason(err))
				continue
			}
			d.decide(t, key, m.rows[t][key])
		}
	}
	d.trimming()
	d.copp()
	return nil
}

// decision is one pass over all rows.
type decision struct {
	out      *forward.Output
	rows     forward.Tables
	there    map[string]map[string]bool   // rows that were accepted, by table
	pools    map[string]schema.BufferPool // accepted buffer pools, by name
	profiles map[string]profile           // accepted buffer profiles, by name
	owner    map[string]string            // owner of each thing that only one row can own, such as a queue
	// refused holds why the ASIC has refused traps, by id.
	refused map[string]string
}

// A profile is what other rows need of a buffer profile.
type profile struct {
	pool schema.BufferPool
	trim bool
}

// A verdict is the status of a row that cannot be forwarded. The row that was forwarded before stays if stays is true,
// and if it could be forwarded now.
type verdict struct {
	status, reason string
	stays          bool
}

// decide forwards a row, or reports why not.
func (d *decision) decide(table, key string, fields swss.FieldValues) {
	row, check, err := d.parse(table, key, fields)
	var v verdict
	if err == nil {
		v = check()
	} else {
		v = failed("%s", schema.Reason(err))
	}
	state := forward.Row{Table: table + "_TABLE", Key: key}
	if describes(table) {
		says := swss.FieldValues{}
		for _, f := range schema.TableOf(table).SONiCFields() {
			says[f] = fields[f]
		}
		d.out.Describe(state, says)
	}
	if v != (verdict{}) {
		if table == schema.CfgMirrorSession {
			v.status = schema.MirrorInactive
		}
		d.out.Report(state, v.status, v.reason)
		if v.stays {
			d.stay(table, key)
		}
		return
	}
	d.there[table][key] = true
	d.out.Forward(appl(table, key), row.Fields(), state)
}

// appl returns the place of a row of CONFIG_DB in APPL_DB.
func appl(table, key string) forward.Row {
	return forward.Row{Table: table + "_TABLE", Key: applKey(key)}
}

// failed returns the verdict on a row that cannot be applied as it is.
func failed(reason string, args ...any) verdict {
	return verdict{status: schema.StatusFailed, reason: fmt.Sprintf(reason, args...)}
}

// describes reports whether the status rows of a table also have the fields of the configured row, as in SONiC.
func describes(table string) bool {
	return table == schema.CfgBufferPool || table == schema.CfgBufferProfile
}

// applKey returns a key in the form of APPL_DB.
func applKey(key string) string {
	for i := range len(key) {
		if key[i] == '|' {
			return key[:i] + ":" + key[i+1:]
		}
	}
	return key
}

// parse parses a row, and returns the check that remains once the rows that it names exist.
func (d *decision) parse(
	table, key string, fields swss.FieldValues,
) (row interface{ Fields() map[string]string }, check func() verdict, err error) {
	check = func() verdict { return verdict{} }
	switch table {
	case schema.CfgDSCPToTC, schema.CfgDot1pToTC, schema.CfgTCToQueue, schema.CfgTCToPG,
		schema.CfgTCToDSCP, schema.CfgPFCToQueue, schema.CfgPFCToPG:
		row, err = schema.ParseQoSMap(table, key, fields)
	case schema.CfgScheduler:
		row, err = schema.ParseScheduler(key, fields)
	case schema.CfgWRED:
		row, err = schema.ParseWRED(key, fields)
	case schema.CfgBufferPool:
		p, e := schema.ParseBufferPool(key, fields)
		row, err, check = p, e, func() verdict {
			d.pools[key] = p
			return verdict{}
		}
	case schema.CfgBufferProfile:
		p, e := schema.ParseBufferProfile(key, fields)
		row, err, check = p, e, func() verdict { return d.bufferProfile(key, p) }
	case schema.CfgPortQoS:
		p, e := schema.ParsePortQoS(key, fields)
		row, err, check = p, e, func() verdict { return d.portQoS(key, p) }
	case schema.CfgQueue:
		q, e := schema.ParseQueue(key, fields)
		row, err, check = q, e, func() verdict {
			return d.parts("queue", key, q.QueueKey, ref{schema.CfgScheduler, q.Scheduler}, ref{schema.CfgWRED, q.WRED})
		}
	case schema.CfgBufferQueue:
		q, e := schema.ParseBufferQueue(key, fields)
		row, err, check = q, e, func() verdict {
			if v := d.side(q.Profile, false); v != (verdict{}) {
				return v
			}
			return d.parts("the buffer of queue", key, q.QueueKey, ref{schema.CfgBufferProfile, q.Profile})
		}
	case schema.CfgBufferIngress, schema.CfgBufferEgress:
		b, e := schema.ParseBufferProfiles(table, key, fields)
		row, err, check = b, e, func() verdict { return d.bufferProfiles(key, b) }
	case schema.CfgBufferPG:
		g, e := schema.ParseBufferPG(key, fields)
		row, err, check = g, e, func() verdict {
			v := cmp.Or(d.side(g.Profile, true), d.untrimmed("priority groups", g.Profile))
			if v != (verdict{}) {
				return v
			}
			return d.parts("the buffer of priority group", key, g.QueueKey, ref{schema.CfgBufferProfile, g.Profile})
		}
	case schema.CfgMirrorSession:
		m, e := schema.ParseMirrorSession(key, fields)
		row, err, check = m, e, func() verdict { return d.session(key, m) }
	}
	return row, check, err
}

// A ref is a row that another row names, or none if the name is empty.
type ref struct{ table, name string }

// kinds contains the names of tables for operators.
var kinds = map[string]string{
	schema.CfgDSCPToTC: "DSCP to TC map", schema.CfgDot1pToTC: "dot1p to TC map", schema.CfgTCToQueue: "TC to queue map",
	schema.CfgTCToPG: "TC to priority group map", schema.CfgTCToDSCP: "TC to DSCP map",
	schema.CfgPFCToQueue: "PFC priority to queue map",
	schema.CfgPFCToPG:    "PFC priority to priority group map",
	schema.CfgScheduler:  "scheduler", schema.CfgWRED: "WRED profile", schema.CfgBufferPool: "buffer pool",
	schema.CfgBufferProfile: "buffer profile", schema.CfgPort: "port", schema.CfgPortChannel: "PortChannel",
}

// bufferProfile checks that the pool of a profile exists. Only priority groups have thresholds of flow control.
func (d *decision) bufferProfile(key string, p schema.BufferProfile) verdict {
	if v := d.named(ref{schema.CfgBufferPool, p.Pool}); v != (verdict{}) {
		return v
	}
	pool := d.pools[p.Pool]
	for _, f := range []struct {
		name  string
		bytes uint64
	}{{"xoff", p.Xoff}, {"xon", p.Xon}, {"xon_offset", p.XonOffset}} {
		if f.bytes > 0 && !pool.Ingress {
			return failed("%s \"%d\": want 0 or no such field: buffer pool %q is not for ingress", f.name, f.bytes, p.Pool)
		}
	}
	if user := d.groupUser(key); p.Trim && user != "" {
		v := failed("%s %q: %s uses the profile, want drop: only packets of queues are trimmed",
			schema.FieldDiscardAction, schema.ActionTrim, user)
		v.stays = true
		return v
	}
	d.profiles[key] = profile{pool, p.Trim}
	return verdict{}
}

// side checks that a profile is of a pool for ingress or for egress. One that does not exist passes.
func (d *decision) side(profile string, ingress bool) verdict {
	p, there := d.profiles[profile]
	if !there || p.pool.Both || p.pool.Ingress == ingress {
		return verdict{}
	}
	sides := map[bool]string{true: "ingress", false: "egress"}
	return failed("%s %q is for %s: want one for %s",
		kinds[schema.CfgBufferProfile], profile, sides[!ingress], sides[ingress])
}

// named checks that the rows which a row names exist.
func (d *decision) named(refs ...ref) verdict {
	for _, r := range refs {
		if r.name != "" && !d.there[r.table][r.name] {
			return verdict{status: schema.StatusPending, reason: fmt.Sprintf("%s %q does not exist", kinds[r.table], r.name)}
		}
	}
	return verdict{}
}

// portRefs returns the references of a list of ports.
func portRefs(ports []string) []ref {
	var refs []ref
	for _, p := range ports {
		if schema.IsPortChannelName(p) {
			refs = append(refs, ref{schema.CfgPortChannel, p})
			continue
		}
		refs = append(refs, ref{schema.CfgPort, p})
	}
	return refs
}

// reserve reserves things, such as a queue, for a row. If another row already owns one of them, the verdict names that
// row.
func (d *decision) reserve(key string, things ...string) verdict {
	for _, t := range things {
		if o, taken := d.owner[t]; taken {
			return failed("%s is configured by %q", t, o)
		}
	}
	for _, t := range things {
		d.owner[t] = key
	}
	return verdict{}
}

func (d *decision) portQoS(key string, p schema.PortQoS) verdict {
	refs := append(portRefs(p.Ports),
		ref{schema.CfgDSCPToTC, p.DSCPToTC}, ref{schema.CfgDot1pToTC, p.Dot1pToTC}, ref{schema.CfgTCToQueue, p.TCToQueue},
		ref{schema.CfgTCToPG, p.TCToPG}, ref{schema.CfgTCToDSCP, p.TCToDSCP},
		ref{schema.CfgPFCToPG, p.PFCToPG}, ref{schema.CfgPFCToQueue, p.PFCToQ},
		ref{schema.CfgScheduler, p.Scheduler})
	if v := d.named(refs...); v != (verdict{}) {
		return v
	}
	var things []string
	for _, port := range p.Ports {
		things = append(things, "the QoS maps of "+port)
	}
	return d.reserve(key, things...)
}

// parts checks a row about queues or priority groups, and reserves them.
func (d *decision) parts(what, key string, k schema.QueueKey, refs ...ref) verdict {
	if v := d.named(append(portRefs(k.Ports), refs...)...); v != (verdict{}) {
		return v
	}
	var things []string
	for _, port := range k.Ports {
		for _, q := range k.Queues {
			things = append(things, fmt.Sprintf("%s %d of %s", what, q, port))
		}
	}
	return d.reserve(key, things...)
}

func (d *decision) session(key string, m schema.MirrorSession) verdict {
	refs := portRefs(m.SrcPorts)
	if m.DstPort != "" {
		refs = append(refs, ref{schema.CfgPort, m.DstPort})
	}
	if v := d.named(refs...); v != (verdict{}) {
		return v
	}
	var things []string
	for _, p := range m.SrcPorts {
		if m.Direction != schema.MirrorTX {
			things = append(things, "the mirror of what "+p+" receives")
		}
		if m.Direction != schema.MirrorRX {
			things = append(things, "the mirror of what "+p+" sends")
		}
	}
	return d.reserve(key, things...)
}
