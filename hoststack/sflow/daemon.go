package sflow

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/cfgmgr/forward"
	"tamtam/cpuport"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
	wire "tamtam/tam/sflow"
)

// Config is what a [Daemon] works with.
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	// Send sends a datagram to a collector. It must not wait, and keeps nothing of what it is given.
	Send func(to netip.AddrPort, datagram []byte) error
	// Lost returns how many samples and drops have been lost on their way here; false: not known.
	Lost func() (uint64, bool)
}

// A Daemon is an agent with its configuration: it follows APPL_DB, and reads counters when they are due. Its
// methods run on the goroutine of its daemon.
type Daemon struct {
	cfg        Config
	log        *slog.Logger
	agent      *Agent
	rows       map[string]map[string]swss.FieldValues
	changed    bool
	collectors []collector
	sent       map[string]*sent // by collector
	polling    time.Duration    // 0: none
	polls      map[string]time.Time
	counts     *swss.Table // COUNTERS
	names      *swss.Table
	told       map[string]swss.FieldValues
}

type collector struct {
	name string
	to   netip.AddrPort
}

// A sent is what was sent to a collector.
type sent struct {
	datagrams, bytes, errors uint64
	last                     string // error; "": the last was sent
}

// tables are those of APPL_DB that the daemon follows.
var tables = []string{
	schema.AppSFlow, schema.AppSFlowCollector, schema.AppSFlowSession, schema.AppPort, schema.AppInterface,
}

// tellPeriod is how often COUNTERS_DB is brought up to date, and counters are looked for that are due.
const tellPeriod = time.Second

// New registers the daemon.
func New(cfg Config) *Daemon {
	db := cfg.Redis.DB(swss.CountersDB)
	d := &Daemon{
		cfg: cfg, log: cfg.Daemon.Logger(), rows: map[string]map[string]swss.FieldValues{}, sent: map[string]*sent{},
		polls: map[string]time.Time{}, counts: swss.NewTable(db, schema.CountersTable),
		names: swss.NewTable(db, schema.CountersPortNameMap),
	}
	for _, table := range tables {
		d.rows[table] = map[string]swss.FieldValues{}
		forward.Consume(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), table, func(key string, fields swss.FieldValues) {
			d.changed = true
			if fields == nil {
				delete(d.rows[table], key)
				return
			}
			d.rows[table][key] = fields
		})
	}
	forward.Settle(cfg.Daemon, "sflowd", func() bool { return d.changed }, d.settle)
	cfg.Daemon.At(d.next, func(_ context.Context, now time.Time) error {
		if d.agent != nil {
			d.agent.Advance(now)
		}
		return nil
	})
	cfg.Daemon.Every(func() time.Duration { return tellPeriod }, d.tick)
	return d
}

func (d *Daemon) next() time.Time {
	if d.agent == nil {
		return time.Time{}
	}
	return d.agent.Next()
}

// Packet takes a packet that the chip has sampled or dropped.
func (d *Daemon) Packet(p *cpuport.Packet) {
	if d.agent != nil {
		d.agent.Packet(p, d.cfg.Daemon.Now())
	}
}

// settle takes the configuration as it is now.
func (d *Daemon) settle(context.Context) error {
	d.changed = false
	now := d.cfg.Daemon.Now()
	global, err := schema.ParseSFlow(schema.SFlowGlobal, d.rows[schema.AppSFlow][schema.SFlowGlobal])
	if err != nil || d.rows[schema.AppSFlow][schema.SFlowGlobal] == nil || !global.Up {
		if d.agent != nil {
			d.agent.flush(now)
		}
		d.agent, d.collectors = nil, nil
		return nil
	}
	if d.agent == nil {
		d.agent = NewAgent(now, d.send)
	}
	d.collectors = d.collectors[:0]
	for _, name := range slices.SortedFunc(maps.Keys(d.rows[schema.AppSFlowCollector]), schema.CompareNames) {
		if c, err := schema.ParseSFlowCollector(name, d.rows[schema.AppSFlowCollector][name]); err == nil {
			d.collectors = append(d.collectors, collector{name, netip.AddrPortFrom(c.Addr, c.Port)})
		}
	}
	maps.DeleteFunc(d.sent, func(name string, _ *sent) bool {
		return !slices.ContainsFunc(d.collectors, func(c collector) bool { return c.name == name })
	})
	d.agent.Configure(d.address(global.Agent), global.DropLimit, now)
	if p := time.Duration(global.Polling) * time.Second; p != d.polling {
		d.polling = p
		clear(d.polls)
	}
	return nil
}

// address is what the switch is called by: the address of the interface that is asked for, the first IPv4 one, or
// else that of the first interface that has one, loopbacks first. Not valid: it has none.
func (d *Daemon) address(of string) netip.Addr {
	type candidate struct {
		class int
		name  string
		addr  netip.Addr
	}
	var all []candidate
	for key := range d.rows[schema.AppInterface] {
		name, prefix, _ := strings.Cut(key, ":")
		p, err := netip.ParsePrefix(prefix)
		if err != nil || of != "" && name != of || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		c := candidate{1, name, p.Addr()}
		if len(name) > 8 && name[:8] == "Loopback" {
			c.class = 0
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return netip.Addr{}
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(a.addr.BitLen()-b.addr.BitLen(), a.class-b.class, schema.CompareNames(a.name, b.name),
			a.addr.Compare(b.addr))
	}).addr
}

// send sends a datagram to all collectors.
func (d *Daemon) send(b []byte) {
	for _, c := range d.collectors {
		s := d.sent[c.name]
		if s == nil {
			s = &sent{}
			d.sent[c.name] = s
		}
		if err := d.cfg.Send(c.to, b); err != nil {
			s.errors++
			if s.last != err.Error() {
				s.last = err.Error()
				d.log.Warn("a collector of sFlow was not sent a datagram", "collector", c.name, "err", err)
			}
			continue
		}
		s.datagrams, s.bytes, s.last = s.datagrams+1, s.bytes+uint64(len(b)), ""
	}
}

// tick polls the counters that are due, and tells what has been counted.
func (d *Daemon) tick(ctx context.Context, now time.Time) error {
	if d.agent != nil && d.polling > 0 {
		if err := d.poll(ctx, now); err != nil {
			return err
		}
	}
	return d.tell(ctx)
}

// poll samples the counters of ports that are due. The ports' turns are spread over the interval.
func (d *Daemon) poll(ctx context.Context, now time.Time) error {
	var due []string
	ports := slices.SortedFunc(maps.Keys(d.rows[schema.AppSFlowSession]), schema.CompareNames)
	for i, name := range ports {
		s, err := schema.ParseSFlowSampling(name, d.rows[schema.AppSFlowSession][name])
		if err != nil || !s.Up {
			delete(d.polls, name)
			continue
		}
		at, ok := d.polls[name]
		if !ok {
			at = now.Add(d.polling * time.Duration(i) / time.Duration(len(ports)))
			d.polls[name] = at
		}
		if !at.After(now) {
			due = append(due, name)
			for !at.After(now) {
				at = at.Add(d.polling)
			}
			d.polls[name] = at
		}
	}
	if len(due) == 0 {
		return nil
	}
	ids, _, err := d.names.Get(ctx, "")
	if err != nil {
		return err
	}
	for _, name := range due {
		oid := ids[name]
		if oid == "" {
			continue // it has no counters yet
		}
		row, ok, err := d.counts.Get(ctx, oid)
		if err != nil {
			return err
		}
		if ok {
			d.agent.Counters(name, genericOf(row, d.rows[schema.AppPort][name]), ethernetOf(row), now)
		}
	}
	return nil
}

// tell writes what has been counted to COUNTERS_DB.
func (d *Daemon) tell(ctx context.Context) error {
	want := map[string]swss.FieldValues{}
	n := func(v uint64) string { return strconv.FormatUint(v, 10) }
	if d.agent != nil {
		c := d.agent.Counts()
		all := swss.FieldValues{
			"datagrams": n(c.Datagrams), "flow-samples": n(c.FlowSamples), "counter-samples": n(c.CounterSamples),
			"discards": n(c.Discards), "discards-suppressed": n(c.Suppressed), "drop-too-long": n(c.TooLong),
			"drop-unknown-port": n(c.Unknown),
		}
		all["drop-queue-full"] = "unknown"
		if lost, ok := d.cfg.Lost(); ok {
			all["drop-queue-full"] = n(lost)
		}
		want["sflowd"] = all
		for name, s := range d.sent {
			want[name] = swss.FieldValues{
				"datagrams": n(s.datagrams), "bytes": n(s.bytes), "errors": n(s.errors), "last-error": s.last,
			}
		}
	}
	table := swss.NewTable(d.cfg.Redis.DB(swss.CountersDB), schema.CountersSFlow)
	if err := forward.Differences(ctx, table, d.told, want); err != nil {
		return fmt.Errorf("%s: %w", schema.CountersSFlow, err)
	}
	d.told = want
	return nil
}

// counter is one of a row of COUNTERS; what is not there is not known.
func counter(row swss.FieldValues, stat string) (uint64, bool) {
	v, err := strconv.ParseUint(row["SAI_PORT_STAT_"+stat], 10, 64)
	return v, err == nil
}

func c32(row swss.FieldValues, stat string) uint32 {
	if v, ok := counter(row, stat); ok {
		return uint32(v)
	}
	return wire.Unknown32
}

func c64(row swss.FieldValues, stat string) uint64 {
	if v, ok := counter(row, stat); ok {
		return v
	}
	return wire.Unknown64
}

// genericOf makes the counters of a port from its rows in COUNTERS and PORT_TABLE.
func genericOf(row, port swss.FieldValues) *wire.Generic {
	speed, err := strconv.ParseUint(port["speed"], 10, 32)
	if err != nil {
		speed = 0 // the specification has no other word for a speed that is not known
	}
	status := uint32(0)
	if port["admin_status"] == "up" {
		status |= wire.AdminUp
	}
	if port["oper_status"] == "up" {
		status |= wire.OperUp
	}
	return &wire.Generic{
		Type: wire.TypeEthernet, Speed: speed * 1e6, Direction: wire.FullDuplex, Status: status,
		InOctets: c64(row, "IF_IN_OCTETS"), InUnicast: c32(row, "IF_IN_UCAST_PKTS"),
		InMulticast: c32(row, "IF_IN_MULTICAST_PKTS"), InBroadcast: c32(row, "IF_IN_BROADCAST_PKTS"),
		InDiscards: c32(row, "IF_IN_DISCARDS"), InErrors: c32(row, "IF_IN_ERRORS"),
		InUnknownProtocols: c32(row, "IF_IN_UNKNOWN_PROTOS"),
		OutOctets:          c64(row, "IF_OUT_OCTETS"), OutUnicast: c32(row, "IF_OUT_UCAST_PKTS"),
		OutMulticast: c32(row, "IF_OUT_MULTICAST_PKTS"), OutBroadcast: c32(row, "IF_OUT_BROADCAST_PKTS"),
		OutDiscards: c32(row, "IF_OUT_DISCARDS"), OutErrors: c32(row, "IF_OUT_ERRORS"), Promiscuous: wire.Unknown32,
	}
}

// ethernetOf makes the counters of dot3StatsTable: of them the chip has only frames that are too long.
func ethernetOf(row swss.FieldValues) *wire.Ethernet {
	long, ok := counter(row, "ETHER_RX_OVERSIZE_PKTS")
	if !ok {
		return nil
	}
	e := &wire.Ethernet{}
	e.Unknown()
	e.TooLong = uint32(long)
	return e
}
