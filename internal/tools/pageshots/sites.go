package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// programs holds the paths of the programs, and the directory for their data.
type programs struct{ tamtam, collectd, dir string }

// A site is a page that is served, with the paths of the views that it must lead to, and of those that it must not.
type site struct {
	name       string
	serve      func(ctx context.Context, s *site, p programs) (wait func(), err error) // sets url
	want, lack []string
	also       []string // addresses that no link leads to
	pictured   bool     // true if the picture of the network is used
	walked     bool     // true if each view of [views] is visited by mouse and by keyboard
	url        string
}

// Views that have rows in the lab, those of one switch, and those that only a collector has.
var (
	labViews = []string{"/", "/time", "/load", "/totals", "/drops", "/switches", "/switch", "/sources", "/marking",
		"/sketches"}
	tamViews   = append(slices.Clone(labViews), "/flows", "/flow", "/packets", "/packet", "/periods")
	fleetViews = []string{"/", "/time", "/flows", "/flow", "/packets", "/packet", "/drops", "/marking", "/alarms",
		"/stored", "/sources"}
	switchViews  = []string{"/", "/load", "/totals", "/drops", "/marking", "/sketches", "/switches", "/switch"}
	notOfSwitch  = []string{"/time", "/flows", "/packets", "/stored", "/sources"}
	chosenSeries = slices.Concat(filtered("/time", "packets"), filtered("/load", "switch"), filtered("/totals", "task"),
		[]string{"/load?compare=before", "/totals?compare=before"})
)

// sites lists all sites. The experiments are those with every feature, with equal packets and many paths, with links
// that are down, with congestion, with many switches, and without hosts that capture.
var sites = []site{
	{name: "leaf-spine-tam", serve: labOf("leaf-spine-tam"), want: tamViews, pictured: true, walked: true,
		also: slices.Concat(filtered("/flows", "switch"), filtered("/drops", "drop.reason"), filtered("/packets", "switch"),
			filtered("/periods", "status"), chosenSeries)},
	{name: "record-ecmp", serve: labOf("record-ecmp"), want: append(slices.Clone(labViews), "/packets", "/packet")},
	{name: "ampm-ecmp", serve: labOf("ampm-ecmp"), want: append(slices.Clone(labViews), "/periods")},
	{name: "link-failure", serve: labOf("link-failure"), want: labViews},
	{name: "congestion-10g", serve: labOf("congestion-10g"), want: labViews},
	{name: "ifa-path", serve: labOf("ifa-path"), want: labViews},
	{name: "two-switches", serve: labOf("two-switches"), want: labViews, pictured: true},
	{name: "leaf-spine", serve: labOf("leaf-spine"), want: labViews, pictured: true},
	{name: "switch", serve: aSwitch, want: switchViews, lack: notOfSwitch},
	{name: "fleet", serve: aFleet, want: fleetViews, also: []string{"/stored?since=all",
		"/stored?since=all&by=switch-id&sort=-delay.p99&top=5", "/stored?since=all&where=switch-id+is+none",
		"/stored?since=all&by=drop.reason&kind=drops", "/stored?since=all&show=packets,link.p50&by=flow"}},
}

// labOf returns a function that serves an experiment.
func labOf(experiment string) func(context.Context, *site, programs) (func(), error) {
	return func(ctx context.Context, s *site, p programs) (wait func(), err error) {
		s.url, wait, err = start(ctx, `the page is at (http://\S+)/`, p.tamtam, "lab", "serve", experiment, "--http",
			"127.0.0.1:0")
		return wait, err
	}
}

// aSwitch serves the page of a switch.
func aSwitch(ctx context.Context, s *site, p programs) (wait func(), err error) {
	s.url, wait, err = start(ctx, `its page at (http://\S+)/`, p.tamtam, "up", "--config",
		"cmd/tamtam/demo/config_db.json", "--data", p.dir, "--gnmi", "127.0.0.1:0", "--http", "127.0.0.1:0")
	if err != nil {
		return wait, err
	}
	return wait, until(ctx, s.url, "/switches", "/switch?name=leaf1")
}

// graphs is a file of paths with a graph, whose switches do not answer.
const graphs = `graphs: [{name: web, links: [[leaf1, spine1], [spine1, leaf2]], points: [
  {switch: leaf1, target: "127.0.0.1:1", session: web}, {switch: spine1, target: "127.0.0.1:2", session: web},
  {switch: leaf2, target: "127.0.0.1:3", session: web}]}]
`

// aFleet serves a collector that reads what the hosts of a lab captured.
func aFleet(ctx context.Context, s *site, p programs) (wait func(), err error) {
	const experiment = "leaf-spine-tam"
	lab := filepath.Join(p.dir, "lab")
	run := exec.CommandContext(ctx, p.tamtam, "lab", "run", experiment, "--out", lab)
	if text, err := run.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("tamtam lab run %s: %w: %s", experiment, err, text)
	}
	args := []string{"run", "--log", filepath.Join(p.dir, "log"), "--store", filepath.Join(p.dir, "store"),
		"--http", "127.0.0.1:0", "--topology", experiment, "--records", "--alarm", "0.01", "--paths",
		filepath.Join(p.dir, "paths.yaml"), "--insecure"}
	if err := os.WriteFile(filepath.Join(p.dir, "paths.yaml"), []byte(graphs), 0o600); err != nil {
		return nil, err
	}
	for pattern, flag := range map[string]string{"*.received.pcap": "--pcap", "*.plan.json": "--plan"} {
		names, err := filepath.Glob(filepath.Join(lab, pattern))
		if err != nil || len(names) == 0 {
			return nil, errors.Join(fmt.Errorf("the lab wrote no %s", pattern), err)
		}
		for _, name := range names {
			args = append(args, flag, name)
		}
	}
	s.url, wait, err = start(ctx, `http=(http://\S+)`, p.collectd, args...)
	if err != nil {
		return wait, err
	}
	return wait, until(ctx, s.url, "/flows", "/packets", "/drops", "/sources",
		"/stored?since=all&by=switch-id")
}

// start starts a program, and waits for the line with its address.
func start(ctx context.Context, line, program string, args ...string) (url string, wait func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(5*time.Minute, cancel)
	c := exec.CommandContext(ctx, program, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	said, err := c.StderrPipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		cancel()
		return "", nil, err
	}
	var text string
	served := regexp.MustCompile(line)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		text += lines.Text() + "\n"
		if m := served.FindStringSubmatch(lines.Text()); m != nil {
			late.Stop()
			go io.Copy(io.Discard, said)
			return m[1], func() { cancel(); _ = c.Wait() }, nil // the interrupt ends the program with an error
		}
	}
	defer cancel()
	return "", nil, fmt.Errorf("%s %v ended, or was ended after 5 min, before it served a page: %w: %s", program, args,
		c.Wait(), text)
}

// until waits until each of some pages has rows in a table.
func until(ctx context.Context, url string, paths ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, path := range paths {
		for {
			text, err := read(ctx, url+path)
			if err == nil && rows.MatchString(text) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s%s has no rows: %w", url, path, errors.Join(err, ctx.Err()))
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

var rows = regexp.MustCompile(`<tbody>\s*<tr`)

func read(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}
