package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/mgmt/configfile"
	"tamtam/tam/record"
)

const planFlag = "`FILE` of a plan that records follow (may be repeated), " +
	"as tamtam plan --format json, tamtam sim and the shell's show tam table-record plan NAME | json give it"

const configFlag = "`FILE` as config_db.json, with the ACL rules whose names are too long for a record"

// ruleNames returns the names of the ACL rules of a config_db.json, by their labels. It returns nil if path is "".
func ruleNames(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	rows, err := configfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return rows.RuleNames(), nil
}

func newDecodeRecord() *cobra.Command {
	var opts collector.RecordOptions
	var plans []string
	var format string
	var memory int64
	var config string
	c := &cobra.Command{
		Use:   "record FILE.pcap --plan PLAN.json",
		Short: "Paths of packets, from the records of table recording",
		Args:  cobra.ExactArgs(1),
		Long: `Find mirrored frames with records in a capture (in UDP to any port, or in ERSPAN, over IPv4
or IPv6), and tell the path of each packet through the tables of the switch: totals for each
path, latency, what was dropped and where, what part of the program was never run, records
that no path of the program has, and what fault would explain them.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if opts.JSON, err = textOrJSON(format); err != nil {
				return err
			}
			if opts.Ports < 1 {
				return usagef("--ports %d: want 1 or more", opts.Ports)
			}
			if opts.Memory, err = bytesOf(memory); err != nil {
				return err
			}
			if opts.Plans, err = somePlans(plans); err != nil {
				return err
			}
			if opts.Names, err = ruleNames(config); err != nil {
				return err
			}
			return collector.DecodeRecords(cmd.Context(), cmd.OutOrStdout(), args[0], opts)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&plans, "plan", nil, planFlag)
	f.StringVar(&config, "config", "", configFlag)
	f.StringVar(&format, "format", "text", "text or json")
	f.BoolVar(&opts.Packets, "packets", false, "print every recorded packet too")
	f.BoolVar(&opts.Exact, "exact", false, exactFlag)
	f.BoolVar(&opts.Alone, "bits-alone", false, "decode by the bits alone, to compare with all data of the records")
	f.IntVar(&opts.Ports, "ports", collector.DefaultPorts,
		"how many ports of arrival and fates are counted, those of each distinct record apart, at most")
	f.Int64Var(&memory, "memory", collector.DefaultMemory>>20, memoryFlag)
	f.StringVar(&opts.Flow, "flow", "", `only packets of flows whose text has this, as "192.0.2.1:1234 > 192.0.2.2:80"`)
	f.StringVar(&opts.Compare, "compare", "", "another capture: print which paths are new, gone or changed since")
	return c
}

const (
	exactFlag  = "keep every different latency, some 40 bytes each, while there is memory: percentiles are exact"
	memoryFlag = "`MiB` that the distributions of all latencies take together, at most; " +
		"what finds no room is marked in the output"
)

// bytesOf converts --memory to bytes.
func bytesOf(mib int64) (int64, error) {
	const most = 1 << 30
	if mib < 1 || mib > most {
		return 0, usagef("--memory %d: want 1 to %d MiB", mib, most)
	}
	return mib << 20, nil
}

func textOrJSON(format string) (isJSON bool, err error) {
	if format != "text" && format != "json" {
		return false, usagef("--format %q: want text or json", format)
	}
	return format == "json", nil
}

// somePlans reads the files of --plan, of which at least one is required.
func somePlans(files []string) ([]*record.Plan, error) {
	if len(files) == 0 {
		return nil, usagef("--plan is missing: want the plan that the records follow")
	}
	return readPlans(files)
}

func readPlans(files []string) ([]*record.Plan, error) {
	var plans []*record.Plan
	for _, name := range files {
		p, err := collector.ReadPlan(name)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// A collectRecord holds the flags of `collect record`.
type collectRecord struct {
	listen, format, baseline string
	config                   string // file with the names of ACL rules
	iface                    string // interface from which frames are read instead of datagrams
	plans                    []string
	packets                  bool
	count                    int64
	interval                 time.Duration
}

func newCollectRecord() *cobra.Command {
	var c collectRecord
	cmd := &cobra.Command{
		Use:   "record --plan PLAN.json",
		Short: "Receive the records of table recording: paths of packets as they come",
		Args:  cobra.NoArgs,
		Long: `Receive what sessions of table recording send by UDP, or, with --interface, find it in the
frames that pass an interface of this host: in UDP to any port, and in ERSPAN (Linux and
CAP_NET_RAW). A line tells of each packet whose path is seen for the first time, and of each
whose record no path of the program has; with --packets of every packet. At the end, after
--count records or when interrupted, a report is printed as "tamtam decode record" does. What
came faster than it was read is told.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", ":9070", "UDP address to listen at")
	f.StringVar(&c.iface, "interface", "", "read the frames of this interface instead")
	f.StringArrayVar(&c.plans, "plan", nil, planFlag)
	f.StringVar(&c.config, "config", "", configFlag)
	f.StringVar(&c.baseline, "baseline", "", "a capture: paths that it has are not new")
	f.StringVar(&c.format, "format", "text", "text or json")
	f.BoolVar(&c.packets, "packets", false, "print every recorded packet")
	f.Int64Var(&c.count, "count", 0, "end after so many records; 0: when interrupted")
	f.DurationVar(&c.interval, "interval", 0, "print the report so often too, as 10s; 0: at the end only")
	return cmd
}

func (c *collectRecord) run(cmd *cobra.Command) error {
	asJSON, err := textOrJSON(c.format)
	if err != nil {
		return err
	}
	switch {
	case c.count < 0 || c.interval < 0:
		return usagef("--count %d, --interval %v: want 0 or more", c.count, c.interval)
	case c.iface != "" && cmd.Flags().Changed("listen"):
		return usagef("--interface %s and --listen %s: want one of them", c.iface, c.listen)
	}
	plans, err := somePlans(c.plans)
	if err != nil {
		return err
	}
	records, err := collector.NewRecords(plans...)
	if err != nil {
		return err
	}
	names, err := ruleNames(c.config)
	if err != nil {
		return err
	}
	records.Name(names)
	if c.baseline != "" {
		r, err := collector.ReadRecords(cmd.Context(), c.baseline, plans...)
		if err != nil {
			return err
		}
		records.Know(r)
	}
	var ticks <-chan time.Time
	if c.interval > 0 {
		tick := time.NewTicker(c.interval)
		defer tick.Stop()
		ticks = tick.C
	}
	var in interface {
		collector.Source
		io.Closer
	}
	if c.iface != "" {
		in, err = capture.Listen(c.iface)
	} else {
		in, err = listenUDP(cmd, c.listen)
	}
	if err != nil {
		return err
	}
	defer in.Close()
	return collector.WatchRecords(cmd.Context(), cmd.OutOrStdout(), c.iface, in, ticks, records,
		collector.WatchRecordOptions{JSON: asJSON, Packets: c.packets, Count: c.count})
}
