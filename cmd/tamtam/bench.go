package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/lab/bench"
	"tamtam/lab/bench/live"
	benchnorth "tamtam/lab/bench/northbound"
)

// benches lists the benchmarks: names, descriptions, and functions.
var benches = []struct {
	name, about string
	run         func(context.Context, bench.Options) ([]bench.Result, error)
}{
	{"config", "time from CONFIG_DB to the ASIC, through every daemon", bench.Config},
	{"sessions", "processor time and memory of --groups flow groups with a tail-stamping session each", bench.Sessions},
	{"routes", "processor time and memory of up to --routes static routes, and of one more route", bench.Routes},
	{"gnmi", "processor time of mgmtd in its own process for subscribers, Get and Set of --groups sessions; latency",
		benchGNMI},
	{"asic", "packets per second of the simulated chip, the cost of each feature, and the time of each part", bench.ASIC},
	{"drops", "cost of a drop monitor and of recording for the chip, compared with the same packets without", bench.Drops},
	{"sflow", "cost of sampling and of drop reports for the chip, compared with the same packets without", bench.SFlow},
	{"hft", "high-frequency telemetry of 64 ports: its cost for the chip, and how regularly live records arrive",
		bench.HFT},
	{"altmark", "--groups flows with alternate marking: rules, configuration, reading a period, packets per second",
		bench.AltMark},
	{"flymon", "CMU groups: packets per second, the cost of a CMU, and the time until a task counts", bench.FlyMon},
	{"tablerecord", "time to plan real programs, decoded records per second, and cost of recording for the chip",
		bench.TableRecord},
	{"live", "frames, TCP and latency between two hosts, compared with the kernel's bridge (needs root and iproute2)",
		func(ctx context.Context, o bench.Options) ([]bench.Result, error) {
			return benchLive(ctx, 3, o.Duration)
		}},
}

func newBench() *cobra.Command {
	var format, profile, long string
	var o bench.Options
	var names []string
	for _, b := range benches {
		names = append(names, b.name)
		long += fmt.Sprintf("  %-11s  %s\n", b.name, b.about)
	}
	c := &cobra.Command{
		Use:   "bench [" + strings.Join(names, "|") + "]",
		Short: "Measure this build on this machine",
		Long: "Measure this build on this machine, and print one line for each result. The benchmarks are:\n\n" + long +
			"\nThe default is " + names[0] + ". Compare only results of the same machine, which the first line describes.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON, err := textOrJSON(format)
			switch {
			case err != nil:
				return err
			case o.Groups < 1 || o.Groups > 30000 || o.Changes < 1 || o.Changes > 30000:
				return usagef("--groups and --changes: want 1 to 30000 each")
			case o.Most < 1 || o.Most > 1<<20:
				return usagef("--routes %d: want 1 to %d", o.Most, 1<<20)
			case o.Duration < time.Millisecond || o.Duration > time.Hour:
				return usagef("--duration %v: want 1ms to 1h", o.Duration)
			}
			name := append(args, names[0])[0]
			i := slices.Index(names, name)
			if i < 0 {
				return usagef("bench %q: want %s or %s", name, strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
			}
			r := bench.Report{Bench: name, Machine: bench.ThisMachine()}
			err = bench.Profiled(profile, func() (err error) {
				r.Results, err = benches[i].run(cmd.Context(), o)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return r.WriteText(cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().IntVar(&o.Groups, "groups", 10000,
		"config, sessions, gnmi, altmark: number of flow groups, with a session each, that are written at once")
	c.Flags().IntVar(&o.Changes, "changes", 1000,
		"config, gnmi, altmark: number of single changes; flymon: ten times the number of deployments of each algorithm")
	c.Flags().IntVar(&o.Most, "routes", 100_000,
		"routes: maximum number; a tenth and a hundredth are measured, too; asic: maximum number of rules, flows and routes")
	c.Flags().DurationVar(&o.Duration, "duration", time.Second,
		"asic, drops, sflow, hft, altmark, flymon, tablerecord: minimum time of each measurement")
	c.Flags().StringVar(&profile, "profile", "", "`FILE` for a profile of the processor time, for go tool pprof and "+
		"go build -pgo; the samples of asic have the label load")
	return c
}

// benchGNMI measures this binary as mgmtd, and as the shell.
func benchGNMI(ctx context.Context, o bench.Options) ([]bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return benchnorth.Run(ctx, benchnorth.Config{
		Mgmtd: []string{self, "run", "mgmtd"}, Shell: []string{self, "cli"},
		Sessions: o.Groups, Changing: max(o.Groups/10, 1), Events: o.Changes,
	})
}

// benchLive measures this binary as a switch between two hosts.
func benchLive(ctx context.Context, rounds int, load time.Duration) ([]bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tamtam-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "config_db.json")
	if err := os.WriteFile(config, []byte(liveConfig), 0o600); err != nil {
		return nil, err
	}
	figures, err := live.Run(ctx, live.Config{
		Switch: []string{self, "up", "--config", config, "--data", dir, "--gnmi", "127.0.0.1:0",
			"--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2"},
		Rounds: rounds, Load: load,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	})
	return live.Results(figures), err
}

// liveConfig has two ports of 100 Gbit/s in one VLAN.
const liveConfig = `{
	"PORT": {
		"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up"},
		"Ethernet4": {"lanes": "4,5,6,7", "speed": "100000", "admin_status": "up"}
	},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"},
		"Vlan10|Ethernet4": {"tagging_mode": "untagged"}
	}
}`
