package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tamtam/lab/bench"
	"tamtam/lab/bench/live"
	benchnorth "tamtam/lab/bench/northbound"
)

// A benchReport is what bench --format json prints.
type benchReport struct {
	Bench   string         `json:"bench"`
	Machine benchMachine   `json:"machine"`
	Results []bench.Result `json:"results"`
}

type benchMachine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	OS    string `json:"os"`
}

func newBench() *cobra.Command {
	var format string
	var groups, changes, routes int
	var duration time.Duration
	var profile string
	c := &cobra.Command{
		Use:   "bench [config|sessions|routes|gnmi|asic|drops|sflow|altmark|flymon|tablerecord|live]",
		Short: "Measure this build on this machine",
		Long: "config: from CONFIG_DB to the ASIC, through every daemon.\n" +
			"sessions: processor time and memory of --groups flow groups with a tail-stamping session each.\n" +
			"routes: processor time and memory of static routes, up to --routes, and of one more.\n" +
			"gnmi: processor time of mgmtd, alone in a process, for subscribers, Get and Set of --groups sessions; latency.\n" +
			"asic: packets per second of the simulated chip, what each feature adds, and where the time goes.\n" +
			"drops: what a drop monitor costs the chip, and recording, beside the same packets without.\n" +
			"sflow: what sampling and being told of drops cost the chip, beside the same packets without.\n" +
			"altmark: --groups flows with alternate marking: rules, configuration, reading a period, packets per second.\n" +
			"flymon: CMU groups: packets per second, the cost of a CMU, and how soon a task counts.\n" +
			"tablerecord: how long plans of real programs take, records decoded, and what recording costs the chip.\n" +
			"live: frames, TCP and latency between two hosts beside the kernel's bridge (root, iproute2).",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usagef("--format %q: want text or json", format)
			}
			if groups < 1 || groups > 30000 || changes < 1 || changes > 30000 {
				return usagef("--groups and --changes: want 1 to 30000 each")
			}
			if routes < 1 || routes > 1<<20 {
				return usagef("--routes %d: want 1 to %d", routes, 1<<20)
			}
			if duration < time.Millisecond || duration > time.Hour {
				return usagef("--duration %v: want 1ms to 1h", duration)
			}
			name := "config"
			if len(args) == 1 {
				name = args[0]
			}
			var results []bench.Result
			err := profiled(profile, func() (err error) {
				if name == "routes" {
					results, err = bench.Routes(cmd.Context(), routes)
				} else {
					results, err = runBench(cmd.Context(), name, groups, changes, duration)
				}
				return err
			})
			if err != nil {
				return err
			}
			return benchReport{Bench: name, Machine: machine(), Results: results}.write(cmd.OutOrStdout(), format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().IntVar(&groups, "groups", 10000,
		"config, sessions, gnmi, altmark: flow groups with a session each, written at once")
	c.Flags().IntVar(&changes, "changes", 1000, "config, gnmi, altmark: changes made one by one")
	c.Flags().IntVar(&routes, "routes", 100_000, "routes: how many at most; a tenth and a hundredth, too")
	c.Flags().DurationVar(&duration, "duration", time.Second,
		"asic, drops, sflow, altmark, flymon, tablerecord: least time of each measurement")
	c.Flags().StringVar(&profile, "profile", "", "file that says where the processor time went, for go tool pprof and "+
		"go build -pgo; in asic's, samples have the label load")
	return c
}

// profiled writes a profile of what it calls to a file, if there is one.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}

func runBench(ctx context.Context, name string, groups, changes int, least time.Duration) ([]bench.Result, error) {
	switch name {
	case "config":
		return bench.Config(ctx, groups, changes)
	case "sessions":
		return bench.Sessions(ctx, groups)
	case "gnmi":
		return benchGNMI(ctx, groups, changes)
	case "asic":
		return bench.ASIC(ctx, least)
	case "drops":
		return bench.Drops(ctx, least)
	case "sflow":
		return bench.SFlow(ctx, least)
	case "altmark":
		return bench.AltMark(ctx, groups, changes, least)
	case "flymon":
		return bench.FlyMon(ctx, least)
	case "tablerecord":
		return bench.TableRecord(ctx, least)
	case "live":
		return benchLive(ctx, 3, least)
	}
	return nil, usagef("bench %q: want config, sessions, routes, gnmi, asic, drops, sflow, altmark, flymon, "+
		"tablerecord or live", name)
}

// benchGNMI measures this binary as mgmtd, and as the shell.
func benchGNMI(ctx context.Context, sessions, events int) ([]bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return benchnorth.Run(ctx, benchnorth.Config{
		Mgmtd: []string{self, "run", "mgmtd"}, Shell: []string{self, "cli"},
		Sessions: sessions, Few: max(sessions/10, 1), Events: events,
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

// liveConfig is two ports of 100 Gbit/s in one VLAN.
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

// write prints the report as text or json.
func (r benchReport) write(out io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %d cores, %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Go)
	for _, x := range r.Results {
		fmt.Fprintf(w, "%s\t%.3f %s", x.Name, x.Value, x.Unit)
		if x.Aim != 0 {
			fmt.Fprintf(w, "\taim %g", x.Aim)
		}
		if x.Doubt != "" {
			fmt.Fprintf(w, "\t%s", x.Doubt)
		}
		if x.Source != "" {
			fmt.Fprintf(w, "\t%s", x.Source)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func machine() benchMachine {
	m := benchMachine{
		CPU: "unknown CPU", Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH,
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if k, v, ok := strings.Cut(sc.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			m.CPU = strings.TrimSpace(v)
			break
		}
	}
	return m
}
