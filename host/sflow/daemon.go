package sflow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/host/cpuport"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
	wire "tamtam/tam/sflow"
)

// Config configures a [Daemon].
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	// Dial opens a socket to a collector. It must not wait.
	Dial func(to netip.AddrPort) (Socket, error)
	// Host returns the address of an interface of the host, such as eth0, invalid if it has none. It is nil if there
	// are no such interfaces.
	Host func(name string) netip.Addr
	// Lost returns how many samples and drops were lost before they reached the daemon, false if that is unknown.
	Lost func() (uint64, bool)
}

// A Socket sends to a collector.
type Socket interface {
	// Send sends a datagram. It must not wait, and must not keep its argument. An error may be about an earlier
	// datagram.
	Send(datagram []byte) error
	// Refused returns, once, an error that arrived for sent datagrams, nil if there is none.
	Refused() error
	// Local returns the source address of datagrams, invalid if it is unknown.
	Local() netip.Addr
	Close() error
}

// A Daemon is an agent with its configuration: it follows APPL_DB, and reads counters when they are due. Its methods
// run on the goroutine of its daemon.
type Daemon struct {
	cfg        Config
	log        *slog.Logger
	agent      *Agent // nil if there is nothing to send, or no collector
	rows       forward.Tables
	changed    bool
	up         bool
	collectors []*collector
	polling    time.Duration // 0 means no polling
	polls      map[string]time.Time
	counts     *swss.Table // table COUNTERS
	names      *swss.Table
	rules      rules

	own, each, ruled *forward.OwnRows // rows of COUNTERS_DB: for the agent, its collectors and its rules
}

// tables holds the tables of APPL_DB that the daemon follows.
var tables = []string{
	schema.AppSFlow, schema.AppSFlowCollector, schema.AppSFlowSession, schema.AppPort, schema.AppInterface,
}

// reportPeriod is the interval at which COUNTERS_DB is updated, and due counters are polled.
const reportPeriod = time.Second

// New registers the daemon.
func New(cfg Config) *Daemon {
	db := cfg.Redis.DB(swss.CountersDB)
	d := &Daemon{
		cfg: cfg, log: cfg.Daemon.Logger(), rows: forward.Tables{}, polls: map[string]time.Time{},
		counts: swss.NewTable(db, schema.CountersTable), names: swss.NewTable(db, schema.CountersPortNameMap),
		own:   forward.NewOwnRows(cfg.Daemon, db, schema.CountersSFlow),
		each:  forward.NewOwnRows(cfg.Daemon, db, schema.CountersSFlowCollector),
		ruled: forward.NewOwnRows(cfg.Daemon, db, schema.CountersSFlowRule),
	}
	d.rules.follow(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), func() { d.changed = true })
	d.rows.Follow(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), func() { d.changed = true }, tables...)
	cfg.Daemon.AfterRows(func() bool { return d.changed }, d.reconcile)
	cfg.Daemon.At(d.next, func(_ context.Context, now time.Time) error {
		if d.agent != nil {
			d.agent.Advance(now)
		}
		return nil
	})
	cfg.Daemon.Every(func() time.Duration { return reportPeriod }, d.tick)
	return d
}

func (d *Daemon) next() time.Time {
	if d.agent == nil {
		return time.Time{}
	}
	return d.agent.Next()
}

// Packet processes a packet that the chip has sampled or dropped.
func (d *Daemon) Packet(p *cpuport.Packet) {
	if d.agent != nil {
		d.agent.Packet(p, d.cfg.Daemon.Now())
	}
}

func (d *Daemon) reconcile(context.Context) error {
	d.changed = false
	now := d.cfg.Daemon.Now()
	global, err := schema.ParseSFlow(schema.SFlowGlobal, d.rows[schema.AppSFlow][schema.SFlowGlobal])
	d.up = err == nil && global.Up
	address, numbers := d.dial(global, now), d.rules.number()
	if !address.IsValid() {
		if d.agent != nil {
			d.agent.flush(now)
		}
		d.agent = nil
	} else if d.agent == nil {
		d.agent = NewAgent(now, d.send)
	}
	if d.agent != nil {
		d.agent.Configure(address, global.DropLimit, now)
		d.agent.Rules(numbers)
	}
	d.hangUp()
	if p := time.Duration(global.Polling) * time.Second; p != d.polling {
		d.polling = p
		clear(d.polls)
	}
	return nil
}

// dial updates the collectors from the configuration, and returns the agent's address, invalid if there is none.
func (d *Daemon) dial(global schema.SFlow, now time.Time) netip.Addr {
	for _, c := range d.collectors {
		c.gone = true
	}
	if !d.up {
		return netip.Addr{}
	}
	for _, name := range d.rows[schema.AppSFlowCollector].Sorted() {
		row, err := schema.ParseSFlowCollector(name, d.rows[schema.AppSFlowCollector][name])
		if err != nil {
			continue
		}
		to := netip.AddrPortFrom(row.Addr, row.Port)
		i := slices.IndexFunc(d.collectors, func(c *collector) bool { return c.name == name && c.to == to })
		if i < 0 {
			i = len(d.collectors)
			d.collectors = append(d.collectors, &collector{name: name, to: to})
		}
		d.collectors[i].gone = false
	}
	address := d.address(global.Agent)
	for _, c := range d.collectors {
		if global.Agent == "" && !c.gone && !address.IsValid() && c.open(d.cfg.Dial, now) == nil {
			address = c.socket.Local()
		}
	}
	return address
}

func (d *Daemon) hangUp() {
	d.collectors = slices.DeleteFunc(d.collectors, func(c *collector) bool {
		if c.gone {
			c.close()
		}
		return c.gone
	})
}

// Close closes the sockets of all collectors.
func (d *Daemon) Close() {
	for _, c := range d.collectors {
		c.close()
	}
}

// address returns the agent's address. It is the first IPv4 address of the configured interface, or else an address of
// the first interface that has one, loopbacks first. It is invalid if there is none.
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
		if strings.HasPrefix(name, "Loopback") {
			c.class = 0
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		if of != "" && d.cfg.Host != nil {
			return d.cfg.Host(of)
		}
		return netip.Addr{}
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(a.addr.BitLen()-b.addr.BitLen(), a.class-b.class, schema.CompareNames(a.name, b.name),
			a.addr.Compare(b.addr))
	}).addr
}

func (d *Daemon) send(b []byte) {
	now := d.cfg.Daemon.Now()
	for _, c := range d.collectors {
		if c.gone {
			continue
		}
		d.tried(c, func() { c.send(d.cfg.Dial, b, now) })
	}
}

// tried runs an operation of a collector, and logs a new error.
func (d *Daemon) tried(c *collector, do func()) {
	was := c.last
	if do(); c.last != "" && c.last != was {
		d.log.Warn("a collector of sFlow was not sent a datagram", "collector", c.name, "because", c.last)
	}
}

// tick polls the counters that are due, and writes the counters of the agent.
func (d *Daemon) tick(ctx context.Context, now time.Time) error {
	for _, c := range d.collectors {
		d.tried(c, func() { c.received(now) })
	}
	if d.up && d.agent == nil { // the host may have an address by now
		if err := d.reconcile(ctx); err != nil {
			return err
		}
	}
	if d.agent != nil && d.polling > 0 {
		if err := d.poll(ctx, now); err != nil {
			return err
		}
	}
	return d.report(ctx)
}

// poll samples the counters of ports that are due. The ports are spread over the interval.
func (d *Daemon) poll(ctx context.Context, now time.Time) error {
	var due []string
	ports := d.rows[schema.AppSFlowSession].Sorted()
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
			continue // the port has no counters yet
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

func (d *Daemon) report(ctx context.Context) error {
	own, each, ruled := map[string]swss.FieldValues{}, map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	if d.up {
		own[schema.SFlowAgent] = d.counted()
		for _, c := range d.collectors {
			each[c.name] = c.row()
		}
		ruled = d.rules.rows(d.agent)
	}
	return errors.Join(d.own.Write(ctx, own), d.each.Write(ctx, each), d.ruled.Write(ctx, ruled))
}

func (d *Daemon) counted() swss.FieldValues {
	var c Counts
	address, lost := "", "unknown"
	if d.agent != nil {
		c, address = d.agent.Counts(), d.agent.packer.Agent.String()
	}
	if n, ok := d.cfg.Lost(); ok {
		lost = utoa(n)
	}
	return swss.FieldValues{
		schema.SFlowAddress: address, "datagrams": utoa(c.Datagrams), "flow-samples": utoa(c.FlowSamples),
		"counter-samples": utoa(c.CounterSamples), "discards": utoa(c.Discards), "discards-suppressed": utoa(c.Suppressed),
		"drop-too-long": utoa(c.TooLong), "drop-unknown-port": utoa(c.Unknown), "drop-queue-full": lost,
	}
}

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

// counter returns a counter of a row of COUNTERS, false if it is missing, and so unknown.
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

// genericOf returns the counters of a port from its rows in COUNTERS and PORT_TABLE.
func genericOf(row, port swss.FieldValues) *wire.Generic {
	speed, err := strconv.ParseUint(port["speed"], 10, 32)
	if err != nil {
		speed = 0 // the specification has no other value for an unknown speed
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

// ethernetOf returns the counters of dot3StatsTable, of which the chip has only frames that are too long.
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
