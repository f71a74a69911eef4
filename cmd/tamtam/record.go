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

const planFlag = "`FILE` with a plan of the records (may be repeated), " +
	"from tamtam plan --format json, tamtam sim or the shell's show tam table-record plan NAME | json"

const configFlag = "`FILE` such as config_db.json, with the ACL rules whose names are too long for a record"

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
		Short: "Print the paths of packets through the tables, from the records of table recording",
		Args:  cobra.ExactArgs(1),
		Long: `Decode the records in a capture, and print the paths of packets through the tables of the switch. The
records are in mirrored frames, in UDP to any port or in ERSPAN, over IPv4 or IPv6.

The report contains the packets and the latency of each path. It also contains the drops with their
place, and the part of the program that was never run. Look first at the number of records with an
exact path. A record that fits no path of the program is marked IMPOSSIBLE. The suspicions list faults
that would explain such records.`,
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
	f.BoolVar(&opts.Packets, "packets", false, "also print every recorded packet")
	f.BoolVar(&opts.Exact, "exact", false, exactFlag)
	f.BoolVar(&opts.Alone, "bits-alone", false,
		"decode only by the bits, to compare with decoding by all data of the records")
	f.IntVar(&opts.Ports, "ports", collector.DefaultPorts,
		"maximum number of ingress ports and of fates that are counted for each distinct record")
	f.Int64Var(&memory, "memory", collector.DefaultMemory>>20, memoryFlag)
	f.StringVar(&opts.Flow, "flow", "",
		`only packets of flows whose text contains this, such as "192.0.2.1:1234 > 192.0.2.2:80"`)
	f.StringVar(&opts.Compare, "compare", "", "earlier capture: print the paths that are new, gone or changed since")
	return c
}

const (
	exactFlag  = "keep every distinct latency, about 40 bytes each, up to --memory, for exact percentiles"
	memoryFlag = "maximum `MiB` for the distributions of all latencies; " +
		"distributions without memory are marked in the output"
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
		return nil, usagef("--plan is missing: want the plan of the records")
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
		Short: "Receive the records of table recording, and print the paths of packets",
		Args:  cobra.NoArgs,
		Long: `Receive the records of table recording by UDP, and print the paths of packets. With --interface, read
them from the frames that pass an interface of this host, in UDP to any port or in ERSPAN. That needs
Linux and CAP_NET_RAW.

A line is printed for each packet with a new path, and for each packet whose record fits no path of
the program. With --packets, every packet has a line.

The command ends after --count records, or at an interrupt. Then it prints a report like that of
"tamtam decode record". The report contains the number of records that were lost because they arrived
faster than they were read.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", ":9070", "UDP address at which to listen")
	f.StringVar(&c.iface, "interface", "", "read frames that pass this interface of the host instead; needs CAP_NET_RAW")
	f.StringArrayVar(&c.plans, "plan", nil, planFlag)
	f.StringVar(&c.config, "config", "", configFlag)
	f.StringVar(&c.baseline, "baseline", "", "capture whose paths are not new")
	f.StringVar(&c.format, "format", "text", "text or json")
	f.BoolVar(&c.packets, "packets", false, "print every recorded packet")
	f.Int64Var(&c.count, "count", 0, "end after this number of records; 0: at an interrupt")
	f.DurationVar(&c.interval, "interval", 0, "also print the report at this interval, such as 10s; 0: only at the end")
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
