package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tamtam/device"
	"tamtam/device/doctor"
	"tamtam/internal/command"
)

// doctorFlags adds the flags that describe where the installation is.
func doctorFlags(c *cobra.Command, cfg *doctor.Config, place *redisFlags) {
	place.usual(c)
	f := c.Flags()
	f.StringVar(&cfg.GNMI, "gnmi", gnmiAddress, "address of mgmtd's gNMI server")
	f.StringVar(&cfg.CA, "tls-ca", "", "CA of the gNMI server's certificate, PEM (default: the generated one)")
	f.StringVar(&cfg.Users, "users", "", "mgmtd's file of users, to be looked at too")
	f.StringVar(&cfg.Roles, "roles", "", "mgmtd's file of roles, which --users may name")
	f.StringVar(&cfg.Data, "data", device.DataDir(), "data directory of the switch")
	f.DurationVar(&cfg.Timeout, "timeout", 3*time.Second, "how long one check may take")
}

// complete sets the fields that have no flags. Unless addresses were given, it sets those of a switch that runs on this
// machine.
func complete(cfg *doctor.Config, place redisFlags, given func(flag string) bool) (err error) {
	if cfg.Timeout <= 0 {
		return usagef("--timeout %v: want more than 0", cfg.Timeout)
	}
	cfg.Version, cfg.Now = command.Version(), time.Now
	if local, ok := device.FindLocal(cfg.Data); ok && !given("redis") && !given("database-config") && !given("gnmi") {
		cfg.Local, place.addr, cfg.GNMI = &local, local.Redis, local.GNMI
		cfg.Users, cfg.Roles = cmp.Or(cfg.Users, local.Users), cmp.Or(cfg.Roles, local.Roles)
	}
	cfg.Redis, err = place.config()
	return err
}

func newDoctor() *cobra.Command {
	var cfg doctor.Config
	var place redisFlags
	var asJSON, strict bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with an installation, and what to do",
		Long: `Look at Redis, its databases, the daemons, the gNMI server and this machine, and say of each
whether it is ok, what was found and what to do. Nothing is changed.

A switch that tamtam up runs on this machine is found by its data directory, --data.

What cannot be looked at is "not known", which is not ok: the daemons of another machine or container,
for one. Exit 1 if something failed, with --strict if anything is not ok; else 0.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := complete(&cfg, place, cmd.Flags().Changed); err != nil {
				return err
			}
			report := doctor.Run(cmd.Context(), cfg)
			if err := writeFindings(cmd.OutOrStdout(), report, asJSON); err != nil {
				return err
			}
			bad := report.Count[doctor.Failed]
			if strict {
				bad = len(report.Findings) - report.Count[doctor.OK]
			}
			if bad > 0 {
				return fmt.Errorf("doctor: %d of %d checks are not well", bad, len(report.Findings))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	c.Flags().BoolVar(&strict, "strict", false, "exit 1 also for warnings, and for what is not known")
	doctorFlags(c, &cfg, &place)
	return c
}

func writeFindings(w io.Writer, report doctor.Report, asJSON bool) error {
	if !asJSON {
		return report.WriteText(w)
	}
	return printJSON(w, report)
}
