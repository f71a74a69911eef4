// Package demo shows every feature with recorded traffic between two hosts across two switches.
//
// This package holds only the order in which things are run and shown.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tamtam/collector"
	"tamtam/device"
	"tamtam/lab"
	"tamtam/lab/experiments"
	"tamtam/lab/study/marking"
	"tamtam/saisim/profile"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// A Demo holds the input of a demo, and the directory for its files.
type Demo struct {
	Config         []byte // a config_db.json for both switches, without the MAC address
	Client, Server []byte // captures of the frames that each host sent
	Dir            string
	Log            *slog.Logger
}

// Run sends the traffic through both switches, and prints what they measured.
func Run(ctx context.Context, w io.Writer, d Demo) error {
	out := d.Dir
	client, server := filepath.Join(out, "client.pcap"), filepath.Join(out, "server.pcap")
	err := errors.Join(os.MkdirAll(out, 0o755),
		os.WriteFile(client, d.Client, 0o644), os.WriteFile(server, d.Server, 0o644))
	if err != nil {
		return err
	}
	leaf, err := device.ParseConfigDB(d.Config)
	if err != nil {
		return err
	}
	other := strings.ReplaceAll(string(d.Config), "02:00:00:00:07:e4", "02:00:00:00:07:e5")
	spine, err := device.ParseConfigDB([]byte(other))
	if err != nil {
		return err
	}
	spine[schema.CfgDeviceMetadata]["localhost"]["hostname"] = "spine1"

	fmt.Fprintf(w, "Two hosts talk through two switches: client -> leaf1 -> spine1 -> server.\n\n")
	writeConfig(w, leaf)
	hops := []struct {
		name   string
		config device.ConfigDB
		in     []device.Input
	}{
		{"leaf1", leaf, []device.Input{{Port: "Ethernet0", Path: client}, {Port: "Ethernet4", Path: server}}},
		{"spine1", spine, []device.Input{{Port: "Ethernet0", Path: filepath.Join(out, "leaf1", "Ethernet4.pcap")}}},
	}
	for _, hop := range hops {
		dir := filepath.Join(out, hop.name)
		r := device.Replay{Inputs: hop.in, Out: dir}
		r.Config, r.Profile, r.Log, r.Oracle = hop.config, profile.Default(), d.Log, 1<<16
		report, err := r.Run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", hop.name, err)
		}
		fmt.Fprintf(w, "\n== What %s did (switch id %s)\n\n", hop.name, report.SwitchID)
		if err := report.WriteText(w); err != nil {
			return err
		}
	}
	last := filepath.Join(out, "spine1", "Ethernet4.pcap")
	fmt.Fprintf(w, "\n== Latency per flow and hop, decoded from the stamps that reached the server\n\n")
	if err := collector.DecodeTailStamp(ctx, w, last, collector.DecodeOptions{}); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe stamped frames are in %s; look at them with\n"+
		"  go run ./cmd/tamtam decode tailstamp --packets %s\n", last, last)
	if err := records(ctx, w, filepath.Join(out, "leaf1")); err != nil {
		return err
	}
	return altMark(ctx, w, filepath.Join(out, "link"))
}

// altMark measures a link by alternate marking in the lab, and draws the result.
func altMark(ctx context.Context, w io.Writer, out string) error {
	const name = "ampm-link"
	t, err := experiments.Open(name, nil)
	if err != nil {
		return err
	}
	r, err := lab.Run(ctx, t, lab.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(out, 0o755), r.Write(out)); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n== Loss and delay of the link between two switches, from one bit of each packet "+
		"(muxed alternate marking)\n\n")
	tw := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "Period\tSent\tReceived\tLost\tTruly lost\tDelay\tStatus")
	report := r.Reports["altmark"].(marking.Report) // the experiment configures it
	for _, p := range report["web"].Segments[0].Periods {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%d\t%s\t%s %s\n",
			p.Period, known(p.Sent), known(p.Received), known(p.Lost), p.TrueLost, known(p.Delay),
			p.Status, strings.Join(p.Reasons, "; "))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe plot is %s; it is an experiment of the lab: go run ./cmd/tamtam lab run %s\n",
		filepath.Join(out, "altmark-web-leaf1-spine1.png"), name)
	if !r.Passed() {
		return fmt.Errorf("lab %s: not all checks passed", name)
	}
	return nil
}

// known formats a number, or "-" if it was not measured.
func known[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// writeConfig prints the rows of CONFIG_DB that the demo is about.
func writeConfig(w io.Writer, c device.ConfigDB) {
	fmt.Fprintln(w, "== What is configured (the same on both, in CONFIG_DB)")
	fmt.Fprintln(w)
	for _, table := range []string{
		schema.CfgTAMFeature, schema.CfgTAMFlowGroup, schema.CfgACLRule, schema.CfgTAMTailStamp, schema.CfgTAMFlyMonTask,
		schema.CfgTAMCollector, schema.CfgTAMTableRecord,
	} {
		for _, key := range device.SortedKeys(c[table]) {
			fmt.Fprintf(w, "%s|%s", table, key)
			for _, f := range device.SortedKeys(c[table][key]) {
				fmt.Fprintf(w, "  %s=%s", f, c[table][key][f])
			}
			fmt.Fprintln(w)
		}
	}
}

// records decodes the records that a switch of the demo sent to its collector.
func records(ctx context.Context, w io.Writer, dir string) error {
	file, planFile := filepath.Join(dir, "Ethernet8.pcap"), filepath.Join(dir, "record-paths.plan.json")
	plan, err := collector.ReadPlan(planFile)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n== Which way every packet of the client took through leaf1's tables, "+
		"from the records that its collector got\n\n")
	options := collector.RecordOptions{Plans: []*record.Plan{plan}}
	if err := collector.DecodeRecords(ctx, w, file, options); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe records are in %s; look at them with\n  go run ./cmd/tamtam decode record %s --plan %s\n",
		file, file, planFile)
	return nil
}
