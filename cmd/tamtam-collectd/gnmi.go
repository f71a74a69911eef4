package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tamtam/fleet/collectd"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/internal/command"
)

// gnmiFlags describe the switches that are read over gNMI, and how to read them.
type gnmiFlags struct {
	paths  string
	graphs bool

	file dial.File // content of --paths, or the graphs
}

func (f *gnmiFlags) flags(c *cobra.Command, to *collectd.Sources) {
	s := c.Flags()
	s.StringVar(&f.paths, "paths", "",
		"`FILE` of paths and graphs of alternate marking, as for tamtam collect; their switches are\n"+
			"read by gNMI; must be equal for the roles ingest and join")
	s.BoolVar(&f.graphs, "graphs", false,
		"instead of --paths: make a graph for each flow group that the switches of --topology mark;\n"+
			"if a graph changes, the process ends with an error, so that a supervisor starts it again")
	s.StringToStringVar(&to.Sketches, "sketches", nil,
		"switches whose sketch tasks are read by gNMI: NAME=HOST:PORT or NAME=unix:/PATH")
	s.BoolVar(&to.Dial.Insecure, "insecure", false, "connect to the switches without TLS")
	s.BoolVar(&to.Dial.SkipVerify, "skip-verify", false, "use TLS, but accept any certificate of a switch")
	s.StringVar(&to.Dial.CAFile, "tls-ca", "", "CA of the switches' certificates, PEM (default: the CAs of the system)")
	s.StringVar(&to.Dial.CertFile, "tls-cert", "", "client certificate for the switches, PEM")
	s.StringVar(&to.Dial.KeyFile, "tls-key", "", "key of --tls-cert, PEM")
	s.StringVar(&to.Dial.User, "user", "", "user name for the switches")
	s.StringVar(&to.Dial.Password, "password", "",
		"password for the switches; TAMTAM_PASSWORD in the environment is safer")
}

// check reads the file of paths, and checks the flags against the role.
func (f *gnmiFlags) check(of *collectd.Sources, reads bool) error {
	if of.Dial.Password == "" && of.Dial.User != "" {
		of.Dial.Password = os.Getenv("TAMTAM_PASSWORD")
	}
	if of.Dial != (dial.Options{}) {
		if !reads {
			return usagef("--insecure, --skip-verify, --tls-..., --user, --password: only role %s reads switches",
				collectd.RoleIngest)
		}
		if err := of.Dial.Check(); err != nil {
			return command.Usage(err)
		}
	}
	if err := checkSketches(of.Sketches, reads); err != nil || f.paths == "" {
		return err
	}
	in, err := os.Open(f.paths)
	if err != nil {
		return fmt.Errorf("--paths: %w", err)
	}
	defer in.Close()
	if f.file, err = dial.ReadFile(bufio.NewReader(in)); err != nil {
		return fmt.Errorf("--paths %s: %w", f.paths, err)
	}
	return collectd.CheckTargets(f.file, "--paths "+f.paths)
}

func checkSketches(sketches map[string]string, reads bool) error {
	if len(sketches) > 0 && !reads {
		return usagef("--sketches: only role %s reads switches", collectd.RoleIngest)
	}
	for name, target := range sketches {
		if !dial.ValidName(name) || len(name) > event.MaxSource/2 {
			return usagef("--sketches %s=%s: name is %q, want 1 to %d visible ASCII characters without | : , and +", name,
				target, name, event.MaxSource/2)
		}
		if err := dial.CheckTarget(target); err != nil {
			return usagef("--sketches %s=%s: %w", name, target, err)
		}
	}
	return nil
}
