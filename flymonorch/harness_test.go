package flymonorch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/saisim/cmu"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// bench is an orchagent with FlyMon on a fake ASIC.
type bench struct {
	*orchtest.Bench
	chip  *chip
	fm    *Orch
	ahead time.Duration // time by which the chip's time of day is ahead of the daemon's
	geo   flymon.Geometry
	exact int               // maximum number of flows in the chip's oracle
	names map[string]string // names of tasks by group, in some tests
}

// start is the middle of epoch 1700000000, if an epoch is one second.
var start = time.Unix(1700000000, 500_000_000)

func smallGeometry() flymon.Geometry {
	return flymon.Geometry{Groups: 2, Units: 3, CMUs: 3, Width: 16, Depth: 1024, Partitions: 32, MapEntries: 64,
		Digests: 600}
}

func newBench(t testing.TB, changes ...func(*bench)) *bench {
	t.Helper()
	options := saitest.Options{Ports: 1, Extensions: flymon.Objects()}
	b := &bench{Bench: orchtest.New(t, options), geo: smallGeometry()}
	b.Now = start
	b.chip = newChip(func() time.Time { return b.Now.Add(b.ahead) })
	b.Layer = b.begin
	for _, f := range changes {
		f(b)
	}
	b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
	b.run()
	b.Rec.Reset()
	return b
}

// begin restarts the chip. The returned ASIC uses the chip for extensions, and api for everything else.
func (b *bench) begin(api sai.API) sai.API {
	b.T.Helper()
	g, err := cmu.New(b.geo)
	if err != nil {
		b.T.Fatal(err)
	}
	g.SetOracle(b.exact)
	b.chip.API, b.chip.groups, b.chip.Objects = api, g, map[sai.OID]*extension{}
	b.chip.started = uint64(b.Now.UnixNano())
	return b.chip
}

// restart replaces the chip with another one that has the same tasks.
func (b *bench) restart() {
	b.T.Helper()
	groups, objects := b.chip.groups, b.chip.Objects
	b.begin(saitest.New(b.Options))
	attrs := []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}}
	if _, err := b.chip.API.Create(b.Ctx, sai.ObjectTypeSwitch, attrs); err != nil {
		b.T.Fatal(err)
	}
	for oid, x := range objects {
		l, _ := groups.Layout(x.State)
		if err := b.chip.groups.Apply(l); err != nil {
			b.T.Fatal(err)
		}
		b.chip.Objects[oid] = x
	}
}

// run starts an orchagent with a new ASIC on the rows in Redis, and applies the first view.
func (b *bench) run() {
	b.T.Helper()
	b.Start()
	b.CreateSwitch()
	b.Rec.Reset()
	var err error
	features := orch.NewFeatures(b.Daemon)
	b.fm, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Features: features})
	if err != nil {
		b.T.Fatal(err)
	}
	if err := features.Publish(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	if err := b.Daemon.Hold(b.Ctx, false); err != nil {
		b.T.Fatal(err)
	}
	b.Step()
	if calls := b.Rec.Lines(); len(calls) > 0 {
		b.T.Errorf("calls before there is a view: %v", calls)
	}
	b.fm.ViewApplied()
	b.Daemon.Release()
	b.Step()
}

// to advances the time to that many seconds after the beginning of epoch 1700000000. Three packets arrive in each
// second: at 0.2, 0.5 and 0.8.
func (b *bench) to(seconds float64) {
	b.T.Helper()
	for end := time.Unix(1700000000, 0).Add(time.Duration(seconds * 1e9)); ; {
		next := b.Now.Truncate(time.Second).Add(200 * time.Millisecond)
		for !next.After(b.Now) {
			next = next.Add(300 * time.Millisecond)
			if next.Nanosecond() == 100_000_000 {
				next = next.Add(100 * time.Millisecond)
			}
		}
		if next.After(end) {
			b.Pass(max(0, end.Sub(b.Now)))
			return
		}
		b.Pass(next.Sub(b.Now))
		b.send("10.0.0.1", 1)
	}
}

// task writes a task that counts packets by source address in 3 * 64 buckets. Later fields override earlier ones.
func (b *bench) task(name string, fields ...string) {
	b.Set(schema.AppTAMFlyMonTask, name, append([]string{
		"key", "src-ip", "attribute", "frequency", "memory", "192", "epoch", "1000",
	}, fields...)...)
}

func (b *bench) query(name, task, flow string) {
	b.Set(schema.AppTAMFlyMonQuery, name, "task", task, "flow", flow)
}

func (b *bench) wantTask(name, want string) {
	b.T.Helper()
	b.WantStatus(schema.StateTAMFlyMonTask, name, want)
}

// send makes packets of 100 bytes from a source arrive now.
func (b *bench) send(src string, n int) {
	b.T.Helper()
	now := uint64(b.Now.Add(b.ahead).UnixNano())
	for range n {
		b.chip.packets++
		b.chip.groups.Run(&cmu.Packet{
			Vector: flymon.Make(netip.MustParseAddr(src), netip.MustParseAddr("10.9.9.9"), 1000, 80, 17, now),
			Ports:  true, Size: 100, Number: b.chip.packets,
		})
	}
}

// result returns a task's last epoch as "number: packets flags".
func (b *bench) result(task string) string {
	b.T.Helper()
	row := b.Row(swss.CountersDB, schema.CountersFlyMonResult, task)
	if len(row) == 0 {
		return ""
	}
	r, err := schema.ParseFlyMonResult(task, row)
	if err != nil {
		b.T.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %v %s", r.Epoch, r.Metrics[flymon.MetricPackets].Value, r.Flags))
}

func (b *bench) wantResult(task, want string) {
	b.T.Helper()
	if got := b.result(task); got != want {
		b.T.Errorf("the last epoch of %s is %q, want %q", task, got, want)
	}
}

// answer returns the answer to a query as "epoch: estimate".
func (b *bench) answer(name string) string {
	b.T.Helper()
	row := b.Row(swss.CountersDB, schema.CountersFlyMonAnswer, name)
	if len(row) == 0 {
		return ""
	}
	e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
	if err != nil {
		b.T.Fatal(err)
	}
	text := fmt.Sprintf("%s: %v", row["EPOCH"], e.Value)
	if e.Exact != nil {
		text += fmt.Sprintf(" of %v", *e.Exact)
	}
	return text
}

func (b *bench) wantAnswer(name, want string) {
	b.T.Helper()
	if got := b.answer(name); got != want {
		b.T.Errorf("the answer to %s is %q, want %q", name, got, want)
	}
}

// objects returns the names of the existing extension objects.
func (b *bench) objects() (names []string) {
	for _, x := range b.chip.Objects {
		names = append(names, strings.TrimSuffix(x.Name+" "+x.State, " "))
	}
	slices.Sort(names)
	return names
}
