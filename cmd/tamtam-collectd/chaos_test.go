package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/jetstream"
	"tamtam/fleet/parquet"
	"tamtam/fleet/synthetic"
	"tamtam/internal/randtest"
)

// Three nodes of a log, four workers that share the partitions, and a sending fleet run as separate processes. For
// TAMTAM_COLLECTD_CHAOS minutes, nodes (one at a time) and workers are killed at random. In the end the store equals,
// row for row, that of a run without kills.
func TestChaos(t *testing.T) {
	minutes, _ := strconv.ParseFloat(os.Getenv("TAMTAM_COLLECTD_CHAOS"), 64)
	if minutes <= 0 {
		t.Skip("TAMTAM_COLLECTD_CHAOS is not set: want the number of minutes")
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		c := newChaos(t, seed, time.Duration(minutes*float64(time.Minute)))
		for i := range c.nodes {
			c.nodes[i] = c.start(c.nodeArgs(i)...)
		}
		for i := range c.workers {
			c.workers[i] = c.start(c.workerArgs()...)
		}
		sent := c.start(append(c.fleetArgs(), "--nats="+c.urls, "--replicas=3", "--joined-elsewhere", "--dir="+c.dir,
			"--pace="+fmt.Sprint(chaosPace))...)
		c.kill(sent)
		if !strings.Contains(sent.out.String(), "store equals what was sent   yes") {
			t.Fatalf("the fleet says\n%s\n%s", sent.out.String(), sent.err.String())
		}
		calm := t.TempDir()
		quiet := c.start(append(c.fleetArgs(), "--dir="+calm)...)
		if err := <-quiet.ended; err != nil {
			t.Fatalf("without faults: %v\n%s", err, quiet.err.String())
		}
		compareStores(t, filepath.Join(c.dir, "store"), filepath.Join(calm, "store"))
		t.Logf("%d kills of nodes and %d of workers", c.nodeKills, c.workerKills)
		if c.nodeKills == 0 || c.workerKills == 0 {
			t.Error("nobody was killed")
		}
	})
}

const (
	chaosPace       = 30_000 // stamps per second
	chaosLeaves     = 12
	chaosPartitions = 8
)

type chaos struct {
	t                      *testing.T
	r                      *rand.Rand
	program, dir, urls     string
	stamps                 int64
	listen, cluster        []string
	nodes                  [3]*process
	workers                [4]*process
	nodeKills, workerKills int
}

func newChaos(t *testing.T, seed uint64, length time.Duration) *chaos {
	c := &chaos{t: t, r: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(),
		stamps: int64(chaosPace * length.Seconds())}
	c.program = filepath.Join(c.dir, "tamtam-collectd")
	if out, err := exec.Command("go", "build", "-o", c.program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var urls []string
	for range c.nodes {
		for _, list := range []*[]string{&c.listen, &c.cluster} {
			address, err := jetstream.FreeAddress()
			if err != nil {
				t.Fatal(err)
			}
			*list = append(*list, address)
		}
		urls = append(urls, "nats://"+c.listen[len(c.listen)-1])
	}
	c.urls = strings.Join(urls, ",")
	return c
}

func (c *chaos) nodeArgs(i int) []string {
	routes := slices.Delete(slices.Clone(c.cluster), i, i+1)
	name := fmt.Sprint("node-", i+1)
	return []string{"run", "--role=log", "--http=none", "--node=" + name, "--log=" + filepath.Join(c.dir, "log", name),
		"--listen=" + c.listen[i], "--cluster=" + c.cluster[i], "--routes=" + strings.Join(routes, ",")}
}

func (c *chaos) workerArgs() []string {
	return []string{"run", "--role=join", "--http=none", "--nats=" + c.urls, "--replicas=3", "--hold=5s", "--most=4",
		"--silence=10h", "--store=" + filepath.Join(c.dir, "store"), fmt.Sprint("--partitions=", chaosPartitions),
		"--expect=" + c.expected()}
}

func (c *chaos) expected() string { return strings.Join(synthetic.Sources(chaosLeaves), ",") }

func (c *chaos) fleetArgs() []string {
	return []string{"fleet", fmt.Sprint("--leaves=", chaosLeaves), "--spines=4", "--flows=20000", "--alive=20s",
		fmt.Sprint("--stamps=", c.stamps), "--time=" + (time.Duration(c.stamps/chaosPace) * time.Second).String(),
		fmt.Sprint("--partitions=", chaosPartitions)}
}

// A process is a process of the program, with its output.
type process struct {
	cmd      *exec.Cmd
	ended    chan error
	out, err *bytes.Buffer
}

func (c *chaos) start(args ...string) *process {
	p := &process{cmd: exec.Command(c.program, args...), ended: make(chan error, 1), out: &bytes.Buffer{},
		err: &bytes.Buffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	c.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// kill kills nodes and workers, and starts them again, until the fleet has sent everything.
func (c *chaos) kill(sent *process) {
	const between = 4 * time.Second
	var nodeBack time.Time // time until which the other nodes are not killed
	for {
		select {
		case err := <-sent.ended:
			if err != nil {
				c.t.Fatalf("the fleet: %v\n%s", err, sent.err.String())
			}
			return
		case <-time.After(between/2 + time.Duration(c.r.Int64N(int64(between)))):
		}
		if c.r.IntN(2) == 0 && time.Now().After(nodeBack) {
			i := c.r.IntN(len(c.nodes))
			c.again(&c.nodes[i], c.nodeArgs(i))
			c.nodeKills++
			nodeBack = time.Now().Add(3 * between) // until then, this node reads the messages it missed
			continue
		}
		c.again(&c.workers[c.r.IntN(len(c.workers))], c.workerArgs())
		c.workerKills++
	}
}

func (c *chaos) again(p **process, args []string) {
	select {
	case err := <-(*p).ended:
		c.t.Errorf("a process ended by itself: %v\n%s", err, (*p).err.String())
	default:
		if err := (*p).cmd.Process.Kill(); err != nil {
			c.t.Fatal(err)
		}
		<-(*p).ended
	}
	<-time.After(time.Duration(c.r.Int64N(int64(3 * time.Second))))
	*p = c.start(args...)
}

type chaosKey struct {
	start      int64
	flow, path string
	index      int
}

// compareStores compares the rows of two stores. Rows of one window, flow and hop are summed up.
func compareStores(t *testing.T, a, b string) {
	one, other := hops(t, a), hops(t, b)
	if len(one) != len(other) || len(one) == 0 {
		t.Errorf("%d rows, and %d without faults", len(one), len(other))
	}
	for _, key := range slices.SortedFunc(maps.Keys(other), func(a, b chaosKey) int { return int(a.start - b.start) }) {
		if x, y := one[key], other[key]; x.Count != y.Count || x.Sum != y.Sum || x.Min != y.Min || x.Max != y.Max ||
			!slices.Equal(x.Buckets, y.Buckets) {
			t.Fatalf("%+v: %+v, and %+v without faults", key, x, y)
		}
	}
}

func hops(t *testing.T, dir string) map[chaosKey]result.Distribution {
	store, err := parquet.Open(parquet.Options{Dir: dir, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	all := map[chaosKey]result.Distribution{}
	err = store.Each(context.Background(), 0, math.MaxInt64, func(b *result.Batch) bool {
		for _, h := range b.Hops {
			key := chaosKey{h.Window.Start, h.Flow, h.Path, h.Index}
			d := all[key]
			d.Add(h.Resident)
			all[key] = d
			if h.Flags != 0 {
				t.Errorf("%+v is flagged %v", key, h.Flags)
			}
		}
		return !t.Failed()
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
