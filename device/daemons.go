package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/amorch"
	debugmgr "tamtam/cfgmgr/debugcounter"
	portmgr "tamtam/cfgmgr/ports"
	qosmgr "tamtam/cfgmgr/qos"
	routemgr "tamtam/cfgmgr/routes"
	sflowmgr "tamtam/cfgmgr/sflow"
	"tamtam/device/fault"
	"tamtam/device/sender"
	"tamtam/device/switchpage"
	"tamtam/flymonorch"
	"tamtam/mgmt"
	"tamtam/mgmt/metrics"
	"tamtam/mgmt/restconf"
	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/forward"
	aclorch "tamtam/orchagent/acl"
	copporch "tamtam/orchagent/copp"
	"tamtam/orchagent/debugcounter"
	"tamtam/orchagent/dropmonitor"
	fdborch "tamtam/orchagent/fdb"
	ifaorch "tamtam/orchagent/ifa"
	mirrororch "tamtam/orchagent/mirror"
	portsorch "tamtam/orchagent/ports"
	qosorch "tamtam/orchagent/qos"
	routeorch "tamtam/orchagent/routes"
	sfloworch "tamtam/orchagent/sflow"
	"tamtam/recordorch"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/flex"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/tammgr"
	"tamtam/tsorch"
)

// Common has the options of every daemon. The zero value is usable.
type Common struct {
	Log *slog.Logger
	// Rec takes swss.rec and sairedis.rec lines: every task and every SAI call.
	Rec io.Writer
	// Backend, if set, sits between syncd and the chip: fault injection in tests, time-keeping in
	// benchmarks.
	Backend func(sai.API) sai.API
	// AllowFaults has the daemon take faults on purpose, see package fault.
	AllowFaults bool
	// StaticLAGs says that nobody speaks LACP on this switch: PortChannels are static.
	StaticLAGs bool

	sflowd func(context.Context) (sflowmgr.Agent, error) // how sflowd is; nil: by its own word

	faults *fault.Desk      // nil: of a simulation
	health *health          // nil: nobody is told
	doubt  *doubt           // of the ASIC; nil: nobody is told
	syncd  *signs           // nil: nobody looks at it
	claim  *swss.Claim      // nil: nobody else has the databases
	now    func() time.Time // nil: the wall clock
	anew   func() bool      // whether a life may end to heal drift; nil: it may
}

// of returns the options of one life of a daemon.
func (c Common) of(h *health, claim *swss.Claim) Common {
	c.health, c.claim = h, claim
	return c
}

func (c Common) backend(chip sai.API) sai.API {
	if c.Backend != nil {
		chip = c.Backend(chip)
	}
	return c.faults.SAI(chip)
}

func (c Common) daemon() orch.Options {
	opts := orch.Options{Logger: c.Log, Recorder: c.Rec, Disturb: c.faults.Disturb()}
	if c.health != nil {
		opts.Tell, opts.Check = c.health.tell, c.claim.Check
	}
	if c.doubt != nil {
		opts.Doubted = func() bool { return c.doubt.why() != "" }
	}
	return opts
}

// NewManagers returns the daemon tammgrd: CONFIG_DB to APPL_DB.
func NewManagers(r *swss.Redis, c Common) *orch.Daemon {
	d := orch.NewDaemon("tammgrd", r, c.daemon())
	portmgr.New(d, r).LACP = !c.StaticLAGs
	routemgr.New(d, r)
	qosmgr.New(d, r)
	sflow := sflowmgr.New(d, r)
	if sflow.Agent = c.sflowd; c.sflowd == nil {
		sflow.Agent = agentOf(r)
	}
	debugmgr.New(d, r)
	tammgr.New(d, r).FallbackMAC = schema.MAC(fallbackMAC())
	forward.CompareTold(d, r)
	forward.ReportUnapplied(d, r)
	return d
}

// RunManagers runs the daemon tammgrd until ctx ends.
func RunManagers(ctx context.Context, r *swss.Redis, c Common) error {
	c = c.named("tammgrd")
	h := newHealth("tammgrd")
	c.faults = newDesk(h, r, c)
	h.lacks = func(ctx context.Context) string {
		if empty, err := r.DB(swss.ConfigDB).Empty(ctx); err != nil || !empty {
			return ""
		}
		return "CONFIG_DB is empty: no configuration has been loaded, or it was lost"
	}
	return runLives(ctx, r, h, logOf(c), func(ctx context.Context, h *health, claim *swss.Claim) error {
		d := NewManagers(r, c.of(h, claim))
		h.lives(func(ctx context.Context) error { return d.Do(ctx, func() {}) }, d.Hears, d.Watch())
		return d.Run(ctx)
	}, swss.ApplDB, swss.StateDB)
}

// An Orchagent is the daemon orchagent: APPL_DB to SAI.
type Orchagent struct {
	Daemon  *orch.Daemon
	asic    *sairedis.Agent
	ports   *portsorch.Orch
	routes  *routeorch.Orch
	fdb     *fdborch.Orch
	qos     *qosorch.Orch
	mirrors *mirrororch.Orch
	traps   *copporch.Orch
	samples *sfloworch.Orch
	drops   *debugcounter.Orch
	tam     []tamOrch // all that there are
	rec     planOrch  // of them
	doubt   *doubt    // of the ASIC; nil: nobody is told
}

// A tamOrch is the orch of a TAM feature. A package that sees the type of one, as a field of a field, compiles all
// of feature.Feature for it again.
type tamOrch interface {
	// ChipThere says that there is a chip to ask.
	ChipThere()
	// ViewApplied says that what is wanted is in the chip, which can be read.
	ViewApplied()
	// PollCounters reads the counters of its sessions now.
	PollCounters(ctx context.Context) error
}

// A planOrch is that of table recording.
type planOrch interface {
	tamOrch
	Planned() *orch.Topic[recordorch.Planned]
}

// NewOrchagent starts a new view of the ASIC and assembles the orchs. Their
// order is the order in which rows are handled.
func NewOrchagent(ctx context.Context, r *swss.Redis, c Common) (*Orchagent, error) {
	opts := sairedis.ClientOptions{Recorder: c.Rec, Logger: c.Log}
	if c.doubt != nil {
		opts.Sign, opts.Doubt = c.syncd.look, c.doubt.say
	}
	client, err := sairedis.NewClient(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	asic := sairedis.NewAgent(r, client)
	if err := asic.InitView(ctx); err != nil {
		return nil, errors.Join(err, asic.Close())
	}
	if c.syncd != nil {
		if err := c.met(ctx, asic); err != nil {
			return nil, errors.Join(err, asic.Close())
		}
	}
	o := &Orchagent{Daemon: orch.NewDaemon("orchagent", r, c.daemon()), asic: asic, doubt: c.doubt}
	o.Daemon.Watch().Add(asic.Compared(c.anew))
	if err := o.assemble(ctx, r); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *Orchagent) assemble(ctx context.Context, r *swss.Redis) error {
	mac, err := switchMAC(ctx, r)
	if err != nil {
		return err
	}
	poll := poller{o.asic}
	ports, err := portsorch.New(ctx, portsorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Poller: poll, MAC: mac, Fallback: fallbackMAC(), Found: o.asic.Found,
	})
	if err != nil {
		return fmt.Errorf("ports: %w", err)
	}
	o.ports = ports
	o.qos, err = qosorch.New(ctx, qosorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports, Poller: poll, Switch: ports.Switch(),
	})
	if err != nil {
		return fmt.Errorf("QoS: %w", err)
	}
	routes, err := routeorch.New(ctx, routeorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: routerPorts{ports}, Switch: ports.Switch(),
	})
	if err != nil {
		return fmt.Errorf("routing: %w", err)
	}
	o.routes = routes
	fdb, err := fdborch.New(ctx, fdborch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports, Switch: ports.Switch(),
	})
	if err != nil {
		return fmt.Errorf("FDB: %w", err)
	}
	o.fdb = fdb
	o.traps, err = copporch.New(ctx, copporch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Switch: ports.Switch(), Poller: poll,
	})
	if err != nil {
		return fmt.Errorf("traps: %w", err)
	}
	o.samples = sfloworch.New(sfloworch.Config{SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports})
	o.mirrors, err = mirrororch.New(ctx, mirrororch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports, Routes: ways{routes, "mirror sessions"},
	})
	if err != nil {
		return fmt.Errorf("mirror sessions: %w", err)
	}
	records, err := feature.Room(ctx, o.asic, record.ObjectPlan)
	if err != nil {
		return fmt.Errorf("ask for table recording: %w", err)
	}
	acl, err := aclorch.New(ctx, aclorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports, Poller: poll, Switch: ports.Switch(),
		Sessions: o.mirrors, NextHops: routes, Labels: records > 0,
	})
	if err != nil {
		return fmt.Errorf("ACLs: %w", err)
	}
	acl.Count(routes.Used)
	acl.Count(fdb.Used)
	if err := errors.Join(o.assembleDrops(ctx, r), o.assembleTAM(ctx, r, acl)); err != nil {
		return err
	}
	o.Daemon.Receive(o.asic.Notifications, func(ctx context.Context, k swss.KeyOpFieldsValues) error {
		notes, err := o.asic.Notified(k)
		if err != nil {
			return err
		}
		for _, n := range notes {
			if _, ok := n.(sai.ShutdownRequest); ok {
				return o.asic.GiveUp(ctx, errors.New("syncd asks to be shut down: the ASIC has failed"))
			}
			if err := errors.Join(ports.Notify(ctx, n), fdb.Notify(ctx, n)); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// assembleDrops makes the orch of debug counters.
func (o *Orchagent) assembleDrops(ctx context.Context, r *swss.Redis) (err error) {
	o.drops, err = debugcounter.New(ctx, debugcounter.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: o.ports, Switch: o.ports.Switch(), Poller: poller{o.asic},
	})
	if err != nil {
		return fmt.Errorf("debug counters: %w", err)
	}
	return nil
}

// assembleTAM makes the orchs of the TAM features, behind those whose rules, ports and routes they use.
func (o *Orchagent) assembleTAM(ctx context.Context, r *swss.Redis, acl *aclorch.Orch) error {
	orch.Accept(o.Daemon, r.DB(swss.ApplDB), schema.AppTAMSampler, schema.AppTAMGroup, schema.AppSFlow,
		schema.AppSFlowCollector)
	features := orch.NewFeatures(o.Daemon)
	var chip sai.API = o.asic
	if o.asic.Adopting() {
		chip = o.asic.Chip()
	}
	run, err := sairedis.Run(ctx, r)
	if err != nil {
		return err
	}
	base := feature.Config{
		Run: run, SAI: o.asic, Chip: chip, Daemon: o.Daemon, Redis: r, Switch: o.ports.Switch(), Features: features,
	}
	ts, err := tsorch.New(ctx, tsorch.Config{Config: base, Rules: acl})
	if err != nil {
		return fmt.Errorf("tail-stamping: %w", err)
	}
	am, err := amorch.New(ctx, amorch.Config{Config: base, Rules: acl, Routes: exits{o.routes}})
	if err != nil {
		return fmt.Errorf("alternate marking: %w", err)
	}
	fm, err := flymonorch.New(ctx, base)
	if err != nil {
		return fmt.Errorf("FlyMon: %w", err)
	}
	o.rec, err = recordorch.New(ctx, recordorch.Config{
		Config: base, Rules: acl, Ports: o.ports, Routes: ways{o.routes, "table recording"}, Identity: ts,
	})
	if err != nil {
		return fmt.Errorf("table recording: %w", err)
	}
	whole := &feature.SwitchTAM{SAI: o.asic, Switch: o.ports.Switch()}
	dm, err := dropmonitor.New(ctx, dropmonitor.Config{
		Config: base, Rules: acl, Ports: o.ports, Routes: ways{o.routes, "the drop monitor"}, Identity: ts, Whole: whole,
	})
	if err != nil {
		return fmt.Errorf("drop monitor: %w", err)
	}
	ia, err := ifaorch.New(ctx, ifaorch.Config{
		Config: base, Identity: ts, Whole: whole, Rules: acl, Reports: dm, Ways: o.routes.Changes(), Ports: o.ports.Changes(),
	})
	if err != nil {
		return fmt.Errorf("IFA: %w", err)
	}
	o.tam = []tamOrch{ts, am, fm, o.rec, dm, ia}
	if err := features.Publish(ctx); err != nil {
		return fmt.Errorf("what the switch can do: %w", err)
	}
	return nil
}

// Start creates the objects of all rows in APPL_DB, then has the ASIC brought to this view. Nothing is reported
// active before that. What STATE_DB knows not to be in force is left out of the view, and comes after it as changes
// do: it may not fit, and would fail the whole view.
func (o *Orchagent) Start(ctx context.Context, now time.Time) error {
	adopts := o.asic.Adopting()
	hold := func(ctx context.Context) error { return o.Daemon.Hold(ctx, adopts) }
	if o.asic.Cautious() {
		hold = o.Daemon.HoldUnknown
	}
	if err := hold(ctx); err != nil {
		return err
	}
	if adopts {
		// What is in force is known to be supported.
		if err := o.followsView(ctx); err != nil {
			return err
		}
		for _, feature := range o.tam {
			feature.ChipThere()
		}
	}
	if _, err := o.Daemon.Step(ctx, now); err != nil {
		return err
	}
	if err := o.asic.ApplyView(ctx); err != nil {
		return err
	}
	if err := o.ports.ViewApplied(ctx); err != nil {
		return err
	}
	if err := o.routes.ViewApplied(ctx); err != nil {
		return err
	}
	if err := o.followsView(ctx); err != nil {
		return err
	}
	if adopts {
		o.fdb.Adopted(o.asic.Learned())
	} else if err := o.fdb.ViewApplied(ctx); err != nil {
		return err
	}
	if o.doubt != nil {
		o.doubt.applied()
	}
	for _, feature := range o.tam {
		feature.ViewApplied()
	}
	if _, err := o.Daemon.Step(ctx, now); err != nil { // what was in force comes before what waits for room
		return err
	}
	o.Daemon.Release()
	_, err := o.Daemon.Step(ctx, now)
	return err
}

// followsView has those go on who wait for a chip that can be asked what it supports.
func (o *Orchagent) followsView(ctx context.Context) error {
	return errors.Join(o.qos.ViewApplied(ctx), o.mirrors.ViewApplied(ctx), o.traps.ViewApplied(ctx),
		o.samples.ViewApplied(ctx), o.drops.ViewApplied(ctx))
}

// PollCounters reads the sessions' counters now.
func (o *Orchagent) PollCounters(ctx context.Context) error {
	var errs []error
	for _, feature := range o.tam {
		errs = append(errs, feature.PollCounters(ctx))
	}
	return errors.Join(errs...)
}

// Close ends the daemon's connections. The ASIC stays as it is.
func (o *Orchagent) Close() error { return errors.Join(o.Daemon.Close(), o.asic.Close()) }

// A poller is the agent of sairedis as the orchs want to see it.
type poller struct{ *sairedis.Agent }

func (p poller) SetGroup(ctx context.Context, group string, interval time.Duration, enabled bool) error {
	return p.SetCounterGroup(ctx, group,
		sairedis.CounterGroup{Interval: interval, Mode: flex.StatsModeRead, Enabled: &enabled})
}

// routerPorts are the ports as routeorch wants to see them.
type routerPorts struct{ *portsorch.Orch }

func (p routerPorts) RouterPort(name string) (sai.Key, uint32, error) {
	on, err := p.Orch.RouterPort(name)
	return on.Key, on.MTU, err
}

// Up is true for a VLAN: its neighbours may be behind any of its members.
func (p routerPorts) Up(name string) bool {
	_, vlan := schema.VLANNumber(name)
	return vlan || p.Orch.Up(name)
}

// switchMAC returns the switch's own address: that of DEVICE_METADATA, or the
// fallback.
func switchMAC(ctx context.Context, r *swss.Redis) (sai.MAC, error) {
	row, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgDeviceMetadata).Get(ctx, "localhost")
	if err != nil {
		return sai.MAC{}, err
	}
	if mac, err := net.ParseMAC(row["mac"]); err == nil && len(mac) == 6 {
		return sai.MAC(mac), nil
	}
	return fallbackMAC(), nil
}

// fallbackMAC is the first locally administered address.
func fallbackMAC() sai.MAC { return sai.MAC{2, 0, 0, 0, 0, 1} }

// NewSyncd returns the daemon syncd in front of an ASIC.
func NewSyncd(r *swss.Redis, asic sai.API, c Common) *sairedis.Server {
	opts := sairedis.ServerOptions{TempView: true, Renew: c.anew, Logger: c.Log, Now: c.now}
	if c.health != nil {
		opts.Run, opts.Tell = c.health.owner, c.health.tell
	}
	s := sairedis.NewServer(r, asic, opts)
	alone := 0
	s.Watch.Author = func(ctx context.Context, daemon string) (int, bool) {
		if !s.Refused() {
			return drift.Author(ctx, r, daemon)
		}
		alone += 2 // what orchagent says to be there was refused: it is not waited for
		return alone, true
	}
	return s
}

// Addresses are where mgmtd listens besides gNMI's, HOST:PORT; "": nowhere. And where it sends to by itself.
type Addresses struct {
	Metrics string // for Prometheus
	// MetricsOpen lets whoever can connect read the metrics, though there are users.
	MetricsOpen bool
	REST        string // RESTCONF
	Page        string // the switch's page, for browsers
	Send        sender.Flags
	Version     string // of tamtam, as outputs tell it
}

// RunMgmt runs the daemon mgmtd until ctx ends.
func RunMgmt(ctx context.Context, cfg mgmt.Config, at Addresses, c Common) error {
	s, err := newMgmt(cfg)
	if err != nil {
		return err
	}
	own, err := openPage(s, cfg.Redis, at, c)
	if err == nil {
		err = s.Begin(ctx, "CONFIG_DB, as it was found", false, nil)
	}
	if err != nil {
		s.Close()
		if own != nil {
			own.Close()
		}
		return err
	}
	return serveMgmt(ctx, cfg.Redis, s, own, at, c)
}

// openPage listens for the switch's page, before anything runs that an address that is taken would end; nil: there is
// to be none.
func openPage(s *mgmt.Server, r *swss.Redis, at Addresses, c Common) (*switchpage.Server, error) {
	if at.Page == "" {
		return nil, nil
	}
	return switchpage.New(switchpage.Config{Engine: s, Redis: r, Addr: at.Page, Log: logOf(c.named("mgmtd"))})
}

// newMgmt makes the server, whose log says which daemon it is.
func newMgmt(cfg mgmt.Config) (*mgmt.Server, error) {
	if cfg.Logger != nil {
		cfg.Logger = cfg.Logger.With("daemon", "mgmtd")
	}
	return mgmt.NewServer(cfg)
}

// serveMgmt serves until ctx ends. While the databases cannot be worked with, or another mgmtd works on them,
// clients are refused with the reason. own is the switch's page; nil: it has none.
func serveMgmt(ctx context.Context, r *swss.Redis, s *mgmt.Server, own *switchpage.Server, at Addresses, c Common,
) error {
	c = c.named("mgmtd")
	h, a := newHealth("mgmtd"), newAlarms(r)
	newDesk(h, r, c)
	h.heed = s.Refuse
	a.standby, a.troubles = h.isSilent, s.Troubles
	a.warn = func(text string) { logOf(c).Warn(text) }
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		err := s.Live(ctx, claim, h.tell)
		if ctx.Err() == nil {
			a.lost(err)
		}
		return err
	}
	known := metrics.New(r, daemons)
	out := sender.New(sender.Config{
		Flags: at.Send, Redis: r, Metrics: known, From: s, Version: at.Version, Log: logOf(c), Standby: h.isSilent,
	})
	s.AlsoAudit(out.Handler())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Serve(ctx) })
	g.Go(func() error { return a.run(ctx) })
	if at.Metrics != "" {
		g.Go(func() error {
			web, err := mgmt.LooksOf(s).Listen(at.Metrics, at.MetricsOpen, metrics.Server(known))
			if err == nil {
				err = web.Serve(ctx)
			}
			if err != nil {
				return fmt.Errorf("metrics: %w", err)
			}
			return nil
		})
	}
	g.Go(func() error { return out.Run(ctx) })
	if at.REST != "" {
		g.Go(func() error {
			rest, err := restconf.New(restconf.Config{Engine: s, Addr: at.REST, Log: logOf(c)})
			if err != nil {
				return err
			}
			return rest.Serve(ctx)
		})
	}
	if own != nil {
		g.Go(func() error { return own.Serve(ctx) })
	}
	g.Go(func() error {
		// The last two it does not read, but tells of when they are emptied.
		return runLives(ctx, r, h, logOf(c), live, append(mgmt.Databases(), swss.ASICDB, swss.FlexCounterDB)...)
	})
	return ended(g.Wait())
}
