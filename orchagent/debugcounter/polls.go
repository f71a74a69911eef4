package debugcounter

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Fields of FLEX_COUNTER_TABLE that list the statistics which syncd reads of an object.
const (
	portField   = "PORT_DEBUG_COUNTER_ID_LIST"
	switchField = "SWITCH_DEBUG_COUNTER_ID_LIST"
)

// polls maintains which statistic each counter in COUNTERS_DB is, and what syncd polls. It receives the target state,
// and writes the differences.
type polls struct {
	poller   orch.Poller
	group    orch.FlexGroup
	ports    Ports
	sw       sai.OID
	rows     *swss.Table // COUNTERS
	of       map[bool]*swss.Hash
	oids     swss.Hash
	reported map[string]reported  // by name of the counter
	polled   map[sai.OID][]string // statistics of an object, sorted
	cleared  []leftover           // fields of COUNTERS to be deleted
}

// A reported is the entry of a counter in COUNTERS_DB.
type reported struct {
	port bool
	stat string
	oid  string
}

// A leftover is a statistic of an object that is no longer counted.
type leftover struct {
	oid  sai.OID
	stat string
}

// open reads the entries that a previous run left.
func (p *polls) open(ctx context.Context, cfg Config) error {
	db := cfg.Redis.DB(swss.CountersDB)
	p.poller, p.ports, p.sw = cfg.Poller, cfg.Ports, cfg.Switch
	p.rows = swss.NewTable(db, schema.CountersTable)
	p.of = map[bool]*swss.Hash{
		true:  {Table: swss.NewTable(db, schema.CountersDebugPortMap)},
		false: {Table: swss.NewTable(db, schema.CountersDebugSwitchMap)},
	}
	p.oids.Table = swss.NewTable(db, schema.CountersDebugOIDMap)
	p.reported, p.polled = map[string]reported{}, map[sai.OID][]string{}
	p.group = orch.FlexGroup{
		Row: schema.FlexDebugCounter, Name: schema.FlexDebugCounter, Default: schema.DefaultPoll(schema.FlexDebugCounter),
	}
	return errors.Join(p.of[true].Load(ctx), p.of[false].Load(ctx), p.oids.Load(ctx))
}

// dropFormer removes the entries of a previous run for counters that no longer exist.
func (p *polls) dropFormer(ctx context.Context, flush func(context.Context) error) error {
	if err := flush(ctx); err != nil {
		return err
	}
	p.oids.DropFormer()
	for _, stat := range p.of[false].DropFormer() {
		p.cleared = append(p.cleared, leftover{p.sw, stat})
	}
	for _, stat := range p.of[true].DropFormer() {
		for _, name := range p.ports.Names() {
			if oid, _, ok := p.ports.Port(name); ok {
				p.cleared = append(p.cleared, leftover{oid, stat})
			}
		}
	}
	return flush(ctx)
}

// waits reports whether something was not written or sent yet.
func (p *polls) waits() bool {
	waiting := p.of[true].Pending() + p.of[false].Pending() + p.oids.Pending() + len(p.cleared)
	return waiting > 0 || !p.group.Sent() && p.poller != nil
}

// flush makes syncd poll exactly these counters.
func (p *polls) flush(ctx context.Context, names []string, counters map[string]*counter) error {
	stats := map[bool][]string{} // statistics of ports (true) and of the switch (false)
	is := map[string]reported{}
	for _, name := range names {
		c := counters[name]
		id, known := orch.PublicID(p.poller, c.oid)
		if c.stat == "" || !known {
			continue
		}
		stats[c.kind.port] = append(stats[c.kind.port], c.stat)
		is[name] = reported{c.kind.port, c.stat, id.String()}
		if whole, _ := orch.PublicID(p.poller, p.sw); !c.kind.port {
			is[name] = reported{false, c.stat, id.String() + " " + whole.String()}
		}
	}
	if err := p.group.Send(ctx, p.poller); err != nil {
		return err
	}
	if err := p.poll(ctx, stats); err != nil {
		return err
	}
	p.report(is)
	return errors.Join(p.of[true].Flush(ctx), p.of[false].Flush(ctx), p.oids.Flush(ctx))
}

// report writes the entries of counters to COUNTERS_DB.
func (p *polls) report(is map[string]reported) {
	for name, t := range p.reported {
		if is[name] != t {
			p.of[t.port].Remove(name)
			p.oids.Remove(name)
		}
	}
	for name, t := range is {
		if p.reported[name] != t {
			p.of[t.port].Put(name, t.stat)
			p.oids.Put(name, t.oid)
		}
	}
	p.reported = is
}

// poll makes syncd read these statistics of all ports and of the switch. The key true is for ports.
func (p *polls) poll(ctx context.Context, stats map[bool][]string) error {
	want := p.wanted(stats)
	var stop []sai.OID
	begin := map[string][]sai.OID{} // objects by the statistics to poll
	for oid, ids := range p.polled {
		if !slices.Equal(want[oid], ids) {
			stop = append(stop, oid)
		}
		for _, id := range ids {
			if !slices.Contains(want[oid], id) {
				p.cleared = append(p.cleared, leftover{oid, id})
			}
		}
	}
	for oid, ids := range want {
		if !slices.Equal(p.polled[oid], ids) {
			begin[strings.Join(ids, ",")] = append(begin[strings.Join(ids, ",")], oid)
		}
	}
	if p.poller != nil {
		if slices.Sort(stop); len(stop) > 0 {
			if err := p.poller.StopPoll(ctx, p.group.Name, stop...); err != nil {
				return err
			}
		}
		for ids, oids := range begin {
			if err := p.start(ctx, strings.Split(ids, ","), oids); err != nil {
				return err
			}
		}
	}
	p.polled = want
	return p.clear(ctx)
}

// wanted returns the statistics to be read of each object, sorted.
func (p *polls) wanted(stats map[bool][]string) map[sai.OID][]string {
	want := map[sai.OID][]string{}
	slices.Sort(stats[true])
	slices.Sort(stats[false])
	for _, name := range p.ports.Names() {
		if oid, _, ok := p.ports.Port(name); ok && len(stats[true]) > 0 {
			want[oid] = stats[true]
		}
	}
	if len(stats[false]) > 0 {
		want[p.sw] = stats[false]
	}
	return want
}

func (p *polls) start(ctx context.Context, ids []string, oids []sai.OID) error {
	field := portField
	if slices.Contains(oids, p.sw) {
		field = switchField
	}
	slices.Sort(oids)
	return p.poller.StartPoll(ctx, p.group.Name, field, ids, oids...)
}

// clear removes statistics that are no longer counted from COUNTERS_DB. The row's other fields belong to other writers.
func (p *polls) clear(ctx context.Context) error {
	fields := map[string][]string{}
	for _, l := range p.cleared {
		if id, ok := orch.PublicID(p.poller, l.oid); ok {
			fields[id.String()] = append(fields[id.String()], l.stat)
		}
	}
	if len(fields) > 0 {
		if err := p.rows.HDelMany(ctx, fields); err != nil {
			return err
		}
	}
	p.cleared = nil
	return nil
}
