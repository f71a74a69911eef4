package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tamtam/cli"
	"tamtam/collector"
	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/internal/command"
	"tamtam/mgmt/configfile"
	"tamtam/swss"
)

func newCLI() *cobra.Command {
	var conf cli.Config
	var data, file string
	var lines []string
	var every time.Duration
	c := &cobra.Command{
		Use:   "cli",
		Short: "Run the shell: SONiC's commands, over gNMI",
		Long: `Run the shell, which has SONiC's commands and uses gNMI. Without -c and -f it reads commands from
standard input; at a terminal, it has a prompt, completion and help with "?".

Without --target, the shell connects to the switch on this machine. It uses the socket in the data
directory, or localhost:8080 if there is no socket. With --every, the commands of -c are run repeatedly,
for example to watch counters.

Except at a terminal or with --echo, the first command that fails ends the shell with exit code 1.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case every != 0 && every < 100*time.Millisecond:
				return usagef("--every %v: want 100ms or more", every)
			case every != 0 && (len(lines) == 0 || file != ""):
				return usagef("--every %v: want commands to repeat, by -c alone", every)
			}
			conf.In = cmd.InOrStdin()
			if err := reach(cmd, &conf, data); err != nil {
				return err
			}
			if dir, err := os.UserHomeDir(); err == nil {
				conf.HistoryFile = filepath.Join(dir, ".tamtam_history")
			}
			conf.TechSupport = techSupportOf(conf, data)
			shell, err := cli.New(conf)
			if err != nil {
				return err
			}
			defer shell.Close()
			if err := shell.ExecEvery(cmd.Context(), lines, every); err != nil {
				return err
			}
			switch {
			case file != "":
				return shell.ExecFile(cmd.Context(), file)
			case len(lines) > 0:
				return nil
			}
			// At a terminal an interrupt ends the running command, not the session.
			ctx, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			if !term.IsTerminal(int(os.Stdin.Fd())) {
				ctx = cmd.Context()
			}
			return shell.Run(ctx)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&lines, "command", "c", nil, "run a command (may be repeated, in order)")
	f.DurationVar(&every, "every", 0, "run the commands of -c at this interval, such as 2s, until an interrupt; 0: once")
	f.StringVarP(&file, "file", "f", "", "run the commands in a `FILE`, up to the first error")
	f.BoolVar(&conf.Echo, "echo", false,
		"also print the commands of a script, each after the prompt, and continue after errors, as at a terminal")
	serverFlags(c, &conf, &data)
	return c
}

// serverFlags adds the flags that describe a client's gNMI server, and how to reach it.
func serverFlags(c *cobra.Command, conf *cli.Config, data *string) {
	f := c.Flags()
	f.StringVar(&conf.Target, "target", "", "HOST:PORT of the gNMI server, or unix:PATH")
	f.BoolVar(&conf.Insecure, "insecure", false, "connect without TLS")
	f.BoolVar(&conf.SkipVerify, "skip-verify", false, "use TLS, but accept any certificate of the server")
	f.StringVar(&conf.CAFile, "tls-ca", "", "CA of the server's certificate, PEM (default: the generated one)")
	f.StringVar(&conf.CertFile, "tls-cert", "", "client certificate, PEM")
	f.StringVar(&conf.KeyFile, "tls-key", "", "key of --tls-cert, PEM")
	f.StringVarP(&conf.User, "user", "u", "", "user name")
	f.StringVarP(&conf.Password, "password", "p", "", "password")
	f.DurationVar(&conf.Timeout, "timeout", 10*time.Second, "time limit for an answer of the server")
	f.StringVar(data, "data", device.DataDir(), "data directory of the switch on this machine")
}

// reach completes the flags of a client. By default it uses the switch on this machine, and its CA. It returns an error
// if --data names a directory without a switch: another switch must not be configured instead.
func reach(cmd *cobra.Command, conf *cli.Config, data string) error {
	conf.Out, conf.Err = cmd.OutOrStdout(), cmd.ErrOrStderr()
	conf.Version = command.Version()
	if socket := device.SocketPath(data); conf.Target == "" {
		conf.Target = gnmiAddress
		switch {
		case isSocket(socket):
			conf.Target = "unix:" + socket
		case cmd.Flags().Changed("data"):
			return fmt.Errorf("--data %s: no switch runs there: %s does not exist; want the directory of "+
				"`tamtam up --data`, or --target HOST:PORT", data, socket)
		}
	}
	ca := filepath.Join(data, "ca.pem")
	if conf.CAFile == "" && !conf.Insecure && !conf.SkipVerify && !isUnix(conf.Target) && exists(ca) {
		conf.CAFile = ca
	}
	return nil
}

func newSubscribe() *cobra.Command {
	var conf cli.Config
	var sub cli.Subscription
	var data string
	c := &cobra.Command{
		Use:   "subscribe PATH...",
		Short: "Subscribe to paths of a switch by gNMI, and print values and changes",
		Long: `Subscribe to paths of a switch by gNMI, and print one line of JSON for each value. Each later change
and delete is another line, until an interrupt. A path looks like
/tam/collectors/collector[name=c1]/state. A key of [name=*], or no key, selects all entries.

Without --target, the command connects to the switch on this machine, as tamtam cli does.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if sub.Count < 0 {
				return usagef("--count %d: want 0 or more", sub.Count)
			}
			if sub.Sample < 0 {
				return usagef("--sample %s: want 0 or more", sub.Sample)
			}
			if err := reach(cmd, &conf, data); err != nil {
				return err
			}
			sub.Paths = paths
			return cli.Subscribe(cmd.Context(), conf, sub)
		},
	}
	c.Flags().BoolVar(&sub.UpdatesOnly, "updates-only", false, "print only changes, not the values at the beginning")
	c.Flags().IntVar(&sub.Count, "count", 0, "end after this number of lines; 0: at an interrupt")
	c.Flags().DurationVar(&sub.Sample, "sample", 0,
		"print all values with their time, so often; 0: the values that changed")
	serverFlags(c, &conf, &data)
	return c
}

func isUnix(target string) bool { return len(target) > 5 && target[:5] == "unix:" }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isSocket(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode()&os.ModeSocket != 0
}

func newDecode() *cobra.Command {
	c := &cobra.Command{Use: "decode tailstamp|ifa|record|sflow|path-tracing",
		Short: "Decode the measurements in captures",
		RunE: func(*cobra.Command, []string) error {
			return usagef("want tailstamp, ifa, sflow or path-tracing FILE.pcap, or record FILE.pcap --plan PLAN.json")
		}}
	c.AddCommand(newDecodeTailStamp(false), newDecodeTailStamp(true), newDecodeRecord(), newDecodeSFlow(),
		newDecodePathTracing())
	return c
}

// stampFlags are the flags of commands that read stamps, or the hops of IFA.
type stampFlags struct {
	collector.DecodeOptions
	format string
	memory int64
}

func (s *stampFlags) flags(c *cobra.Command, formats string) {
	f := c.Flags()
	f.StringVar(&s.format, "format", "text", formats)
	f.BoolVar(&s.Packets, "packets", false, "also print every stamped packet")
	f.IntVar(&s.Paths, "paths", collector.DefaultPaths,
		"maximum number of paths of flows with a line of their own in a report")
	f.BoolVar(&s.Exact, "exact", false, exactFlag)
	f.Int64Var(&s.memory, "memory", collector.DefaultMemory>>20, memoryFlag)
}

func (s *stampFlags) check() (err error) {
	if s.JSON, err = textOrJSON(s.format); err != nil {
		return err
	}
	if s.Paths < 1 {
		return usagef("--paths %d: want 1 or more", s.Paths)
	}
	s.Memory, err = bytesOf(s.memory)
	return err
}

// newDecodeTailStamp returns the command that reads stamps, or the hops of IFA, from a capture.
func newDecodeTailStamp(ifa bool) *cobra.Command {
	var s stampFlags
	c := &cobra.Command{
		Use:   "tailstamp FILE.pcap",
		Short: "Print the latency per flow and hop, from tail-stamp records",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return collector.DecodeTailStamp(cmd.Context(), cmd.OutOrStdout(), args[0], s.DecodeOptions)
		},
	}
	s.flags(c, "text or json")
	if s.IFA = ifa; ifa {
		c.Use, c.Short = "ifa FILE.pcap", "Print the latency per flow and hop, from packets of Inband Flow Analyzer"
	}
	return c
}

// newDecodePathTracing returns the command that reads the hops of path tracing from a capture.
func newDecodePathTracing() *cobra.Command {
	var format, names string
	c := &cobra.Command{
		Use: "path-tracing FILE.pcap", Short: "Print the hops of each packet, from the path tracing option of IPv6",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			var opts collector.PathTracingOptions
			if opts.JSON, err = textOrJSON(format); err != nil {
				return err
			}
			if names != "" {
				text, err := configfile.ReadText(names)
				if err != nil {
					return err
				}
				if err := json.Unmarshal(text, &opts.Names); err != nil {
					return fmt.Errorf(`%s: %w: want {"ID": "NAME"}, each ID in 1..4095`, names, err)
				}
			}
			return collector.DecodePathTracing(cmd.Context(), cmd.OutOrStdout(), args[0], opts)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, or json with one packet per line")
	c.Flags().StringVar(&names, "names", "", "`FILE` with the names of interfaces by id: {\"111\": \"leaf1 Ethernet0\"}")
	return c
}

// printLeft prints which values of a config_db.json were left out, see [configfile.Scalars].
func printLeft(w io.Writer, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(w, "tamtam: not loaded, because they are values and not tables: %s\n", strings.Join(names, ", "))
	}
}

func newConfig() *cobra.Command {
	c := &cobra.Command{Use: "config load|save", Short: "Load a config_db.json into CONFIG_DB, or save CONFIG_DB",
		RunE: func(*cobra.Command, []string) error { return usagef("want load FILE or save [FILE]") }}
	var place localFlags
	var saved string
	load := &cobra.Command{
		Use: "load FILE", Short: "Write the rows of a file into CONFIG_DB; other rows stay", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if saved != "" && exists(saved) {
				fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: the saved file %s is loaded instead of %s\n", saved, args[0])
				args[0] = saved
			}
			text, err := configfile.ReadText(args[0])
			if err != nil {
				return err
			}
			rows, err := device.ParseConfigDB(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			printLeft(cmd.ErrOrStderr(), configfile.Scalars(text))
			r, err := place.open(cmd)
			if err != nil {
				return err
			}
			err = loadOver(cmd, r, rows, args[0])
			return errors.Join(err, r.Close())
		},
	}
	load.Flags().StringVar(&saved, "saved", "",
		"file to which mgmtd saves (write memory); if it exists, it is loaded instead of FILE")
	save := &cobra.Command{
		Use: "save [FILE]", Short: "Print CONFIG_DB, or write it to the file", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := place.open(cmd)
			if err != nil {
				return err
			}
			text, err := device.SaveConfigDB(cmd.Context(), r)
			if err := errors.Join(err, r.Close()); err != nil {
				return err
			}
			text = append(text, '\n')
			if len(args) == 1 {
				return configfile.Write(args[0], bytes.NewReader(text), 0o644)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	for _, sub := range []*cobra.Command{load, save} {
		place.flags(sub)
		c.AddCommand(sub)
	}
	return c
}

// loadOver loads rows, and reports if CONFIG_DB had other contents.
func loadOver(cmd *cobra.Command, r *swss.Redis, rows device.ConfigDB, name string) error {
	replaced, stay, err := rows.LoadOver(cmd.Context(), r)
	if err == nil && replaced+stay > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: CONFIG_DB was different: %d rows were replaced by those of %s, "+
			"%d rows that are not in the file stay\n", replaced, name, stay)
	}
	return err
}

func newHealth() *cobra.Command {
	var q daemons.Question
	var place localFlags
	c := &cobra.Command{
		Use:   "health [tammgrd|orchagent|syncd|mgmtd|hostd|sflowd|fpmsyncd|hostifd|redis]",
		Short: "Check that a daemon, or Redis, is ready, for health checks of containers",
		Long: `Check that a daemon, or Redis, is ready. Without a name, all running daemons and Redis are checked. A
daemon is ready if each row of the configuration is in force, or is reported as pending or failed.
With --live, a daemon only has to respond, and a restart could help if it does not.

Without --redis, the command finds the Redis of the running ` + "`tamtam up`" + ` with the same --data.

Exit codes: 0 if all checks succeed, 1 with the reason on standard error if one fails, 2 for a wrong
command line.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			local, ok, err := place.find(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if ok {
				q.GNMI = local.GNMI
			}
			if q.Redis, err = place.config(); err != nil {
				return err
			}
			if len(args) == 0 {
				args = append([]string{"redis"}, daemons.Running(cmd.Context(), q)...)
			}
			state, err := daemons.HealthOf(cmd.Context(), q, args)
			if errors.Is(err, daemons.ErrNoSuchDaemon) {
				return command.Usage(err)
			}
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), fmt.Sprintln(state))
			return err
		},
	}
	f := c.Flags()
	place.flags(c)
	f.StringVar(&q.GNMI, "gnmi", gnmiAddress, "HOST:PORT or unix:PATH of mgmtd's gNMI server, which must answer")
	f.BoolVar(&q.Live, "live", false, "check only that the process works; "+
		"default: also that the configuration is in force, or reported as pending or failed")
	f.DurationVar(&q.Timeout, "timeout", 5*time.Second, "time limit for an answer")
	return c
}
