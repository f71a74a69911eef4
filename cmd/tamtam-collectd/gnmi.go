package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/fleet/ingest"
	"tamtam/internal/command"
)

// gnmiFlags say which switches are read by gNMI, and how.
type gnmiFlags struct {
	paths    string
	graphs   bool
	sketches map[string]string
	dial     dial.Options

	file dial.File // of paths, or of the graphs
}

func (f *gnmiFlags) flags(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.paths, "paths", "", "file of paths and graphs of alternate marking, as tamtam collect has it, whose\n"+
		"switches are read by gNMI: equal where sources are read and where they are joined")
	s.BoolVar(&f.graphs, "graphs", false, "instead of --paths: ask the switches of --topology which flow groups\n"+
		"they mark, and make the graph of each; when it is another it ends with an error, to be started again")
	s.StringToStringVar(&f.sketches, "sketches", nil,
		"switches whose sketch tasks are read by gNMI: NAME=HOST:PORT or NAME=unix:/PATH")
	s.BoolVar(&f.dial.Insecure, "insecure", false, "no TLS to the switches")
	s.BoolVar(&f.dial.SkipVerify, "skip-verify", false, "TLS, but believe any switch")
	s.StringVar(&f.dial.CAFile, "tls-ca", "", "CA of the switches' certificates, PEM (default: the system's)")
	s.StringVar(&f.dial.CertFile, "tls-cert", "", "client certificate for the switches, PEM")
	s.StringVar(&f.dial.KeyFile, "tls-key", "", "key of --tls-cert, PEM")
	s.StringVar(&f.dial.User, "user", "", "user name at the switches")
	s.StringVar(&f.dial.Password, "password", "", "password there; better TAMTAM_PASSWORD in the environment")
}

// check reads the file of paths, and holds the flags to what the role needs.
func (f *gnmiFlags) check(reads bool) error {
	if f.dial.Password == "" && f.dial.User != "" {
		f.dial.Password = os.Getenv("TAMTAM_PASSWORD")
	}
	if f.dial != (dial.Options{}) {
		if !reads {
			return usagef("--insecure, --skip-verify, --tls-..., --user, --password: only role %s reads switches", roleIngest)
		}
		if err := f.dial.Check(); err != nil {
			return command.Usage(err)
		}
	}
	if err := f.checkSketches(reads); err != nil || f.paths == "" {
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
	return f.checkTargets("--paths " + f.paths)
}

// checkTargets holds the targets of the file to what the log can tell apart.
func (f *gnmiFlags) checkTargets(from string) error {
	of := map[string]string{}
	for _, m := range ingest.Markings(f.file) {
		if other, twice := of[m.Source()]; twice {
			return usagef("%s: targets %s and %s end in the same %q: want them to differ there", from, other, m.Target,
				m.Source())
		}
		of[m.Source()] = m.Target
	}
	return nil
}

func (f *gnmiFlags) checkSketches(reads bool) error {
	if len(f.sketches) > 0 && !reads {
		return usagef("--sketches: only role %s reads switches", roleIngest)
	}
	for name, target := range f.sketches {
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

// sketching makes a feed of the answers of a target's sketch tasks.
func (o *opener) sketching(name string) (*feed, error) {
	s, err := ingest.NewSender(o.log, result.Sketches, ingest.Options{Source: event.Name(name, o.started), Live: true,
		Partitions: o.partitions})
	if err != nil {
		return nil, err
	}
	tell := teller(o.logger)
	k := &ingest.Sketching{Switch: name, Target: o.flags.gnmi.sketches[name], To: s, Tell: func(e dial.SketchEvent) {
		tell(dial.Event{Target: e.Target, Kind: e.Kind, Err: e.Err})
	}}
	return &feed{name: name, senders: []*ingest.Sender{s}, before: s.Announce,
		read: func(ctx context.Context) error { return k.Read(ctx, o.flags.gnmi.dial) }}, nil
}

// marking makes a feed of a target's alternate marking.
func (o *opener) marking(m *ingest.Marking) (*feed, error) {
	s, err := ingest.NewSender(o.log, result.Periods, ingest.Options{Source: event.Name(m.Source(), o.started), Live: true,
		Partitions: o.partitions, Groups: m.Groups()})
	if err != nil {
		return nil, err
	}
	m.To, m.Tell = s, teller(o.logger)
	return &feed{name: m.Source(), senders: []*ingest.Sender{s}, before: s.Announce,
		read: func(ctx context.Context) error { return m.Read(ctx, o.flags.gnmi.dial) }}, nil
}

// teller logs what becomes of a switch's connection and sessions, each state once.
func teller(logger *slog.Logger) func(dial.Event) {
	var mu sync.Mutex
	last := map[string]string{}
	return func(e dial.Event) {
		news, level := "", slog.LevelInfo
		switch {
		case e.Kind == dial.Synced:
			news = "connected"
		case e.Kind == dial.Lost:
			news, level = fmt.Sprintf("no connection: %v", e.Err), slog.LevelWarn
		case e.Kind == dial.Bad:
			news, level = e.Err.Error(), slog.LevelWarn
		case e.Settings.Role == 0:
			news, level = "is not configured", slog.LevelWarn
		default:
			news = fmt.Sprintf("%s, %s, every %s", e.Settings.Role, e.Settings.Method, e.Settings.Interval)
		}
		mu.Lock()
		defer mu.Unlock()
		if last[e.Session] != news {
			last[e.Session] = news
			logger.Log(context.Background(), level, news, "target", e.Target, "session", e.Session)
		}
	}
}
