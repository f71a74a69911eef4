package daemons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/amorch"
	"tamtam/flymonorch"
	"tamtam/orch"
	"tamtam/orch/feature"
	aclorch "tamtam/orchagent/acl"
	copporch "tamtam/orchagent/copp"
	"tamtam/orchagent/debugcounter"
	"tamtam/orchagent/dropmonitor"
	fdborch "tamtam/orchagent/fdb"
	"tamtam/orchagent/hftel"
	ifaorch "tamtam/orchagent/ifa"
	"tamtam/orchagent/microburst"
	mirrororch "tamtam/orchagent/mirror"
	portsorch "tamtam/orchagent/ports"
	qosorch "tamtam/orchagent/qos"
	routeorch "tamtam/orchagent/routes"
	sfloworch "tamtam/orchagent/sflow"
	"tamtam/orchagent/switchhash"
	"tamtam/orchagent/trimming"
	"tamtam/orchagent/tunnels"
	"tamtam/recordorch"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/flex"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/tsorch"
)

// An Orchagent is the daemon orchagent: APPL_DB to SAI.
type Orchagent struct {
	Daemon    *orch.Daemon
	asic      *sairedis.Agent
	ports     *portsorch.Orch
	routes    *routeorch.Orch
	tunnels   *tunnels.Orch
	fdb       *fdborch.Orch
	qos       *qosorch.Orch
	mirrors   *mirrororch.Orch
	traps     *copporch.Orch
	samples   *sfloworch.Orch
	drops     *debugcounter.Orch
	streams   *hftel.Orch
	bursts    *microburst.Orch
	tam       []tamOrch  // the orchs of all TAM features
	rec       planOrch   // the orch in tam for table recording
	asicState *asicState // reports that the ASIC's state is unknown; nil means that this is not reported
	applied   bool       // true if the view is in the ASIC
	missed    bool       // true if the learned addresses must be read from ASIC_DB
}

// A tamOrch is the orch of a TAM feature. It is an interface to save compile time. A package that uses the concrete
// type, even as a field of a field, compiles all of feature.Feature again.
type tamOrch interface {
	// ChipThere notifies the orch that the chip can be queried.
	ChipThere()
	// ViewApplied notifies the orch that the target state is in the chip, which can now be read.
	ViewApplied()
	// PollCounters reads the counters of the feature's sessions now.
	PollCounters(ctx context.Context) error
}

// A planOrch is the orch of table recording.
type planOrch interface {
	tamOrch
	Planned() *orch.Topic[recordorch.Planned]
}

// NewOrchagent starts a new view of the ASIC and assembles the orchs. Their order is the order in which rows are
// handled.
func NewOrchagent(ctx context.Context, r *swss.Redis, c Common) (*Orchagent, error) {
	opts := sairedis.ClientOptions{Recorder: c.Rec, Logger: c.Log}
	if c.asicState != nil {
		opts.Sign, opts.ASICUnknown = c.syncd.look, c.asicState.say
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
	o := &Orchagent{Daemon: orch.NewDaemon("orchagent", r, c.Options()), asic: asic, asicState: c.asicState}
	o.Daemon.Watch().Add(asic.Compared(c.Renew))
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
	orch.RefuseFlexGroups(o.Daemon)
	poll := poller{o.asic}
	ports, err := portsorch.New(ctx, portsorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Poller: poll, MAC: mac, Fallback: fallbackMAC(), Found: o.asic.Found,
	})
	if err != nil {
		return fmt.Errorf("ports: %w", err)
	}
	o.ports = ports
	_, err = switchhash.New(ctx, switchhash.Config{SAI: o.asic, Daemon: o.Daemon, Redis: r, Switch: ports.Switch()})
	if err != nil {
		return fmt.Errorf("flow hashes: %w", err)
	}
	_, err = trimming.New(ctx, trimming.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Switch: ports.Switch(), Poller: poll,
	})
	if err != nil {
		return fmt.Errorf("packet trimming: %w", err)
	}
	o.qos, err = qosorch.New(ctx, qosorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports, Poller: poll, Switch: ports.Switch(),
	})
	if err != nil {
		return fmt.Errorf("QoS: %w", err)
	}
	routes, err := routeorch.New(ctx, routeorch.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: routerPorts{ports}, Switch: ports.Switch(), Poller: poll,
	})
	if err != nil {
		return fmt.Errorf("routing: %w", err)
	}
	o.routes = routes
	router, loopback := routes.Router()
	o.tunnels = tunnels.New(tunnels.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Router: router, Underlay: loopback,
	})
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
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: ports, Routes: paths{routes, "mirror sessions"},
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
	o.receiveNotifications()
	return nil
}

// receiveNotifications passes the ASIC's notifications to the orchs. If some may have been lost, it reads from ASIC_DB
// what they were about. syncd repeats the states of ports by itself.
func (o *Orchagent) receiveNotifications() {
	lost := func() { o.missed = true }
	o.Daemon.Receive(o.asic.Client().Notifications, func(ctx context.Context, k swss.KeyOpFieldsValues) error {
		notes, err := o.asic.Notified(k)
		if err != nil {
			return err
		}
		for _, n := range notes {
			if _, ok := n.(sai.ShutdownRequest); ok {
				return o.asic.Client().GiveUp(ctx, errors.New("syncd asks to be shut down: the ASIC has failed"))
			}
			if err := errors.Join(o.ports.Notify(ctx, n), o.fdb.Notify(ctx, n), o.streams.Notify(ctx, n)); err != nil {
				return err
			}
		}
		return nil
	}, lost)
	o.Daemon.AfterRows(func() bool { return o.missed && o.applied }, func(ctx context.Context) error {
		if !o.applied {
			return nil // ASIC_DB describes the ASIC only then
		}
		learned, err := o.asic.Learned(ctx)
		if err == nil {
			o.fdb.Learned(learned)
			err = o.streams.Missed(ctx)
		}
		o.missed = err != nil
		return err
	})
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

// assembleTAM makes the orchs of the TAM features, after those whose rules, ports and routes they use.
func (o *Orchagent) assembleTAM(ctx context.Context, r *swss.Redis, acl *aclorch.Orch) error {
	orch.Accept(o.Daemon, r.DB(swss.ApplDB), schema.AppTAMSampler, schema.AppTAMGroup, schema.AppSFlow,
		schema.AppSFlowCollector)
	features := orch.NewFeatures(o.Daemon)
	var chip sai.API = o.asic
	if o.asic.Adopting() {
		chip = o.asic.Client()
	}
	run, _, err := sairedis.Run(ctx, r)
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
		Config: base, Rules: acl, Ports: o.ports, Routes: paths{o.routes, "table recording"}, Identity: ts,
	})
	if err != nil {
		return fmt.Errorf("table recording: %w", err)
	}
	whole := &feature.SwitchTAM{SAI: o.asic, Switch: o.ports.Switch()}
	dm, err := dropmonitor.New(ctx, dropmonitor.Config{
		Config: base, Rules: acl, Ports: o.ports, Routes: paths{o.routes, "the drop monitor"}, Identity: ts, Whole: whole,
	})
	if err != nil {
		return fmt.Errorf("drop monitor: %w", err)
	}
	ia, err := ifaorch.New(ctx, ifaorch.Config{
		Config: base, Identity: ts, Whole: whole, Rules: acl, Reports: dm,
		Paths: o.routes.Changes(), Ports: o.ports.Changes(),
	})
	if err != nil {
		return fmt.Errorf("IFA: %w", err)
	}
	o.streams = hftel.New(hftel.Config{
		SAI: o.asic, Daemon: o.Daemon, Redis: r, Ports: o.ports, Pools: o.qos, Switch: o.ports.Switch(), Whole: whole,
	})
	o.bursts, err = microburst.New(ctx, microburst.Config{Config: base, Ports: o.ports})
	if err != nil {
		return fmt.Errorf("microbursts: %w", err)
	}
	o.tam = []tamOrch{ts, am, fm, o.rec, dm, ia}
	if err := features.Publish(ctx); err != nil {
		return fmt.Errorf("what the switch can do: %w", err)
	}
	return nil
}

// Start creates the objects of all rows in APPL_DB, then makes syncd bring the ASIC to this view. Until then it reports
// nothing as active. Rows that are not in force according to STATE_DB are left out of the view. If they did not fit,
// the whole view would fail. So they are applied afterwards as changes.
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
		// Objects in force are known to be supported.
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
	if !adopts {
		if err := o.fdb.ViewApplied(ctx); err != nil {
			return err
		}
	}
	if err := o.streams.ViewApplied(ctx); err != nil { // not in an adopted view, in which the ASIC makes no templates
		return err
	}
	o.applied, o.missed = true, true
	if o.asicState != nil {
		o.asicState.applied()
	}
	for _, feature := range o.tam {
		feature.ViewApplied()
	}
	// rows that were in force precede those that wait for resources
	if _, err := o.Daemon.Step(ctx, now); err != nil {
		return err
	}
	o.Daemon.Release()
	_, err := o.Daemon.Step(ctx, now)
	return err
}

// followsView resumes the orchs that wait until they can ask the chip for its capabilities.
func (o *Orchagent) followsView(ctx context.Context) error {
	return errors.Join(o.qos.ViewApplied(ctx), o.mirrors.ViewApplied(ctx), o.traps.ViewApplied(ctx),
		o.samples.ViewApplied(ctx), o.drops.ViewApplied(ctx), o.tunnels.ViewApplied(ctx), o.bursts.ViewApplied(ctx))
}

// Planned returns the topic of table recording's plans.
func (o *Orchagent) Planned() *orch.Topic[recordorch.Planned] { return o.rec.Planned() }

// PollRecording reads the counters of table recording now.
func (o *Orchagent) PollRecording(ctx context.Context) error { return o.rec.PollCounters(ctx) }

// PollCounters reads the sessions' counters, and the bursts of queues, now.
func (o *Orchagent) PollCounters(ctx context.Context) error {
	errs := []error{o.bursts.PollCounters(ctx)}
	for _, feature := range o.tam {
		errs = append(errs, feature.PollCounters(ctx))
	}
	return errors.Join(errs...)
}

// Close ends the daemon's connections. The ASIC stays as it is.
func (o *Orchagent) Close() error { return errors.Join(o.Daemon.Close(), o.asic.Close()) }

// A poller adapts the agent of sairedis to the interface that orchs require.
type poller struct{ *sairedis.Agent }

func (p poller) SetGroup(ctx context.Context, group string, interval time.Duration, enabled bool) error {
	return p.Client().SetCounterGroup(ctx, group,
		sairedis.CounterGroup{Interval: interval, Mode: flex.StatsModeRead, Enabled: &enabled})
}

// routerPorts adapts the ports to the interface that routeorch requires.
type routerPorts struct{ *portsorch.Orch }

func (p routerPorts) RouterPort(name string) (sai.Key, uint32, error) {
	on, err := p.Orch.RouterPort(name)
	return on.Key, on.MTU, err
}

// Up reports whether an interface is up. It is always true for a VLAN, because its neighbours may be at any member.
func (p routerPorts) Up(name string) bool {
	_, vlan := schema.VLANNumber(name)
	return vlan || p.Orch.Up(name)
}

// RunOrchagent runs the daemon orchagent until ctx ends. When syncd has ended or does not answer, the state of the ASIC
// is unknown. STATE_DB then reports that, and orchagent starts again once there is a syncd, as in SONiC.
func RunOrchagent(ctx context.Context, r *swss.Redis, c Common) error {
	c = c.Named("orchagent")
	c.Renew = backoff(time.Now)
	h, untold := newHealth("orchagent"), ""
	c.faults = newFaultController(h, r, c)
	others := strangers{redis: r, log: logOf(c)}
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		c := c.of(h, claim)
		c.asicState, c.syncd = newASICState(r, h, logOf(c)), &signs{redis: r, claim: claim}
		h.setLacks(c.asicState.lacks)
		c.asicState.reports = func(why string) { h.report(cmp.Or(why, "starting")) }
		if untold != "" { // the reason could not be written, since Redis was away
			if _, err := c.asicState.report(ctx, untold); err != nil {
				return err
			}
			untold = ""
		}
		if err := others.leave(ctx, func(why string) { h.report(unknownText(why)) }); err != nil {
			return err
		}
		began := time.Now()
		err := runOrchagentOnce(ctx, r, c)
		others.met(errors.Is(err, sairedis.ErrStrangers), time.Since(began))
		if ctx.Err() == nil && errors.Is(err, sairedis.ErrUnknown) {
			untold = cmp.Or(c.asicState.why(), err.Error())
			if _, err := c.asicState.report(ctx, untold); err == nil {
				untold = ""
			}
		}
		return err
	}
	return runRepeatedly(ctx, r, h, logOf(c), live,
		swss.ApplDB, swss.ASICDB, swss.StateDB, swss.CountersDB, swss.FlexCounterDB)
}

func runOrchagentOnce(ctx context.Context, r *swss.Redis, c Common) error {
	if err := c.syncd.await(ctx, c); err != nil {
		return err
	}
	var o *Orchagent
	began := make(chan struct{}) // closed when o is usable
	reporting, end := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		c.asicState.run(reporting, func(ctx context.Context) error {
			select {
			case <-began:
				return o.reportPorts(ctx)
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() {
		end()
		<-finished
	}()
	o, err := NewOrchagent(ctx, r, c)
	if err != nil {
		return fmt.Errorf("%w: %w", err, swss.ErrReset)
	}
	defer o.Close()
	if err := o.Start(ctx, time.Now()); err != nil {
		return fmt.Errorf("%w: %w", err, swss.ErrReset)
	}
	c.syncd.reported = true
	close(began)
	c.health.attach(c.alive(o), o.Daemon.Hears, o.Daemon.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return o.Daemon.Run(ctx) })
	g.Go(func() error { return o.asic.Client().Lost(ctx) })
	return g.Wait()
}

// alive returns a check that fails unless orchagent works, or waits for syncd and reports that.
func (c Common) alive(o *Orchagent) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			turn, cancel := context.WithTimeout(ctx, beatPeriod/2)
			err := o.Daemon.Alive(turn)
			cancel()
			if err == nil || ctx.Err() != nil || c.asicState.why() != "" {
				return ctx.Err()
			}
		}
	}
}

// met records which syncd this run of orchagent works with. If the view is built again, rows that are in force
// according to STATE_DB may not be.
func (c Common) met(ctx context.Context, asic *sairedis.Agent) error {
	if why := asic.RebuildReason(); why != "" {
		if _, err := c.asicState.report(ctx, "its view is built again, because "+why); err != nil {
			return err
		}
	}
	var err error
	c.syncd.run, _, err = sairedis.Run(ctx, c.syncd.redis)
	return err
}

// reportPorts reports the state of ports and LAGs again, after the state of the ASIC was unknown.
func (o *Orchagent) reportPorts(ctx context.Context) (err error) {
	doErr := o.Daemon.Do(ctx, func() { err = o.ports.Report(ctx) })
	return errors.Join(doErr, err)
}
