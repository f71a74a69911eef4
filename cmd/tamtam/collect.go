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

const collectHelp = `Subscribe to the alternate marking of switches by gNMI, join their reports along
the paths and graphs of FILE (YAML or JSON), and print every period of every segment. FILE is as

  paths:
  - name: west-east
    back: east-west                # the opposite path, for the delay there and back; optional
    wait: 3                        # periods to wait for a missing report; optional
    points:
    - {switch: leaf1, target: "10.0.0.1:8080", session: web}
    - {switch: leaf2, target: "10.0.0.2:8080", session: web}

Where packets take one of several ways, FILE has a graph, and results are of its smallest
clusters (RFC 9342) and of the whole:

  graphs:
  - name: web
    points:
    - {switch: leaf1, target: "10.0.0.1:8080", session: web}
    - {switch: spine1, target: "10.0.0.3:8080", session: web}
    - {switch: spine2, target: "10.0.0.4:8080", session: web}
    - {switch: leaf2, target: "10.0.0.2:8080", session: web}
    links: [[leaf1, spine1], [leaf1, spine2], [leaf2, spine1], [leaf2, spine2]]
    from: [leaf1]                  # with to: links are cables, of which the shortest ways count;
    to: [leaf2]                    # without, they are from one switch to another

Without FILE the graphs follow from a --topology, or from what the switches of --target hear by
LLDP: a graph for each flow group that has sessions of alternate marking, from initiators to
terminators by the ways of the fewest links. ` + "`tamtam collect topology --help`" + ` has more of it, and
` + "`tamtam collect graphs`" + ` prints them. When the switches have other sessions, so that the graphs are others,
that is told, and it begins anew with these.

A later line for a period and segment takes the place of the one before: a report came late.
With --gnmi the last results are served too, at /tam/alt-mark-results; with --redis they
are written to TAM_ALTMARK_RESULTS of COUNTERS_DB there.

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
		Short: "Join alternate marking of switches: loss, delay and jitter of paths and graphs",
		Long:  collectHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) }}
	f := cmd.Flags()
	f.StringVar(&c.paths, "paths", "", "file of paths and graphs, YAML or JSON")
	f.StringVar(&c.format, "format", "text", "text, json (a result in each line) or csv")
	f.Float64Var(&c.alarm, "alarm", -1,
		"of graphs: report where packets were lost, cluster and link, in periods that lost more than this part, as 0.01; "+
			"where the loss of the whole is not known, in those in which a cluster did; when a report came late, that there is "+
			"no alarm, too")
	c.redis.flags(cmd, "", "write results here: HOST:PORT, unix:PATH or embedded")
	c.network.flags(cmd, "the points of all flow groups that its switches mark make the graphs, instead of --paths: ")
	f.StringVar(&c.north.gnmi, "gnmi", "", "serve results by gNMI at this address, as :8081")
	f.StringVar(&c.north.data, "gnmi-data", filepath.Join(device.DataDir(), "collector"),
		"directory for the generated certificates of --gnmi")
	f.StringVar(&c.north.cert, "gnmi-tls-cert", "", "server certificate of --gnmi, PEM (default: one is generated)")
	f.StringVar(&c.north.key, "gnmi-tls-key", "", "key of --gnmi-tls-cert, PEM")
	f.StringVar(&c.north.clientCA, "gnmi-tls-client-ca", "", "CA of client certificates of --gnmi, PEM")
	f.StringVar(&c.north.users, "gnmi-users", "", "users of --gnmi, a file as for \"tamtam up --users\"")
	f.BoolVar(&c.north.insecure, "gnmi-insecure", false, "serve --gnmi without TLS")
	f.BoolVar(&c.north.noLogin, "gnmi-no-login", false,
		"let every client of --gnmi be admin, even if other hosts can reach the address")
	c.ipfix.flags(cmd)
	cmd.AddCommand(newCollectRecord(), newCollectTailStamp(false), newCollectTailStamp(true), newCollectIPFIX(),
		newCollectSFlow(), newCollectTopology(), newCollectGraphs())
	return cmd
}

// newCollectTailStamp returns the command that reads stamps, or the hops of IFA, from a live interface.
func newCollectTailStamp(ifa bool) *cobra.Command {
	var s stampFlags
	var every time.Duration
	var out ipfixOut
	c := &cobra.Command{
		Use:   "tailstamp INTERFACE",
		Short: "Latency per flow and hop, from the tail-stamp records of frames as they come",
		Long: `Read the frames that pass an interface of this host, and print, once per --every and at the end, what the
tail-stamp records in those since the last report say: as tamtam decode tailstamp does of a capture. Of copies that a
mirror session sends as ERSPAN the mirrored frames count. Frames that came faster than they were read are told. It needs
Linux and CAP_NET_RAW.

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
		c.Use, c.Short = "ifa INTERFACE", "Latency per flow and hop, from packets of Inband Flow Analyzer as they come"
		c.Long = strings.NewReplacer("tail-stamp records", "hops of IFA", "decode tailstamp", "decode ifa").Replace(c.Long)
	}
	out.flags(c)
	s.flags(c, "text, or json with a report in each line")
	c.Flags().DurationVar(&every, "every", time.Second, "time between reports")
	return c
}

func (c *collect) run(cmd *cobra.Command) error {
	if c.paths == "" && c.network.none() {
		return usagef("--paths is missing: want a file of paths and graphs, as `tamtam collect --help` shows, or --topology")
	}
	if c.paths != "" && !c.network.none() {
		return usagef("--paths %s: it has the graphs, and so do --topology and --target: want either", c.paths)
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
			return errors.Join(err, errors.New("the gNMI server has ended"))
		default:
		}
		err := errors.Join(write(list), rows.Write(ctx, list), c.ipfix.results(list))
		drill(list) // an alarm must follow its results
		return err
	}
	last := map[string]string{}
	tell := func(e dial.Event) { // prints each new state once
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
		err := c.join(ctx, cmd, paths, network, tell, give)
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
	tell func(dial.Event), give func([]marks.Result) error,
) error {
	if network == nil {
		return dial.Run(ctx, paths, c.network.dial, tell, give)
	}
	for _, g := range paths.Graphs {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s\n", g)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		unasked := func(err error) { fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: the graphs may be others now: %v\n", err) }
		since, changed := paths.Changed(ctx, network, c.network.dial, dial.AskGraphs, unasked)
		if changed {
			fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: the switches have other sessions than at %s, and make other graphs: losses "+
				"since then may be none\n", since.Format(time.TimeOnly))
			cancel()
		}
	}()
	return dial.Run(ctx, paths, c.network.dial, tell, give)
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
		return nil, usagef("--alarm %v: want a part of the packets, 0 to less than 1", c.alarm)
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
			for _, a := range drills[name].Take(of[name]...) {
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
