package device

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device/packettrace"
	"tamtam/device/wire"
	"tamtam/host/cpuport"
	"tamtam/host/netdev"
	"tamtam/mgmt"
	"tamtam/mgmt/configfile"
	"tamtam/sai"
	"tamtam/sai/redis"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// UpConfig says what switch to bring up.
type UpConfig struct {
	Common
	ChipConfig
	Redis string // "embedded", HOST:PORT, or unix:PATH
	// Databases say where Redis is, instead of Redis, if there are instances.
	Databases swss.Config
	// Startup is the configuration that is loaded before the daemons run, but for the one that serves gNMI.
	Startup Startup
	// Source says in words where Startup is from. With IfNone it is only for a switch whose CONFIG_DB is empty.
	Source string
	IfNone bool
	// Shell runs a script of the shell at a gNMI server, "unix:PATH"; needed if Startup has one.
	Shell func(ctx context.Context, target string, script []byte) error
	// Ports is how many ports, the first that are configured, are wired to eth1, eth2, ... ([AllPorts]: as many as
	// there are, up to 64). If it is not 0, or Startup is not made of rows, the switch has a name, an address and
	// ports also where no row says so.
	Ports int
	// Keep, if set, is the file that CONFIG_DB is written to when the switch ends, as a config_db.json.
	Keep string
	Mgmt mgmt.Config
	// NoHost leaves out hostd: the switch neither answers nor asks as a host.
	NoHost bool
	// At is where else the northbound listens.
	At Addresses
	// Ready, if set, is called once all daemons run, with the addresses to use; page is "" if there is none.
	Ready func(redis, gnmi, page string)
}

// ChipConfig says what chip a live switch has.
type ChipConfig struct {
	Profile profile.Profile
	Wires   map[string]string // port -> live interface
	// KeepLinks leaves interfaces up when the process ends that it has set up, for a restart that no peer is to notice.
	KeepLinks bool
	links     *wire.Links
	// Oracle is how many flows of a sketch task and bank the chip counts exactly; 0: it does not.
	Oracle int
	// CPU is the chip's CPU port, for a client in this process; CPUPort is the path of a socket at which it is served
	// to one in another. Without either nobody has what is punted.
	CPU     *cpuport.Hub
	CPUPort string
	// Samples and SamplePort are likewise for packets that are sampled or dropped.
	Samples    *cpuport.Hub
	SamplePort string
	drive      drive         // what moves the chip's time and frames; nil: the wall clock and the wires
	kernel     netdev.Kernel // where host interfaces are; nil: this host's
	netdevs    *netdevs
	// Kernel says what the kernel knows of its clock, which the chip's follows; nil: the kernel of
	// this host is asked. What it says of Ahead is not used.
	Kernel func() altmark.KernelClock
}

// A drive moves a chip's time, with the wall clock since start, and its frames until ctx ends.
type drive func(ctx context.Context, chip *saisim.Chip, start time.Time) error

// Up runs a whole switch on wall time until ctx ends.
func Up(ctx context.Context, cfg UpConfig) error {
	if len(cfg.Wires) > 0 { // before anybody hears that the switch is up
		if err := wire.Permitted(); err != nil {
			return err
		}
	}
	r, err := cfg.open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	found, err := configfile.Stored(ctx, r)
	if err != nil {
		return err
	}
	if len(found) > 0 && cfg.IfNone {
		cfg.Startup, cfg.Source = Startup{}, "CONFIG_DB, as it was found"
	}
	if err := cfg.Startup.Rows.Load(ctx, r); err != nil {
		return err
	}
	if err := r.DB(swss.ConfigDB).SetInitialized(ctx, false); err != nil { // more may follow, see configure
		return err
	}
	if cfg.Ports != 0 || cfg.Startup.OpenConfig != nil || cfg.Startup.Script != nil {
		if err := factory(ctx, r, cfg.Profile, cfg.Ports); err != nil {
			return fmt.Errorf("what the configuration leaves out: %w", err)
		}
	}
	cfg.Mgmt.Redis = r
	northbound, err := newMgmt(cfg.Mgmt)
	if err != nil {
		return err
	}
	own, err := openPage(northbound, r, cfg.At, cfg.Common)
	if err != nil {
		northbound.Close()
		return err
	}
	started := false
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return serveMgmt(running, r, northbound, own, cfg.At, cfg.Common) })
	g.Go(func() error {
		if err := cfg.configure(running, r, northbound); err != nil {
			return fmt.Errorf("startup configuration: %w", err)
		}
		if err := r.DB(swss.ConfigDB).SetInitialized(running, true); err != nil {
			return err
		}
		if err := northbound.Begin(running, cmp.Or(cfg.Source, "nowhere"), len(found) == 0, found); err != nil {
			return err
		}
		if !cfg.NoHost {
			cfg.CPU = cpuport.New()
			g.Go(func() error { return RunHostd(running, r, atHub(cfg.CPU, "hostd"), cfg.Common) })
		}
		cfg.Samples = cpuport.New()
		g.Go(func() error { return RunSFlowd(running, r, atHub(cfg.Samples, "sflowd"), cfg.Common) })
		g.Go(func() error { return RunSyncd(running, r, cfg.ChipConfig, cfg.Common) })
		managers := cfg.Common
		managers.StaticLAGs = managers.StaticLAGs || cfg.NoHost
		g.Go(func() error { return RunManagers(running, r, managers) })
		g.Go(func() error { return RunOrchagent(running, r, cfg.Common) })
		started = true
		if cfg.Ready != nil {
			cfg.Ready(r.Addr(), northbound.Addr(), own.URL())
		}
		return nil
	})
	err = ended(g.Wait())
	if cfg.Keep != "" && started {
		err = errors.Join(err, keep(context.WithoutCancel(ctx), r, cfg.Keep))
	}
	return err
}

// configure does what of the startup configuration goes through the northbound, and finds which ports are wired.
func (cfg *UpConfig) configure(ctx context.Context, r *swss.Redis, northbound *mgmt.Server) error {
	switch start := cfg.Startup; {
	case start.OpenConfig != nil:
		if err := northbound.Load(ctx, start.OpenConfig); err != nil {
			return err
		}
	case start.Script != nil:
		if err := cfg.Shell(ctx, "unix:"+cfg.Mgmt.Socket, start.Script); err != nil {
			return err
		}
	}
	if cfg.Ports == 0 {
		return nil
	}
	ports, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgPort).Keys(ctx)
	if err != nil {
		return err
	}
	cfg.Wires, err = wiredInOrder(ports, cfg.Ports, cfg.Wires)
	return err
}

// keepLimit bounds how long the end of a switch may wait for its configuration to be read and written.
const keepLimit = 5 * time.Second

// keep writes CONFIG_DB to a file, whole or not at all.
func keep(ctx context.Context, r *swss.Redis, file string) error {
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	text, err := SaveConfigDB(ctx, r)
	if err == nil {
		err = configfile.Write(file, bytes.NewReader(append(text, '\n')), 0o644)
	}
	if err != nil {
		return fmt.Errorf("the configuration is not kept: %w", err)
	}
	return nil
}

// open opens the databases.
func (cfg UpConfig) open(ctx context.Context) (*swss.Redis, error) {
	if len(cfg.Databases.Instances) > 0 {
		return swss.Connect(ctx, cfg.Databases)
	}
	return swss.Open(ctx, cfg.Redis)
}

// ended drops the error that only says that the caller's context has ended.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// RunOrchagent runs the daemon orchagent until ctx ends. When syncd is gone or does not answer, the
// state of the ASIC is unknown: STATE_DB says so, and orchagent begins anew when there is one, as in SONiC.
func RunOrchagent(ctx context.Context, r *swss.Redis, c Common) error {
	c = c.named("orchagent")
	c.anew = seldom(time.Now)
	h, untold := newHealth("orchagent"), ""
	c.faults = newDesk(h, r, c)
	others := strangers{redis: r, log: logOf(c)}
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		c := c.of(h, claim)
		c.doubt, c.syncd = newDoubt(r, h, logOf(c)), &signs{redis: r, claim: claim}
		h.setLacks(c.doubt.lacks)
		c.doubt.tells = func(why string) { h.tell(cmp.Or(why, "starting")) }
		if untold != "" { // Redis was away
			if _, err := c.doubt.tell(ctx, untold); err != nil {
				return err
			}
			untold = ""
		}
		if err := others.leave(ctx, func(why string) { h.tell(doubtText(why)) }); err != nil {
			return err
		}
		began := time.Now()
		err := orchagentLife(ctx, r, c)
		others.met(errors.Is(err, sairedis.ErrStrangers), time.Since(began))
		if ctx.Err() == nil && errors.Is(err, sairedis.ErrUnknown) {
			untold = cmp.Or(c.doubt.why(), err.Error())
			if _, err := c.doubt.tell(ctx, untold); err == nil {
				untold = ""
			}
		}
		return err
	}
	return runLives(ctx, r, h, logOf(c), live,
		swss.ApplDB, swss.ASICDB, swss.StateDB, swss.CountersDB, swss.FlexCounterDB)
}

func orchagentLife(ctx context.Context, r *swss.Redis, c Common) error {
	if err := c.syncd.await(ctx, c); err != nil {
		return err
	}
	var o *Orchagent
	began := make(chan struct{}) // o is there
	telling, end := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		c.doubt.run(telling, func(ctx context.Context) error {
			select {
			case <-began:
				return o.tellPorts(ctx)
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() {
		end()
		<-told
	}()
	o, err := NewOrchagent(ctx, r, c)
	if err != nil {
		return fmt.Errorf("%w: %w", err, swss.ErrAnew)
	}
	defer o.Close()
	if err := o.Start(ctx, time.Now()); err != nil {
		return fmt.Errorf("%w: %w", err, swss.ErrAnew)
	}
	c.syncd.told = true
	close(began)
	c.health.lives(c.alive(o), o.Daemon.Hears, o.Daemon.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return o.Daemon.Run(ctx) })
	g.Go(func() error { return o.asic.Lost(ctx) })
	return g.Wait()
}

// alive asks whether orchagent works, or waits for syncd and says so.
func (c Common) alive(o *Orchagent) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			turn, cancel := context.WithTimeout(ctx, beatPeriod/2)
			err := o.Daemon.Do(turn, func() {})
			cancel()
			if err == nil || ctx.Err() != nil || c.doubt.why() != "" {
				return ctx.Err()
			}
		}
	}
}

// RunSyncd runs the daemon syncd with a simulated chip whose time follows the wall clock, wired to live
// interfaces. Chip and ASIC_DB belong together: if that ends, there is a fresh chip.
func RunSyncd(ctx context.Context, r *swss.Redis, cfg ChipConfig, c Common) error {
	c = c.named("syncd")
	c.anew = seldom(time.Now)
	h := newHealth("syncd")
	c.faults = newDesk(h, r, c)
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		return syncdLife(ctx, r, cfg, c.of(h, claim))
	}
	lives := func(ctx context.Context) error {
		return runLives(ctx, r, h, logOf(c), live, swss.CountersDB, swss.FlexCounterDB) // of ASIC_DB it keeps a journal
	}
	g, ctx := errgroup.WithContext(ctx)
	cfg.netdevs = newNetdevs(cfg.kernel, c.Log)
	for _, at := range []struct {
		hub  **cpuport.Hub
		path string
	}{{&cfg.CPU, cfg.CPUPort}, {&cfg.Samples, cfg.SamplePort}} {
		if at.path == "" {
			continue
		}
		if *at.hub == nil {
			*at.hub = cpuport.New()
		}
		l, err := cpuport.Listen(at.path)
		if err != nil {
			return err
		}
		hub := *at.hub
		if at.hub == &cfg.CPU {
			hub.Keep(cfg.netdevs)
		}
		g.Go(func() error { return serveCPU(ctx, hub, l, logOf(c)) })
	}
	cfg.links = wire.NewLinks()
	g.Go(func() error { return lives(ctx) })
	g.Go(func() error { return cfg.netdevs.run(ctx, cfg.KeepLinks) })
	err := g.Wait()
	return errors.Join(err, cfg.links.Close(cfg.KeepLinks))
}

// syncdLife is that of one chip.
func syncdLife(ctx context.Context, r *swss.Redis, cfg ChipConfig, c Common) error {
	notes := make(chan sai.Notification, 1024)
	start := time.Now()
	notify := func(n sai.Notification) {
		select {
		case notes <- n:
		default: // a flood of events while Redis is slow: the oldest are enough
		}
	}
	chip, err := saisim.New(saisim.Config{
		Profile: cfg.Profile, Oracle: cfg.Oracle, Start: start.UTC(), Notify: notify,
		Kernel: disturbed(c.faults, followed(start, cfg.Kernel)), Wired: wired(cfg.Wires),
		HostInterfaces: cfg.netdevs.changed,
	})
	if err != nil {
		return err
	}
	if err := c.faults.Drive(chip); err != nil {
		return err
	}
	defer cfg.netdevs.reset()
	syncd := NewSyncd(r, c.backend(chip), c)
	alive := func(context.Context) error { chip.Now(); return nil } // not while a call hangs in the chip
	c.health.lives(alive, nil, syncd.Watch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serve(ctx, syncd) })
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case n := <-notes:
				for range c.faults.Notified(n) {
					syncd.Notifier.Notify(ctx, n)
				}
			}
		}
	})
	g.Go(func() error { return packettrace.Serve(ctx, r, chip, logOf(c)) })
	g.Go(func() error {
		if cfg.drive != nil {
			return cfg.drive(ctx, chip, start)
		}
		return runWires(ctx, r, chip, start, cfg, newCPUSide(chip, cfg.CPU, cfg.Samples), c)
	})
	return g.Wait()
}

// serve lets syncd work, compare and poll until ctx ends.
func serve(ctx context.Context, syncd *sairedis.Server) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return syncd.Serve(ctx) })
	g.Go(func() error { return syncd.Compare(ctx) })
	g.Go(func() error { syncd.Counters.Run(ctx); return nil })
	return g.Wait()
}

// RunSyncdOn is [RunSyncd] with an ASIC that the caller has, drives, and takes notifications from. It has one life, for
// the next would need a new ASIC: it ends with an error where RunSyncd begins anew.
func RunSyncdOn(ctx context.Context, r *swss.Redis, asic sai.API, c Common) error {
	c = c.named("syncd")
	h, used := newHealth("syncd"), false
	c.faults = newDesk(h, r, c)
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		if used {
			return errors.New("syncd would begin anew, but its ASIC is not as new")
		}
		used = true
		c := c.of(h, claim)
		syncd := NewSyncd(r, c.backend(asic), c)
		h.lives(nil, nil, syncd.Watch)
		return serve(ctx, syncd)
	}
	return runLives(ctx, r, h, logOf(c), live, swss.CountersDB, swss.FlexCounterDB)
}

// named returns the options of one daemon, whose log says which it is.
func (c Common) named(daemon string) Common {
	c.Log = logOf(c).With("daemon", daemon)
	return c
}

func logOf(c Common) *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
