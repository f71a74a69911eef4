package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/cli"
	"tamtam/device/doctor"
	"tamtam/device/techsupport"
)

// shows lists the shell commands whose output is in an archive.
var shows = []string{
	"show version", "show running-configuration", "show tam summary", "show tam switch", "show tam features",
	"show tam collectors", "show tam samplers", "show tam flow-groups", "show tam consistency", "show alarms",
	"show tam tail-stamping", "show tam alt-mark", "show tam flymon", "show tam table-record",
	"show interface status", "show interface counters",
	"show access-list", "show vlan", "show ip route", "show ip interface", "show arp", "show mac address-table",
	"show queue counters", "show qos scheduler", "show mirror-session",
}

func newTechsupport() *cobra.Command {
	var cfg doctor.Config
	var conf cli.Config
	var output string
	var place localFlags
	var tails []string
	c := &cobra.Command{
		Use:   "techsupport",
		Short: "Pack all information for support into one archive, without secrets",
		Long: `Pack the databases, reports of Redis and the daemons, and facts about this machine into one .tar.gz.
The report of tamtam doctor and the output of show commands are included. Passwords, keys and
communities are replaced. Check the archive before you share it.

The file manifest.json lists the parts that were cut, and those that could not be collected. Missing
parts are no error: for example, the archive is also made without Redis.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := complete(&cfg, place, cmd.Flags().Changed); err != nil {
				return err
			}
			if output == "" {
				output = archiveName(cfg)
			}
			// A daemon's address may be one to listen at; the shell needs one to connect to.
			conf.CAFile = cfg.CA
			_ = reach(cmd, &conf, cfg.Data) // the archive is made without a switch too
			conf.Timeout = cfg.Timeout
			said, err := packed(cmd.Context(), output, techsupport.Config{Doctor: cfg, Tails: tails}, conf, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
	}
	f := c.Flags()
	f.StringVarP(&output, "output", "o", "",
		"`FILE` of the archive (default: tamtam-techsupport-TIME.tar.gz in this directory)")
	f.StringArrayVar(&tails, "log", nil, "`FILE` of a log or recording, of which the last MiB is packed (may be repeated)")
	f.StringVar(&conf.Target, "target", "", "gNMI server for the show commands, as for tamtam cli")
	f.BoolVar(&conf.Insecure, "insecure", false, "connect to --target without TLS")
	f.StringVarP(&conf.User, "user", "u", "", "user name for --target")
	f.StringVarP(&conf.Password, "password", "p", "", "password for --target")
	doctorFlags(c, &cfg, &place)
	return c
}

func archiveName(cfg doctor.Config) string {
	return "tamtam-techsupport-" + cfg.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
}

// packed makes the archive, and returns a summary. It warns about missing parts.
func packed(
	ctx context.Context, output string, pack techsupport.Config, conf cli.Config, warn io.Writer,
) (string, error) {
	pack.More = append(pack.More, techsupport.Item{Name: "show.txt",
		Collect: func(ctx context.Context) ([]byte, string, error) { return showAll(ctx, conf, shows) }})
	m, err := techsupport.Save(ctx, output, pack)
	if err != nil {
		return "", err
	}
	for _, f := range m.Failed {
		fmt.Fprintf(warn, "tamtam: not in the archive: %s: %s\n", f.Name, f.Error)
	}
	return fmt.Sprintf("%s: %d files; %d could not be collected", output, len(m.Files), len(m.Failed)), nil
}

// techSupportOf returns the function of the shell's show tech-support, which writes to its directory. It does not work
// for a switch on another machine.
func techSupportOf(conf cli.Config, data string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if host, _, _ := strings.Cut(conf.Target, ":"); !isUnix(conf.Target) && host != "localhost" && host != "127.0.0.1" {
			return "", fmt.Errorf("the switch is at %s: run tamtam techsupport there", conf.Target)
		}
		cfg := doctor.Config{GNMI: conf.Target, CA: conf.CAFile, Timeout: 3 * time.Second}
		place := localFlags{redisFlags: redisFlags{addr: usualRedis}, data: data}
		if err := complete(&cfg, place, func(string) bool { return false }); err != nil {
			return "", err
		}
		conf.In, conf.HistoryFile = nil, ""
		return packed(ctx, archiveName(cfg), techsupport.Config{Doctor: cfg}, conf, conf.Err)
	}
}

// showAll runs commands in the shell, up to the second that fails, and returns their output. So an unreachable server
// costs at most two timeouts.
func showAll(ctx context.Context, conf cli.Config, lines []string) ([]byte, string, error) {
	var out bytes.Buffer
	conf.Out, conf.Err = &out, &out
	shell, err := cli.New(conf)
	if err != nil {
		return nil, "", err
	}
	defer shell.Close()
	failed := 0
	var last error
	for _, line := range lines {
		fmt.Fprintf(&out, "\n# %s\n", line)
		if err := shell.Exec(ctx, line); err != nil {
			fmt.Fprintf(&out, "%v\n", err)
			last = fmt.Errorf("%s: %w", line, err)
			if failed++; failed == 2 {
				break
			}
		}
	}
	return out.Bytes(), "of " + conf.Target, last
}
