package device

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device/daemons"
	"tamtam/device/wire"
	"tamtam/host/cpuport"
	"tamtam/mgmt"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/hftrecords"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// UpConfig describes the switch that [Up] runs.
type UpConfig struct {
	daemons.Common
	daemons.ChipConfig
	Redis string // "embedded", HOST:PORT, or unix:PATH
	// Databases is used instead of Redis if it lists Redis instances.
	Databases swss.Config
	// Startup is the configuration that is loaded before any daemon except mgmtd runs.
	Startup Startup
	// Source describes the origin of Startup. If IfNone is set, Startup is loaded only if CONFIG_DB is empty.
	Source string
	IfNone bool
	// Shell runs a script of the shell at a gNMI server, "unix:PATH". It is required if Startup contains a script.
	Shell func(ctx context.Context, target string, script []byte) error
	// Ports is the number of configured ports that are wired to eth1, eth2, ... in order. [AllPorts] means all ports,
	// but at most 64. If Ports is not 0, or Startup is not made of rows, missing defaults are added: the switch's name,
	// its MAC address, and ports.
	Ports int
	// Keep, if set, is the file to which CONFIG_DB is written when the switch ends, as a config_db.json.
	Keep string
	Mgmt mgmt.Config
	// NoHost leaves out hostd: the switch neither answers nor sends as a host.
	NoHost bool
	// FRR, if set, is the path of a socket for the CPU port. hostifd and fpmsyncd then run instead of hostd: the switch's
	// interfaces are interfaces of Linux, and the routes of FRR's zebra are those of the switch.
	FRR string
	// At holds the northbound's other addresses.
	At daemons.Addresses
	// Ready, if set, is called with the addresses once all daemons run. page is "" if the switch has no page.
	Ready func(redis, gnmi, page string)
}

// Up runs a whole switch on wall time until ctx ends.
func Up(ctx context.Context, cfg UpConfig) error {
	if len(cfg.Wires) > 0 { // before anything reports that the switch is up
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
	if err := r.DB(swss.ConfigDB).SetInitialized(ctx, false); err != nil { // more rows may follow, see configure
		return err
	}
	if cfg.Ports != 0 || cfg.Startup.OpenConfig != nil || cfg.Startup.Script != nil {
		if err := factory(ctx, r, cfg.Profile, cfg.Ports); err != nil {
			return fmt.Errorf("what the configuration leaves out: %w", err)
		}
	}
	cfg.Mgmt.Redis, cfg.Mgmt.Records = r, hftrecords.New(hftrecords.SessionsOf(r), time.Now)
	cfg.Streams = append(slices.Clone(cfg.Streams), daemons.StoreReader(cfg.Mgmt.Records))
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
		cfg.startHost(running, g, r)
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

// startHost starts the daemons by which the switch is a host at its interfaces.
func (cfg *UpConfig) startHost(ctx context.Context, g *errgroup.Group, r *swss.Redis) {
	switch {
	case cfg.FRR != "":
		cfg.CPUPort = cfg.FRR
		g.Go(func() error { return daemons.RunHostIfd(ctx, r, cfg.FRR, cfg.Common) })
		g.Go(func() error { return daemons.RunFPMSyncd(ctx, r, daemons.FPMConfig{}, cfg.Common) })
	case !cfg.NoHost:
		cfg.CPU = cpuport.New()
		g.Go(func() error { return daemons.RunHostd(ctx, r, daemons.AtHub(cfg.CPU, "hostd"), cfg.Common) })
	}
}

// configure applies a startup configuration that needs the northbound, and determines which ports are wired.
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

// keepLimit is the longest time that the end of a switch waits for its configuration to be read and written.
const keepLimit = 5 * time.Second

// keep writes CONFIG_DB to a file atomically.
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
