package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/cli"
	"tamtam/device"
	"tamtam/saisim/profile"

	"tamtam/saisim/pipe"
)

func newSim() *cobra.Command {
	var config, out, profile, start, format, trace, traceFormat, program, control, values string
	var in, faults, asks []string
	var truth, host bool
	c := &cobra.Command{
		Use:   "sim --config config_db.json --in Ethernet0=a.pcap [...] --out DIR",
		Short: "Send captures through a configured switch, in simulated time",
		Long: `Send captures (pcap or pcapng, Ethernet) through a whole switch in simulated time.

DIR gets EthernetN.pcap with the frames that each port sent, with nanosecond times of the chip. It also
gets CPU.pcap with the punted frames, and report.json. Look for "balanced" in the output: then every
frame is accounted for. Objects that are not active are listed on standard error.

The time of day starts at the first packet of all inputs, or at --start. The exit code is 1 if the run,
or a line of --ask, fails.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := device.Replay{Out: out, Truth: truth}
			r.Host = host
			if config == "" || len(in) == 0 || out == "" {
				return usagef("--config, --in and --out are required")
			}
			asJSON, err := textOrJSON(format)
			if err != nil {
				return err
			}
			if r.Inputs, err = parseInputs(in); err != nil {
				return err
			}
			if r.Profile, err = parseProfile(profile); err != nil {
				return err
			}
			if r.Start, err = parseStart(start); err != nil {
				return err
			}
			if err := readProgram(&r, program, control); err != nil {
				return err
			}
			if r.Faults, err = parseFaults(faults); err != nil {
				return err
			}
			closeTrace, err := openTrace(cmd, &r, trace, traceFormat)
			if err != nil {
				return err
			}
			closeValues, err := writeValues(cmd, &r, values)
			if err != nil {
				return err
			}
			answers, err := askAtEnd(&r, asks)
			if err != nil {
				return err
			}
			r.Log = logger(cmd)
			if r.Config, err = device.ReadConfigDB(config); err != nil {
				return err
			}
			report, err := r.Run(cmd.Context())
			if err := errors.Join(err, closeTrace(), closeValues()); err != nil {
				return err
			}
			return errors.Join(printReport(cmd, report, out, asJSON), answers.print(cmd.OutOrStdout()))
		},
	}
	f := c.Flags()
	f.StringVar(&config, "config", "", "`FILE` with the configuration of the switch, a config_db.json (required)")
	f.StringArrayVar(&in, "in", nil, "PORT=FILE: capture that enters at the port (required; may be repeated)")
	f.StringVar(&out, "out", "", "directory for the captures and report.json (required)")
	f.StringVar(&profile, "profile", "default", profileUsage())
	f.StringVar(&start, "start", "", "time of day at the first packet, RFC 3339 (2026-01-02T15:04:05.123456789Z)")
	f.StringVar(&format, "format", "text", "output: text or json")
	f.BoolVar(&truth, "truth", false,
		"also report the true counts of every flow group, and the errors of the switch's counts")
	f.BoolVar(&host, "hostd", false,
		"run hostd: the switch resolves its neighbours and answers as a host; default: only static neighbours")
	f.StringVar(&program, "program", "", "JSON `FILE` of a program for the chip's stages (docs/internals/programs.md)")
	f.StringVar(&control, "control", "", "JSON `FILE` of control batches for the program, each with its cycle")
	f.StringArrayVar(&faults, "fault", nil, "`FAULT` of the chip, like one from a bug in a compiler: "+
		"skip=TABLE never runs the table, misplace=TABLE:INTO runs it when INTO should run (may be repeated)")
	f.StringArrayVar(&asks, "ask", nil,
		"`LINE` of the shell to run after the last packet has left, such as \"show drops by rule\"; "+
			"it must begin with show (may be repeated)")
	f.StringVar(&values, "hft", "", "`FILE` for the values of high-frequency telemetry, as CSV; - is standard output")
	f.StringVar(&trace, "trace", "",
		"`FILE` for the cycle of every packet at every place of the chip; - is standard output")
	f.StringVar(&traceFormat, "trace-format", "text", "text, or json with one packet per line")
	return c
}

// answers holds the shell's output at the end of a run, and the error of the first line that failed.
type answers struct {
	text bytes.Buffer
	err  error
}

// print writes the answers. It returns the error of the line that failed.
func (a *answers) print(out io.Writer) error {
	_, err := a.text.WriteTo(out)
	return errors.Join(err, a.err)
}

// askAtEnd runs lines of the shell at the end of a run, and returns where the answers will be.
func askAtEnd(r *device.Replay, lines []string) (*answers, error) {
	a := &answers{}
	for _, l := range lines {
		if word, _, _ := strings.Cut(strings.TrimLeft(l, " "), " "); word != "show" || strings.Contains(l, "\n") {
			return nil, usagef("--ask %q: want a line that begins with show, as in --ask \"show drops by rule\"", l)
		}
		if slices.Contains(strings.Fields(l), "watch") {
			return nil, usagef("--ask %q: want no watch: nothing changes after the end of a run", l)
		}
	}
	if len(lines) == 0 {
		return a, nil
	}
	r.Ask = func(ctx context.Context, s *device.Sim) error {
		dir, err := os.MkdirTemp("", "tamtam")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		target, stop, err := s.Northbound(ctx, dir)
		if err != nil {
			return err
		}
		shell, err := cli.New(cli.Config{Target: target, Out: &a.text, Err: &a.text})
		if err != nil {
			return errors.Join(err, stop())
		}
		for _, l := range lines {
			fmt.Fprintf(&a.text, "\n%s%s\n", shell.Prompt(), l)
			if err := shell.Exec(ctx, l); err != nil && a.err == nil {
				a.err = fmt.Errorf("--ask %q: %w", l, err)
			}
		}
		shell.Close()
		return stop()
	}
	return a, nil
}

// readProgram reads the files of --program and --control, if any.
func readProgram(r *device.Replay, program, control string) (err error) {
	if r.Program, err = programFile(program); err != nil || control == "" {
		return err
	}
	r.Control, err = readFile(control, device.ReadControl)
	return err
}

// parseFaults parses --fault.
func parseFaults(list []string) ([]pipe.Fault, error) {
	var faults []pipe.Fault
	for _, s := range list {
		do, table, ok := strings.Cut(s, "=")
		f := pipe.Fault{Do: do, Table: table}
		split := true
		if do == "misplace" {
			f.Table, f.Into, split = strings.Cut(table, ":")
			split = split && f.Into != ""
		}
		if !ok || !split || f.Table == "" || do != "skip" && do != "misplace" {
			return nil, usagef("--fault %q: want skip=TABLE or misplace=TABLE:INTO, as in skip=ingress.acl", s)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// openTrace opens the file of --trace, if any.
func openTrace(cmd *cobra.Command, r *device.Replay, path, format string) (func() error, error) {
	none := func() error { return nil }
	if format != "text" && format != "json" {
		return none, usagef("--trace-format %q: want text or json", format)
	}
	r.TraceJSON = format == "json"
	switch path {
	case "":
	case "-":
		r.Trace = cmd.OutOrStdout()
	default:
		f, err := os.Create(path)
		if err != nil {
			return none, err
		}
		r.Trace = f
		return f.Close, nil
	}
	return none, nil
}

func parseInputs(in []string) ([]device.Input, error) {
	var inputs []device.Input
	seen := map[string]bool{}
	for _, s := range in {
		port, path, ok := strings.Cut(s, "=")
		if !ok || port == "" || path == "" {
			return nil, usagef("--in %q: want PORT=FILE, as in Ethernet0=a.pcap", s)
		}
		if seen[port] {
			return nil, usagef("--in %q: %s has an input already; merge the captures first", s, port)
		}
		if path == "-" && seen["-"] {
			return nil, usagef("--in %q: standard input is the capture of another port already", s)
		}
		seen[port], seen[path] = true, path == "-"
		inputs = append(inputs, device.Input{Port: port, Path: path})
	}
	return inputs, nil
}

func parseProfile(name string) (profile.Profile, error) {
	p, err := profile.Load(name)
	if err != nil {
		return p, usagef("--profile: %w", err)
	}
	return p, nil
}

// profileUsage returns the help of --profile.
func profileUsage() string {
	return "chip profile: " + strings.Join(profile.Names(), ", ") + ", or a file"
}

func parseStart(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, usagef("--start %q: want RFC 3339, as in 2026-01-02T15:04:05.123456789Z", s)
	}
	if t.Unix() < 0 || t.Unix() >= 1<<32-60 {
		return t, usagef("--start %q: want a time from 1970 to 2106", s)
	}
	return t, nil
}

func printReport(cmd *cobra.Command, r *device.Report, out string, asJSON bool) error {
	for _, p := range r.Problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s: %s: %s\n", p.Object, p.Status, p.Reason)
	}
	if asJSON {
		text, err := r.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
		return err
	}
	if err := r.WriteText(cmd.OutOrStdout()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\ncaptures and report.json are in %s\n", out)
	return err
}
