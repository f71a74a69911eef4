package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"tamtam/cli"
	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/internal/command"
)

// startupFile is the default startup configuration of a switch. A container's configuration is mounted there.
const startupFile = "/etc/tamtam/startup"

// keptFile is the file in the data directory in which --keep stores the configuration.
const keptFile = "config_db.json"

// An upCommand holds the flags of up.
type upCommand struct {
	northbound
	place                    redisFlags
	config, profile, numbers string
	ports, hft               []string
	oracle                   int
	keepLinks                bool
	faults, keep, noHost     bool
	frr                      bool
}

func newUp() *cobra.Command {
	var u upCommand
	c := &cobra.Command{
		Use:   "up",
		Short: "Run a whole switch in one process",
		Long: `Run a whole switch in one process, until SIGTERM or an interrupt.

The startup configuration is a config_db.json, OpenConfig JSON as for a gNMI Set at the root, or a
script of the shell. Its content determines which. If it is refused, the switch stops with an error
that names the line or the path.

Look for the line "the switch is up" on standard error. It contains the addresses of Redis, gNMI and
the page.

TAMTAM_CONFIG, TAMTAM_REDIS, TAMTAM_PORTS and TAMTAM_FRR in the environment are the defaults of
--config, --redis, --ports and --frr.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := u.device(cmd)
			if err != nil {
				return err
			}
			claim, err := device.ClaimData(u.data)
			if err != nil {
				return err
			}
			ready := cfg.Ready
			cfg.Ready = func(redis, gnmi, page string) {
				if err := claim.Publish(u.local(redis, gnmi)); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: tools cannot find the switch by --data: %v\n", err)
				}
				ready(redis, gnmi, page)
			}
			return errors.Join(device.Up(cmd.Context(), cfg), claim.Release())
		},
	}
	f := c.Flags()
	f.StringVar(&u.config, "config", os.Getenv("TAMTAM_CONFIG"),
		"`FILE` of the startup configuration (default: "+startupFile+" if it exists)")
	u.place.flags(c, cmp.Or(os.Getenv("TAMTAM_REDIS"), "embedded"),
		"embedded, embedded:HOST:PORT[,/PATH], HOST:PORT or unix:PATH")
	f.StringVar(&u.profile, "profile", "default", profileUsage())
	f.IntVar(&u.oracle, "oracle", 0, oracleUsage)
	f.StringArrayVar(&u.ports, "port", nil,
		"PORT=INTERFACE: wire a port to a live interface, such as Ethernet0=eth1 (may be repeated)")
	f.StringVar(&u.numbers, "ports", os.Getenv("TAMTAM_PORTS"),
		"N: wire the first N ports of the configuration, or of the profile, to eth1 to ethN; auto: all ports, at most 64")
	f.BoolVar(&u.keep, "keep", false,
		"keep CONFIG_DB in the data directory; if it is there at the start, it is used instead of --config")
	f.BoolVar(&u.keepLinks, "keep-links", false, keepLinksUsage)
	f.StringArrayVar(&u.hft, "hft", nil, hftUsage)
	f.BoolVar(&u.faults, "allow-faults", false, allowFaultsUsage)
	f.BoolVar(&u.noHost, "no-hostd", false,
		"run without hostd: the switch neither resolves neighbours nor answers as a host")
	f.BoolVar(&u.frr, "frr", os.Getenv("TAMTAM_FRR") != "",
		"run hostifd and fpmsyncd instead of hostd, for Linux interfaces and routes of FRR (needs CAP_NET_ADMIN)")
	u.northbound.flags(c)
	command.Group(c, "Configuration", "config", "keep", "data")
	command.Group(c, "Chip and ports", "profile", "port", "ports", "keep-links", "no-hostd", "frr", "oracle", "hft")
	command.Group(c, "Redis", "redis", "database-config", "redis-user", "redis-password-file")
	groupNorthbound(c)
	command.Group(c, "Tests", "allow-faults")
	return c
}

// local describes the switch for the tools of this machine.
func (u *upCommand) local(redis, gnmi string) device.Local {
	return device.Local{
		PID: os.Getpid(), Redis: redis, Embedded: u.place.embedded(), GNMI: gnmi, Users: u.users, Roles: u.roles,
		ClientCA: u.clientCA, NoLogin: u.noLogin,
	}
}

// device returns the configuration of the switch, from the flags.
func (u *upCommand) device(cmd *cobra.Command) (cfg device.UpConfig, err error) {
	cfg = device.UpConfig{
		Common: daemons.Common{Log: logger(cmd), AllowFaults: u.faults}, Redis: u.place.addr, NoHost: u.noHost,
		Ready: func(redis, gnmi, page string) {
			if page != "" {
				page = ", its page at " + page
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: the switch is up: Redis at %s, gNMI at %s%s; `tamtam cli` is its shell\n",
				redis, gnmi, page)
		},
	}
	if cfg.ChipConfig, err = parseChip(u.profile, u.ports, u.oracle); err != nil {
		return cfg, err
	}
	if cfg.Streams, err = parseStreams(u.hft); err != nil {
		return cfg, err
	}
	cfg.KeepLinks = u.keepLinks
	if u.frr {
		if u.noHost {
			return cfg, usagef("--frr and --no-hostd: with --frr, hostifd runs instead of hostd: want one of them")
		}
		cfg.FRR = filepath.Join(u.data, "cpu.sock")
	}
	if cfg.Ports, err = parseNumber(u.numbers); err != nil {
		return cfg, err
	}
	if cfg.Mgmt, err = u.northbound.config(cmd); err != nil {
		return cfg, err
	}
	if cfg.At, err = u.northbound.addresses(); err != nil {
		return cfg, err
	}
	if !u.place.embedded() {
		if cfg.Databases, err = u.place.config(); err != nil {
			return cfg, err
		}
	}
	return cfg, u.startup(cmd, &cfg)
}

// startup reads the startup configuration.
func (u *upCommand) startup(cmd *cobra.Command, cfg *device.UpConfig) (err error) {
	path, saved := u.config, filepath.Join(u.data, keptFile)
	if path == "" && exists(startupFile) {
		path = startupFile
	}
	if u.keep {
		if !u.place.embedded() {
			return usagef("--keep: the Redis at %s keeps CONFIG_DB itself: want --redis embedded", u.place.addr)
		}
		cfg.Keep = saved
	}
	if path != "" {
		if cfg.Startup, err = device.ReadStartup(path); err != nil {
			return err
		}
	}
	cfg.Mgmt.Startup, cfg.Source = saved, path
	if u.config != "" && cfg.Startup.Rows != nil && !u.keep {
		cfg.Mgmt.Startup = path // one file is startup and saved configuration, as in SONiC
	} else if _, err := os.Stat(saved); err == nil {
		// The saved configuration has precedence over the given startup configuration.
		path = saved
		cfg.Source, cfg.IfNone = saved+", a saved configuration", u.config == ""
		if cfg.Startup, err = device.ReadStartup(path); err != nil {
			return err
		}
		if u.config != "" {
			cfg.Source += "; " + u.config + " was not read"
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if path == "" {
		return nil
	}
	printLeft(cmd.ErrOrStderr(), cfg.Startup.Left)
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: startup configuration: %s; write memory saves to %s\n", cfg.Source,
		cfg.Mgmt.Startup)
	cfg.Shell = func(ctx context.Context, target string, script []byte) error {
		return runScript(ctx, cli.Config{
			Target: target, In: bytes.NewReader(nil), Out: cmd.ErrOrStderr(), Err: cmd.ErrOrStderr(), Version: command.Version(),
		}, path, script)
	}
	return nil
}

// runScript runs the lines of a script, up to the first that is refused.
func runScript(ctx context.Context, conf cli.Config, name string, script []byte) error {
	shell, err := cli.New(conf)
	if err != nil {
		return err
	}
	defer shell.Close()
	return shell.ExecScript(ctx, name, bytes.NewReader(script))
}

// parseNumber parses --ports.
func parseNumber(s string) (int, error) {
	const most = 64
	switch s {
	case "":
		return 0, nil
	case "auto":
		return device.AllPorts, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > most {
		return 0, usagef("--ports %q: want auto, or 0 to %d", s, most)
	}
	return n, nil
}
