package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/collector/marks"
	"tamtam/collector/topology"
	"tamtam/device"
	"tamtam/fleet/dial"
	"tamtam/internal/command"
	"tamtam/mgmt"
	"tamtam/mgmt/results"
)

const collectHelp = `Join the alternate-marking reports of several switches, and print loss, delay and jitter of each
period of each segment. The reports come by gNMI. They are joined along the paths and graphs of
FILE, which is YAML or JSON:

  paths:
  - name: west-east
    back: east-west                # the opposite path, for the round-trip delay; optional
    wait: 3                        # periods to wait for a missing report; optional
    points:
    - {switch: leaf1, target: "10.0.0.1:8080", session: web}
    - {switch: leaf2, target: "10.0.0.2:8080", session: web}

If packets can take one of several paths, describe them as a graph. Results are then those of its
smallest clusters (RFC 9342), and of the whole graph:

  graphs:
  - name: web
    points:
    - {switch: leaf1, target: "10.0.0.1:8080", session: web}
    - {switch: spine1, target: "10.0.0.3:8080", session: web}
    - {switch: spine2, target: "10.0.0.4:8080", session: web}
    - {switch: leaf2, target: "10.0.0.2:8080", session: web}
    links: [[leaf1, spine1], [leaf1, spine2], [leaf2, spine1], [leaf2, spine2]]
    from: [leaf1]                  # with from and to, links are cables: the shortest paths count;
    to: [leaf2]                    # without them, each link leads from its first switch to its second

Instead of FILE you can give --topology, or the switches as --target, whose LLDP neighbours are then
the topology. Each flow group with sessions of alternate marking gets a graph. The graph leads from
the initiators to the terminators, on the paths with the fewest links. Run
` + "`tamtam collect graphs`" + ` to see these graphs, and ` + "`tamtam collect topology --help`" + ` for the topology.
If new sessions on the switches make other graphs, a message reports it, and the command continues
with these.

If a report comes late, its period and segment are printed again: the last line is the right one.
With --gnmi, the latest results are also served at /tam/alt-mark-results. With --redis, they are also
written to the table TAM_ALTMARK_RESULTS of COUNTERS_DB.

With --alarm, lines on standard error name the cluster and the link that lost packets, for each period
of a graph with more loss than that. If the loss of the whole graph is unknown, that of a cluster
counts. If a late report shows that there was no such loss, a line withdraws the alarm.

` + ipfixHelp

// A collect holds the flags of the collector.
type collect struct {
	north         northbound
	network       topologyFlags
	paths, format string
	alarm         float64
	redis         redisFlags
	ipfix         ipfixOut
}

func newCollect() *cobra.Command {
	var c collect
	cmd := &cobra.Command{
		Use:   "collect --paths FILE | --topology FILE",
		Short: "Join the alternate-marking reports of switches: loss, delay and jitter of paths and graphs",
		Long:  collectHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) }}
	f := cmd.Flags()
	f.StringVar(&c.paths, "paths", "", "`FILE` with paths and graphs, YAML or JSON")
	f.StringVar(&c.format, "format", "text", "text, json (a result in each line) or csv")
	f.Float64Var(&c.alarm, "alarm", -1,
		"for graphs: report where packets were lost, in periods with more than this fraction of loss, such as 0.01")
	c.redis.flags(cmd, "", "also write the results to this Redis: HOST:PORT, unix:PATH or embedded")
	c.network.flags(cmd, "instead of --paths, make a graph for each marked flow group: ")
	f.StringVar(&c.north.gnmi, "gnmi", "", "serve results by gNMI at this address, such as :8081")
	f.StringVar(&c.north.data, "gnmi-data", filepath.Join(device.DataDir(), "collector"),
		"directory for the generated certificates of --gnmi")
	f.StringVar(&c.north.cert, "gnmi-tls-cert", "", "server certificate of --gnmi, PEM (default: a generated one)")
	f.StringVar(&c.north.key, "gnmi-tls-key", "", "key of --gnmi-tls-cert, PEM")
	f.StringVar(&c.north.clientCA, "gnmi-tls-client-ca", "", "CA of client certificates of --gnmi, PEM")
	f.StringVar(&c.north.users, "gnmi-users", "", "`FILE` of the users of --gnmi, as for tamtam up --users")
	f.BoolVar(&c.north.insecure, "gnmi-insecure", false, "serve --gnmi without TLS")
	f.BoolVar(&c.north.noLogin, "gnmi-no-login", false,
		"let every client of --gnmi be admin, even if other hosts can reach the address")
	c.ipfix.flags(cmd)
	cmd.AddCommand(newCollectRecord(), newCollectTailStamp(false), newCollectTailStamp(true), newCollectIPFIX(),
		newCollectSFlow(), newCollectHFT(), newCollectTopology(), newCollectGraphs())
	return cmd
}

// newCollectTailStamp returns the command that reads stamps, or the hops of IFA, from a live interface.
func newCollectTailStamp(ifa bool) *cobra.Command {
	var s stampFlags
	var every time.Duration
	var out ipfixOut
	c := &cobra.Command{
		Use:   "tailstamp INTERFACE",
		Short: "Print the latency per flow and hop, from the tail-stamp records of live frames",
		Long: `Read the frames that pass an interface of this host, and report the latency per flow and hop from their
tail-stamp records. A report is printed every --every, and at the end. It covers the frames since the
last report, and looks like that of tamtam decode tailstamp. If a frame is a copy that a mirror
session sent as ERSPAN, the mirrored frame counts. A report contains the number of frames that were
lost because they arrived faster than they were read. This needs Linux and CAP_NET_RAW.

` + ipfixHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			if every < 100*time.Millisecond {
				return usagef("--every %v: want 100ms or more", every)
			}
			if err := out.dial(cmd); err != nil {
				return err
			}
			defer out.close()
			in, err := capture.Listen(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			out.stamps(&s.DecodeOptions)
			tick := time.NewTicker(every)
			defer tick.Stop()
			return collector.WatchTailStamp(cmd.Context(), cmd.OutOrStdout(), args[0], in, tick.C, s.DecodeOptions)
		},
	}
	if s.IFA = ifa; ifa {
		c.Use, c.Short = "ifa INTERFACE", "Print the latency per flow and hop, from live packets of Inband Flow Analyzer"
		c.Long = strings.NewReplacer("tail-stamp records", "hops of IFA", "decode tailstamp", "decode ifa").Replace(c.Long)
	}
	out.flags(c)
	s.flags(c, "text, or json with a report in each line")
	c.Flags().DurationVar(&every, "every", time.Second, "time between two reports, 100ms or more")
	return c
}

func (c *collect) run(cmd *cobra.Command) error {
	if c.paths == "" && c.network.none() {
		return usagef("--paths is missing: want a file of paths and graphs, as `tamtam collect --help` shows, or --topology")
	}
	if c.paths != "" && !c.network.none() {
		return usagef("--paths %s: --topology and --target define the graphs, too: want only one of them", c.paths)
	}
	write, err := marks.Writer(cmd.OutOrStdout(), c.format)
	if err != nil {
		return command.Usage(err)
	}
	paths, network, err := c.measured(cmd)
	if err != nil {
		return err
	}
	drill, err := c.drill(paths, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	served := make(chan error, 1)
	rows, err := c.serve(ctx, cmd, served)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := c.ipfix.dial(cmd); err != nil {
		return err
	}
	defer c.ipfix.close()
	give := func(list []marks.Result) error {
		select {
		case err := <-served:
			return errors.Join(err, errors.New("the gNMI server stopped"))
		default:
		}
		err := errors.Join(write(list), rows.Write(ctx, list), c.ipfix.results(list))
		drill(list) // prints alarms, which must follow the results
		return err
	}
	last := map[string]string{}
	report := func(e dial.Event) { // prints each new state once
		what := e.Target
		if e.Session != "" {
			what += ", session " + e.Session
		}
		if news, _ := e.News(); last[what] != news {
			last[what] = news
			fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s: %s\n", what, news)
		}
	}
	for {
		err := c.join(ctx, cmd, paths, network, report, give)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if paths, network = c.again(ctx, cmd); ctx.Err() != nil {
			return nil
		}
		if drill, err = c.drill(paths, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
}

// again reads the graphs repeatedly until there is at least one graph, or ctx ends.
func (c *collect) again(ctx context.Context, cmd *cobra.Command) (dial.File, *topology.Topology) {
	for {
		paths, network, err := c.measured(cmd)
		if err == nil || ctx.Err() != nil {
			return paths, network
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %v\n", err)
		select {
		case <-ctx.Done():
		case <-time.After(dial.AskGraphs):
		}
	}
}

// join joins along paths until ctx ends or an error occurs, or until the graphs of the switches change.
func (c *collect) join(ctx context.Context, cmd *cobra.Command, paths dial.File, network *topology.Topology,
	report func(dial.Event), give func([]marks.Result) error,
) error {
	if network == nil {
		return dial.Run(ctx, paths, c.network.dial, report, give)
	}
	for _, g := range paths.Graphs {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s\n", g)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		unasked := func(err error) { fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: the graphs may have changed: %v\n", err) }
		since, changed := paths.Changed(ctx, network, c.network.dial, dial.AskGraphs, unasked)
		if changed {
			fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: the sessions on the switches have changed since %s, and with them the "+
				"graphs: a loss reported since then may be wrong\n", since.Format(time.TimeOnly))
			cancel()
		}
	}()
	return dial.Run(ctx, paths, c.network.dial, report, give)
}

// measured returns the paths and graphs of a file. Without a file it returns the graphs that follow from the topology,
// and the topology.
func (c *collect) measured(cmd *cobra.Command) (dial.File, *topology.Topology, error) {
	if c.paths == "" {
		f, t, _, err := c.network.graphs(cmd)
		return f, t, err
	}
	paths, err := readFile(c.paths, dial.ReadFile)
	return paths, nil, err
}

// drill returns a function that prints where graphs lost packets. Without --alarm the function does nothing.
func (c *collect) drill(f dial.File, w io.Writer) (func([]marks.Result), error) {
	if c.alarm == -1 {
		return func([]marks.Result) {}, nil
	}
	if !(c.alarm >= 0 && c.alarm < 1) {
		return nil, usagef("--alarm %v: want a fraction of the packets, 0 to less than 1", c.alarm)
	}
	drills, err := f.Drills(c.alarm)
	if err != nil {
		return nil, err
	}
	blame, err := f.Blame()
	return func(results []marks.Result) {
		of := map[string][]marks.Result{}
		for _, r := range results {
			blame.Add(r)
			of[r.Path] = append(of[r.Path], r)
		}
		for _, name := range device.SortedKeys(drills) {
			for _, a := range drills[name].AddAll(of[name]...) {
				if !a.Withdrawn {
					blame.Alarm(a)
				}
				fmt.Fprintf(w, "tamtam: %s\n", a)
			}
		}
		for _, s := range blame.Suspects() {
			fmt.Fprintf(w, "tamtam: %s\n", s)
		}
	}, err
}

// serve opens the database of results and its gNMI server, if the flags request them.
func (c *collect) serve(ctx context.Context, cmd *cobra.Command, served chan<- error) (*results.Rows, error) {
	if c.redis.addr == "" && c.redis.database == "" {
		if c.north.gnmi == "" {
			return nil, nil
		}
		c.redis.addr = "embedded"
	}
	r, err := c.redis.openNow(ctx)
	if err != nil {
		return nil, err
	}
	rows := results.New(r)
	if c.north.gnmi == "" {
		return rows, nil
	}
	cfg, err := c.north.config(cmd)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	cfg.Redis, cfg.Socket = r, ""
	server, err := mgmt.NewServer(cfg)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: results are served by gNMI at %s\n", server.Addr())
	go func() { served <- server.Serve(ctx) }()
	return rows, nil
}
