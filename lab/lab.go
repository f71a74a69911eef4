package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"tamtam/collector/capture"
	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/heap"
	"tamtam/saisim/profile"
	"tamtam/saisim/truth"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Options configure how a topology is run. The zero value is usable.
type Options struct {
	// Seed is the seed of all random choices. Zero means the topology's seed.
	Seed uint64
	// Workers is the number of cores to use. Zero means all. The results do not depend on it.
	Workers int
	// Out is the directory for captures. If it is empty, no captures are written.
	Out string
	Log *slog.Logger
	// Blind switches off the account of each flow group's frames in switches, which is faster. Results then lack Paths
	// and the losses of each group inside switches.
	Blind bool
	// Oracle is the number of flows per sketch task that the chips also count exactly. Zero means none.
	Oracle int
	// Counters is the interval at which the counters of ports with links are recorded. Zero means that they are not.
	Counters Time
	// Progress, if not nil, is called now and then with the simulated time and the number of frames that switches have
	// received.
	Progress func(now Time, frames uint64)
}

// A Lab is a running topology.
type Lab struct {
	t         *Topology
	opts      Options
	nodes     []*node // nodes in the topology's order
	byName    map[string]*node
	stations  []*station
	hosts     map[string]*station
	links     []*link
	sources   []*source
	clocks    []*discipline
	events    []Event // sorted by time
	captures  []*capture.Writer
	oracle    *truth.Oracle // nil if no truth group is configured
	observers []*observation
	thrift    heap.Limit

	now, end  Time
	abreast   Time // the last time at which all nodes had the same time
	side      int
	lookahead Time
}

// A link is a running Link.
type link struct {
	*Link
	name  string
	wires [2]*wire // A to B, and B to A
	down  bool
	fell  int // number of failures so far
}

// New builds the switches of a topology, lets each apply its configuration, and connects everything. No frame has been
// sent when it returns. The caller must close the Lab.
func New(ctx context.Context, t *Topology, opts Options) (*Lab, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if s := t.lone(); s != nil {
		return nil, fmt.Errorf("%s%s: the study has no switches to build: Run runs it", t.Where(""), s.Name())
	}
	opts = opts.of(t)
	l := &Lab{t: t, opts: opts, byName: map[string]*node{}, hosts: map[string]*station{}, lookahead: maxWindow}
	l.events = slices.Clone(t.Events)
	slices.SortStableFunc(l.events, func(a, b Event) int { return int(min(1, max(-1, a.At-b.At))) })
	for _, build := range []func(context.Context) error{
		l.makeSwitches, l.makeLinks, l.makeTraffic, l.makeOracle, l.makeObservers, l.makeClocks, l.makeSamplers,
		l.openCaptures,
	} {
		if err := build(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// makeSwitches starts the switches, several at a time.
func (l *Lab) makeSwitches(ctx context.Context) error {
	for i := range l.t.Switches {
		n := &node{s: &l.t.Switches[i], nth: i}
		n.tap = Tap{n}
		n.accounts = make([]*account, len(l.t.Traffic)+1)
		n.blind = l.opts.Blind && len(l.t.Truth) == 0 && !l.t.studied()
		l.nodes, l.byName[n.s.Name] = append(l.nodes, n), n
	}
	l.thrift.Begin(len(l.nodes))
	l.each(func(n *node) {
		n.err = l.start(ctx, n)
		l.thrift.Adapt()
	})
	l.thrift.Started()
	if len(l.nodes) >= heap.Many {
		// A frame needs some eighty lines of memory in each switch, on nearly as many pages. The processor cannot keep the
		// addresses of the small pages of so many switches. If the kernel has no huge pages, the lab is only slower.
		_ = heap.UseHugePages(reflect.ValueOf(l.nodes[0]).Pointer())
	}
	var errs []error
	for i, n := range l.nodes {
		if n.err != nil {
			errs = append(errs, fmt.Errorf("%sswitch %q: %w", l.t.Where(fmt.Sprintf("switches[%s]", l.t.Switches[i].Name)),
				n.s.Name, n.err))
		}
	}
	return errors.Join(errs...)
}

func (l *Lab) start(ctx context.Context, n *node) error {
	name := n.s.Profile
	if name == "" {
		name = "default"
	} else if strings.ContainsAny(name, "/.") {
		name = l.t.Resolve(name)
	}
	profile, err := profile.Load(name)
	if err != nil {
		return err
	}
	config, err := l.t.ConfigOf(n.s)
	if err != nil {
		return err
	}
	n.hz = profile.ClockHz
	c := device.SimConfig{
		Common: daemons.Common{Log: l.opts.Log}, Profile: profile, Start: epoch, Config: config, Attach: n.attach,
		Host: n.s.Hostd, Oracle: l.opts.Oracle,
	}
	for i := range l.t.Measure {
		if m := &l.t.Measure[i]; m.Object != "" && m.Switch == n.s.Name {
			if err := n.streams.measure(m); err != nil {
				return err
			}
			c.Streams = n.streams.read
		}
	}
	n.sim, err = device.NewSim(ctx, c)
	if err != nil {
		return err
	}
	n.plans = n.sim.CollectPlans()
	if err := n.sim.RunUntilIdle(ctx); err != nil {
		return err
	}
	for _, p := range n.sim.Chip.Tables().Ports {
		for len(n.port) <= int(p.Port) {
			n.port = append(n.port, -1)
		}
		n.port[p.Port] = int16(len(n.ports))
		n.ports = append(n.ports, portInfo{n.sim.Chip.PortName(p.Port), p.Port, p.Mbps})
	}
	for _, l := range n.accounts { // frames that hostd sent before the ports were known
		if l != nil {
			l.by = make([]uint64, len(n.ports))
		}
	}
	n.out = make([]*wire, len(n.port))
	return nil
}

// ConfigOf returns a switch's configuration. It adds a name and a MAC address if the configuration has none.
func (t *Topology) ConfigOf(s *Switch) (device.ConfigDB, error) {
	config := device.ConfigDB{}
	if s.Config.File != "" {
		var err error
		if config, err = device.ReadConfigDB(t.Resolve(s.Config.File)); err != nil {
			return nil, err
		}
	}
	for table, rows := range s.Config.Tables {
		config[table] = rows
	}
	meta := swss.FieldValues{"hostname": s.Name, "mac": s.mac().String()}
	for field, value := range config[schema.CfgDeviceMetadata]["localhost"] {
		if field != "NULL" {
			meta[field] = value
		}
	}
	config[schema.CfgDeviceMetadata] = map[string]swss.FieldValues{"localhost": meta}
	return config, nil
}

// mac returns the address that the topology gives the switch, or else one made from its name.
func (s *Switch) mac() MAC {
	if s.MAC != (MAC{}) {
		return s.MAC
	}
	return madeMAC("switch/" + s.Name)
}

// madeMAC returns a locally administered address that depends on the name alone.
func madeMAC(name string) MAC {
	h := fnv.New64a()
	h.Write([]byte(name))
	v := h.Sum64()
	return MAC{2, byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}

// each calls f for every node, on as many cores as there are workers.
func (l *Lab) each(f func(*node)) {
	if l.opts.Workers == 1 {
		for _, n := range l.nodes {
			f(n)
		}
		return
	}
	var wg sync.WaitGroup
	turn := make(chan struct{}, l.opts.Workers)
	for _, n := range l.nodes {
		wg.Add(1)
		turn <- struct{}{}
		go func() {
			f(n)
			<-turn
			wg.Done()
		}()
	}
	wg.Wait()
}

func (l *Lab) openCaptures(context.Context) error {
	if l.opts.Out == "" {
		return nil
	}
	for _, h := range l.stations {
		if !h.host.Capture {
			continue
		}
		for _, c := range []struct {
			to   **capture.Writer
			name string
		}{{&h.sentCap, ".sent.pcap"}, {&h.recCap, ".received.pcap"}} {
			w, err := capture.Create(filepath.Join(l.opts.Out, h.host.Name+c.name))
			if err != nil {
				return err
			}
			*c.to = w
			l.captures = append(l.captures, w)
		}
	}
	return nil
}

// Close ends all switches and completes the captures.
func (l *Lab) Close() error {
	var errs []error
	for _, w := range l.captures {
		errs = append(errs, w.Close())
	}
	l.captures = nil
	for _, s := range l.sources {
		if s.file != nil {
			s.file.close()
		}
	}
	for _, n := range l.nodes {
		if n.sim != nil {
			errs = append(errs, n.sim.Close())
			n.sim = nil
		}
	}
	l.thrift.End()
	return errors.Join(errs...)
}
