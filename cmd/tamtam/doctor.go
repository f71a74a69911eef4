package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tamtam/device/doctor"
	"tamtam/internal/command"
)

// doctorFlags adds the flags that describe where the installation is.
func doctorFlags(c *cobra.Command, cfg *doctor.Config, place *localFlags) {
	place.flags(c)
	f := c.Flags()
	f.StringVar(&cfg.GNMI, "gnmi", gnmiAddress, "address of mgmtd's gNMI server")
	f.StringVar(&cfg.CA, "tls-ca", "", "CA of the gNMI server's certificate, PEM (default: the generated one)")
	f.StringVar(&cfg.Users, "users", "", "mgmtd's `FILE` of users, which is checked, too")
	f.StringVar(&cfg.Roles, "roles", "", "mgmtd's `FILE` of roles, to which --users may refer")
	f.DurationVar(&cfg.Timeout, "timeout", 3*time.Second, "time limit of each check")
}

// complete sets the fields that have no flags. Unless addresses were given, it sets those of a switch that runs on this
// machine.
func complete(cfg *doctor.Config, place localFlags, given func(flag string) bool) (err error) {
	if cfg.Timeout <= 0 {
		return usagef("--timeout %v: want more than 0", cfg.Timeout)
	}
	cfg.Version, cfg.Now = command.Version(), time.Now
	cfg.Data = place.data
	local, ok, err := place.find(given)
	if err != nil {
		return err
	}
	if ok {
		cfg.Local, cfg.GNMI = &local, local.GNMI
		cfg.Users, cfg.Roles = cmp.Or(cfg.Users, local.Users), cmp.Or(cfg.Roles, local.Roles)
	}
	cfg.Redis, err = place.config()
	return err
}

func newDoctor() *cobra.Command {
	var cfg doctor.Config
	var place localFlags
	var asJSON, strict bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and suggest what to do about each problem",
		Long: `Check Redis, its databases, the daemons, the gNMI server and this machine. For each check, print the
result, the details, and what to do about a problem. Nothing is changed.

A switch that tamtam up runs on this machine is found by its data directory, --data.

A check that is impossible here has the result "not known". For example, the daemons may run on
another machine, or in another container.

Exit codes: 0 if no check failed, 1 if a check failed. With --strict, 0 only if every check is ok.`,
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
				return fmt.Errorf("doctor: %d of %d checks are not ok", bad, len(report.Findings))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	c.Flags().BoolVar(&strict, "strict", false, "exit 1 also for warnings, and for checks with the result \"not known\"")
	doctorFlags(c, &cfg, &place)
	return c
}

func writeFindings(w io.Writer, report doctor.Report, asJSON bool) error {
	if !asJSON {
		return report.WriteText(w)
	}
	return printJSON(w, report)
}
