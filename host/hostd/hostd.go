package hostd

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tamtam/host"
	"tamtam/host/cpuport"
	"tamtam/host/hostrows"
	"tamtam/host/lacpd"
	"tamtam/host/lldp"
	"tamtam/host/lldpd"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Sender takes frames for the chip.
type Sender interface{ Send(cpuport.Frame) error }

// Config is what a [Host] works with.
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Stack  host.Config
	MAC    host.MAC // of router interfaces that have none of their own
	// Name and Description are what LLDP says of the switch.
	Name, Description string
}

// A Host is a stack with what it reads and writes. All its methods run on the daemon's goroutine, in handlers, timers
// or [orch.Daemon.Do].
type Host struct {
	d     *orch.Daemon
	redis *swss.Redis
	mac   host.MAC
	stack *host.Stack
	lldp  *lldpd.Speaker
	lacp  *lacpd.Speaker
	line  Sender // nil: no CPU port at the moment

	begun  bool      // there has been one
	paused time.Time // since when there is none

	rows       map[string]map[string]swss.FieldValues // of APPL_DB, by table
	configured bool                                   // the stack knows the interfaces as they are
	interfaces map[string]intf
	members    map[string][]string // ports of PortChannels that are up
	lagOf      map[string]string

	own    map[key]host.MAC // rows of NEIGH_TABLE that are the stack's
	loaded bool             // own holds what an earlier hostd left
	unsure map[key]bool     // may have to be written or removed
	wanted map[key]int      // how many routes lead to a next hop
	asked  map[key]bool     // by NEIGH_RESOLVE_TABLE

	neighs *swss.ProducerState
	addrs  *hostrows.Addresses
	states *forward.OwnRows // of HOST_NEIGH_TABLE
	counts *forward.OwnRows // of HOST_COUNTERS
	lost   uint64           // frames that the CPU port did not take
	cpu    func() (cpuport.Counts, bool)
}

// A key names a neighbour.
type key struct {
	on   string
	addr netip.Addr
}

// String returns the row's key in APPL_DB.
func (k key) String() string { return k.on + ":" + k.addr.String() }

// state returns the row's key in STATE_DB.
func (k key) state() string { return k.on + "|" + k.addr.String() }

// parseKey reads a key of NEIGH_TABLE, or with | as the separator of STATE_DB.
func parseKey(text, sep string) (key, bool) {
	on, addr, _ := strings.Cut(text, sep)
	a, err := netip.ParseAddr(addr)
	return key{on, a}, err == nil && on != ""
}

// tables are those of APPL_DB whose rows the host keeps.
var tables = []string{
	schema.AppPort, schema.AppLAG, schema.AppLAGMember, schema.AppVLAN, schema.AppVLANMember, schema.AppInterface,
	schema.AppNeigh, schema.AppRoute,
}

// New registers the host on its daemon.
func New(cfg Config) *Host {
	appl := cfg.Redis.DB(swss.ApplDB)
	h := &Host{
		d: cfg.Daemon, redis: cfg.Redis, mac: cfg.MAC, stack: host.New(cfg.Stack),
		rows: map[string]map[string]swss.FieldValues{}, own: map[key]host.MAC{}, unsure: map[key]bool{},
		wanted: map[key]int{}, asked: map[key]bool{},
		neighs: swss.NewProducerState(appl, schema.AppNeigh),
		states: forward.NewOwnRows(cfg.Daemon, cfg.Redis.DB(swss.StateDB), schema.StateHostNeigh),
		counts: forward.NewOwnRows(cfg.Daemon, cfg.Redis.DB(swss.CountersDB), schema.CountersHost),
		cpu:    func() (cpuport.Counts, bool) { return cpuport.Counts{}, false },
	}
	hostrows.Trap(cfg.Daemon, cfg.Redis, func() bool { return h.begun })
	h.addrs = hostrows.NewAddresses(cfg.Daemon, cfg.Redis, func(on string, frame []byte) error {
		return h.sendFrame(host.Frame{Interface: on, Data: frame})
	}, func(on string, addr netip.Addr) {
		host.Retry(h.stack, h.now(), on, addr)
		h.flush()
	})
	h.lacp = lacpd.New(lacpd.Config{Daemon: cfg.Daemon, Redis: cfg.Redis, MAC: cfg.MAC})
	h.lldp = lldpd.New(lldpd.Config{
		Daemon: cfg.Daemon, Redis: cfg.Redis,
		System: lldp.System{MAC: cfg.MAC, Name: cfg.Name, Description: cfg.Description},
	})
	for _, table := range tables {
		h.rows[table] = map[string]swss.FieldValues{}
		forward.Consume(cfg.Daemon, appl, table, func(key string, fields swss.FieldValues) { h.take(table, key, fields) })
	}
	src := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, schema.AppNeighResolve) }
	cfg.Daemon.Consume(src, schema.AppNeighResolve, orch.Each(func(_ context.Context, t orch.Task) error {
		h.resolve(t)
		return nil
	}), orch.Reporting{None: true})
	cfg.Daemon.AfterRows(h.due, h.settle)
	cfg.Daemon.At(h.next, func(_ context.Context, now time.Time) error {
		h.stack.Advance(now)
		h.flush()
		return nil
	})
	cfg.Daemon.Every(func() time.Duration { return tellPeriod }, h.tell)
	return h
}

// tellPeriod is how often STATE_DB and COUNTERS_DB are brought up to date.
const tellPeriod = time.Second

// SetLine gives the host a CPU port, or (nil) takes it away, with how to ask what that has counted. It begins to work
// with the first, and without one stands still.
func (h *Host) SetLine(line Sender, counts func() (cpuport.Counts, bool)) {
	if line == nil {
		h.paused = h.d.Now()
	} else if h.begun {
		h.stack.Resume(h.d.Now())
	}
	h.line, h.cpu, h.begun = line, counts, h.begun || line != nil
	h.lacp.SetLine(line)
	h.lldp.SetLine(line)
}

// take keeps a row, or nil: it is gone.
func (h *Host) take(table, name string, fields swss.FieldValues) {
	was := h.rows[table][name]
	if fields == nil {
		delete(h.rows[table], name)
	} else {
		h.rows[table][name] = schema.LastOper(was, fields)
	}
	switch table {
	case schema.AppNeigh:
		if k, ok := parseKey(name, ":"); ok && h.loaded {
			h.takeNeighbor(k, fields)
		}
	case schema.AppRoute:
		h.takeRoute(name, was, fields)
	default:
		h.configured = false
	}
}

// due reports whether there is something to settle.
func (h *Host) due() bool {
	return h.begun && (!h.loaded || !h.configured || len(h.unsure) > 0)
}

// next is when the stack wants to be advanced.
func (h *Host) next() time.Time {
	if h.line == nil {
		return time.Time{}
	}
	at, _ := h.stack.Next()
	return at
}

// now is the stack's time: while there is no CPU port it stands still.
func (h *Host) now() time.Time {
	if h.line == nil {
		return h.paused
	}
	return h.d.Now()
}

// settle brings the stack, and what it has to say, up to date.
func (h *Host) settle(ctx context.Context) error {
	if !h.begun {
		return nil
	}
	if err := h.load(ctx); err != nil {
		return err
	}
	if !h.configured {
		h.configure()
	}
	h.flush()
	return h.write(ctx)
}

// flush gives the CPU port what the stack sends, and notes what it has learned.
func (h *Host) flush() {
	for _, f := range h.stack.Frames() {
		if err := h.sendFrame(f); err != nil {
			h.lost++
		}
	}
	for _, e := range h.stack.Events() {
		if e.Kind == host.Duplicate {
			h.addrs.Heard(e.Interface, e.Addr, schema.MAC(e.MAC))
			continue
		}
		h.unsure[key{e.Interface, e.Addr}] = true
	}
}

// sendFrame gives a frame to the CPU port: in the VLAN of its interface, or at a port.
func (h *Host) sendFrame(f host.Frame) error {
	if h.line == nil {
		return fmt.Errorf("there is no CPU port")
	}
	if vid, ok := schema.VLANNumber(f.Interface); ok {
		return h.line.Send(cpuport.Frame{VLAN: uint16(vid), Data: f.Data})
	}
	port := f.Interface
	if schema.IsPortChannelName(port) {
		ports := h.members[port]
		if len(ports) == 0 {
			return fmt.Errorf("%s has no member that is up", port)
		}
		port = ports[int(f.Data[5])%len(ports)] // all frames to a neighbour take one way
	}
	return h.line.Send(cpuport.Frame{Port: port, Data: f.Data})
}

// undelivered are the traps of packets that the chip could not forward.
func undelivered(trap string) bool {
	return trap == "neighbor_miss" || trap == "l3_mtu_error" || trap == "ttl_error"
}

// Receive takes a frame that the chip has punted.
func (h *Host) Receive(p cpuport.Packet) {
	data := p.Data
	if len(data) >= 18 && data[12] == 0x81 && data[13] == 0 { // the VLAN's, or a priority tag
		data = append(append(make([]byte, 0, len(data)), data[:12]...), data[16:]...)
	}
	if lldpd.Is(data) {
		h.lldp.Receive(p.Port, data)
		return
	}
	if lacpd.Is(data) {
		h.lacp.Receive(p.Port, data)
		return
	}
	name := h.lagOf[p.Port]
	if p.VLAN != 0 {
		name = fmt.Sprintf("Vlan%d", p.VLAN)
	} else if name == "" {
		name = p.Port
	}
	h.stack.Receive(h.now(), name, undelivered(p.Trap), data)
	h.flush()
}
