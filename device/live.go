package device

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device/daemons"
	"tamtam/device/wire"
	"tamtam/host/cpuport"
	"tamtam/mgmt"
	"tamtam/mgmt/configfile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// UpConfig says what switch to bring up.
type UpConfig struct {
	daemons.Common
	daemons.ChipConfig
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
	At daemons.Addresses
	// Ready, if set, is called once all daemons run, with the addresses to use; page is "" if there is none.
	Ready func(redis, gnmi, page string)
}

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
	northbound, err := daemons.NewMgmt(cfg.Mgmt)
	if err != nil {
		return err
	}
	own, err := daemons.OpenPage(northbound, r, cfg.At, cfg.Common)
	if err != nil {
		northbound.Close()
		return err
	}
	started := false
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return daemons.ServeMgmt(running, r, northbound, own, cfg.At, cfg.Common) })
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
			g.Go(func() error { return daemons.RunHostd(running, r, daemons.AtHub(cfg.CPU, "hostd"), cfg.Common) })
		}
		cfg.Samples = cpuport.New()
		g.Go(func() error { return daemons.RunSFlowd(running, r, daemons.AtHub(cfg.Samples, "sflowd"), cfg.Common) })
		g.Go(func() error { return daemons.RunSyncd(running, r, cfg.ChipConfig, cfg.Common) })
		managers := cfg.Common
		managers.StaticLAGs = managers.StaticLAGs || cfg.NoHost
		g.Go(func() error { return daemons.RunManagers(running, r, managers) })
		g.Go(func() error { return daemons.RunOrchagent(running, r, cfg.Common) })
		started = true
		if cfg.Ready != nil {
			cfg.Ready(r.Addr(), northbound.Addr(), own.URL())
		}
		return nil
	})
	err = g.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
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
