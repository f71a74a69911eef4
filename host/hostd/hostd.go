package hostd

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/host"
	"tamtam/host/cpuport"
	"tamtam/host/hostrows"
	"tamtam/host/lacpd"
	"tamtam/host/lldp"
	"tamtam/host/lldpd"
	"tamtam/host/ping"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Sender sends frames to the chip.
type Sender interface{ Send(cpuport.Frame) error }

// Config configures a [Host].
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Stack  host.Config
	MAC    host.MAC // MAC address of router interfaces without their own
	// Name and Description are the switch's name and description in LLDP.
	Name, Description string
}

// A Host is a stack with its input and output. All its methods run on the daemon's goroutine, in handlers, timers or
// [orch.Daemon.Do].
type Host struct {
	d     *orch.Daemon
	redis *swss.Redis
	mac   host.MAC
	stack *host.Stack
	lldp  *lldpd.Speaker
	lacp  *lacpd.Speaker
	ping  *ping.Service
	line  Sender // nil while the CPU port is not connected

	begun  bool      // true once the CPU port has been connected
	paused time.Time // time since which the CPU port is not connected

	rows       map[string]map[string]swss.FieldValues // rows of APPL_DB, by table
	configured bool                                   // true if the stack has the current interfaces
	interfaces map[string]intf
	members    map[string][]string // ports that are up, by PortChannel
	lagOf      map[string]string
	subPorts   map[tagged]string // names of sub-ports
	tagOf      map[string]tagged // by name of a sub-port

	own    map[key]host.MAC // MAC addresses by the keys of the stack's rows in NEIGH_TABLE
	loaded bool             // true if own includes the rows of an earlier hostd
	unsure map[key]bool     // keys of rows that may have to be written or removed
	wanted map[key]int      // number of routes by next hop
	asked  map[key]bool     // neighbours that NEIGH_RESOLVE_TABLE requests

	neighs *swss.ProducerState
	addrs  *hostrows.Addresses
	traps  *hostrows.Traps
	states *forward.OwnRows // rows of HOST_NEIGH_TABLE
	counts *forward.OwnRows // rows of HOST_COUNTERS
	lost   uint64           // number of frames that the CPU port refused
	cpu    func() (cpuport.Counts, bool)
}

type key struct {
	on   string
	addr netip.Addr
}

// A tagged names the frames of a sub-port: those of a port or PortChannel with a VLAN in their tag.
type tagged struct {
	on   string
	vlan uint16
}

// String returns the row's key in APPL_DB.
func (k key) String() string { return k.on + ":" + k.addr.String() }

func (k key) state() string { return k.on + "|" + k.addr.String() }

// parseKey parses a key of NEIGH_TABLE, or with | as the separator of STATE_DB.
func parseKey(text, sep string) (key, bool) {
	on, addr, _ := strings.Cut(text, sep)
	a, err := netip.ParseAddr(addr)
	return key{on, a}, err == nil && on != ""
}

// tables holds the tables of APPL_DB whose rows the host keeps.
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
	h.traps = hostrows.Trap(cfg.Daemon, cfg.Redis, func() bool { return h.begun })
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
		forward.Consume(cfg.Daemon, appl, table, func(key string, fields swss.FieldValues) { h.store(table, key, fields) })
	}
	src := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, schema.AppNeighResolve) }
	cfg.Daemon.Consume(src, schema.AppNeighResolve, orch.Each(func(_ context.Context, t orch.Task) error {
		h.resolve(t)
		return nil
	}), orch.Reporting{None: true})
	cfg.Daemon.AfterRows(h.due, h.reconcile)
	cfg.Daemon.At(h.next, func(_ context.Context, now time.Time) error {
		h.stack.Advance(now)
		h.flush()
		return nil
	})
	h.ping = ping.New(ping.Config{Daemon: cfg.Daemon, Redis: cfg.Redis, Network: network{h}})
	cfg.Daemon.Every(func() time.Duration { return reportPeriod }, h.report)
	return h
}

// reportPeriod is the interval at which STATE_DB and COUNTERS_DB are updated.
const reportPeriod = time.Second

// SetLine connects the CPU port, or disconnects it if line is nil; counts returns its counters. The host starts to work
// with the first connection, and pauses while there is none.
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

// store stores a row, or removes it if fields is nil.
func (h *Host) store(table, name string, fields swss.FieldValues) {
	was := h.rows[table][name]
	if fields == nil {
		delete(h.rows[table], name)
	} else {
		h.rows[table][name] = schema.LastOper(was, fields)
	}
	switch table {
	case schema.AppNeigh:
		if k, ok := parseKey(name, ":"); ok && h.loaded {
			h.applyNeighbor(k, fields)
		}
	case schema.AppRoute:
		h.applyRoute(name, was, fields)
	default:
		h.configured = false
	}
}

// due reports whether reconcile has work.
func (h *Host) due() bool {
	return h.begun && (!h.loaded || !h.configured || len(h.unsure) > 0)
}

// next returns the time at which the stack must be advanced.
func (h *Host) next() time.Time {
	if h.line == nil {
		return time.Time{}
	}
	at, _ := h.stack.Next()
	return at
}

// now returns the stack's time, which stands still while the CPU port is not connected.
func (h *Host) now() time.Time {
	if h.line == nil {
		return h.paused
	}
	return h.d.Now()
}

// reconcile updates the stack, and writes its output.
func (h *Host) reconcile(ctx context.Context) error {
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

// flush sends the stack's frames to the CPU port, and processes its events and messages.
func (h *Host) flush() {
	for _, f := range h.stack.Frames() {
		if err := h.sendFrame(f); err != nil {
			h.lost++
		}
	}
	for _, e := range h.stack.Events() {
		if e.Kind == host.Duplicate {
			h.addrs.Received(e.Interface, e.Addr, schema.MAC(e.MAC))
			continue
		}
		h.unsure[key{e.Interface, e.Addr}] = true
	}
	for _, m := range h.stack.Messages() {
		h.ping.Received(m)
	}
}

// sendFrame sends a frame to the CPU port: in the VLAN of its interface, or at a port.
func (h *Host) sendFrame(f host.Frame) error {
	if h.line == nil {
		return fmt.Errorf("there is no CPU port")
	}
	if vid, ok := schema.VLANNumber(f.Interface); ok {
		return h.line.Send(cpuport.Frame{VLAN: uint16(vid), Data: f.Data})
	}
	port := f.Interface
	if t, ok := h.tagOf[port]; ok {
		port = t.on
		f.Data = slices.Concat(f.Data[:12], []byte{0x81, 0, byte(t.vlan >> 8), byte(t.vlan)}, f.Data[12:])
	}
	if schema.IsPortChannelName(port) {
		ports := h.members[port]
		if len(ports) == 0 {
			return fmt.Errorf("%s has no member that is up", port)
		}
		port = ports[int(f.Data[5])%len(ports)] // all frames to a neighbour use the same port
	}
	return h.line.Send(cpuport.Frame{Port: port, Data: f.Data})
}

// undelivered reports whether a trap is for packets that the chip could not forward.
func undelivered(trap string) bool {
	return trap == "neighbor_miss" || trap == "l3_mtu_error" || trap == "ttl_error"
}

// Receive processes a frame that the chip has punted.
func (h *Host) Receive(p cpuport.Packet) {
	data, vlan := p.Data, uint16(0)
	if len(data) >= 18 && data[12] == 0x81 && data[13] == 0 { // the tag of a VLAN or a sub-port, or a priority tag
		vlan = binary.BigEndian.Uint16(data[14:]) & 0xfff
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
	if sub := h.subPorts[tagged{name, vlan}]; sub != "" {
		name = sub
	}
	h.stack.Receive(h.now(), name, undelivered(p.Trap), data)
	h.flush()
}
