package flymonorch

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/saisim/cmu"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// logs passes what the daemon warns of to the test's log.
type logs struct{ b *bench }

func (l logs) Write(p []byte) (int, error) {
	l.b.logged = append(l.b.logged, strings.TrimSpace(string(p)))
	return len(p), nil
}

// bench is the FlyMon of an orchagent on a fake ASIC.
type bench struct {
	t      testing.TB
	ctx    context.Context
	redis  *swss.Redis
	chip   *chip
	rec    *saitest.Recorder
	daemon *orch.Daemon
	fm     *Orch
	now    time.Time
	ahead  time.Duration // the chip's time of day is ahead of the daemon's
	geo    flymon.Geometry
	exact  int // flows that the chip's oracle keeps
	logged []string
	names  map[string]string // of tasks, by group: of some tests
}

// start is the middle of epoch 1700000000 of one second.
var start = time.Unix(1700000000, 500_000_000)

func smallGeometry() flymon.Geometry {
	return flymon.Geometry{Groups: 2, Units: 3, CMUs: 3, Width: 16, Depth: 1024, Partitions: 32, MapEntries: 64, Digests: 600}
}

func newBench(t testing.TB, changes ...func(*bench)) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := &bench{t: t, ctx: t.Context(), redis: r, now: start, geo: smallGeometry()}
	b.chip = &chip{now: func() time.Time { return b.now.Add(b.ahead) }, has: map[string]uint64{}}
	for _, name := range flymon.Objects() {
		b.chip.has[name] = 16
	}
	b.chip.has[flymon.ObjectTruth] = 0
	for _, f := range changes {
		f(b)
	}
	b.set(schema.AppTAMFeature, feature, "status", "ACTIVE")
	b.run()
	b.rec.Reset()
	return b
}

// newChip is one that has counted nothing.
func (b *bench) newChip() {
	b.t.Helper()
	g, err := cmu.New(b.geo)
	if err != nil {
		b.t.Fatal(err)
	}
	g.SetOracle(b.exact)
	fake := saitest.New(saitest.Options{Ports: 1, Extensions: flymon.Objects()})
	if _, err := fake.Create(b.ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}}); err != nil {
		b.t.Fatal(err)
	}
	b.chip.API, b.chip.groups, b.chip.objects = fake, g, map[sai.OID]*extension{}
	b.chip.started = uint64(b.now.UnixNano())
}

// restart has another chip take the place of the chip, with its tasks.
func (b *bench) restart() {
	b.t.Helper()
	old := b.chip.objects
	groups := b.chip.groups
	b.newChip()
	b.chip.objects = map[sai.OID]*extension{}
	for oid, x := range old {
		l, _ := groups.Layout(x.task)
		if err := b.chip.groups.Apply(l); err != nil {
			b.t.Fatal(err)
		}
		b.chip.objects[oid] = x
	}
}

// run starts an orchagent with a new ASIC on what is in Redis, until the first
// view is applied.
func (b *bench) run() {
	b.t.Helper()
	b.newChip()
	b.rec = saitest.NewRecorder(b.chip)
	b.daemon = orch.NewDaemon(orch.Orchagent, b.redis, orch.Options{Logger: slog.New(slog.NewTextHandler(logs{b}, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	b.t.Cleanup(func() { b.daemon.Close() })
	var err error
	features := orch.NewFeatures(b.daemon)
	b.fm, err = New(b.ctx, Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Features: features})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := features.Publish(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.daemon.Hold()
	b.step()
	if calls := b.rec.Lines(); len(calls) > 0 {
		b.t.Errorf("calls before there is a view: %v", calls)
	}
	b.fm.ViewApplied()
	b.daemon.Release()
	b.step()
}

func (b *bench) step() {
	b.t.Helper()
	if _, err := b.daemon.Step(b.ctx, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// pass lets time pass, with every timer at its own time.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	for end := b.now.Add(d); ; {
		next, ok := b.daemon.NextTimer()
		if !ok || next.After(end) {
			b.now = end
			return
		}
		if next.After(b.now) {
			b.now = next
		}
		b.step()
	}
}

// to lets time pass until so many seconds after the beginning of epoch 1700000000. Three
// packets come in each second: at 0.2, 0.5 and 0.8.
func (b *bench) to(seconds float64) {
	b.t.Helper()
	for end := time.Unix(1700000000, 0).Add(time.Duration(seconds * 1e9)); ; {
		next := b.now.Truncate(time.Second).Add(200 * time.Millisecond)
		for !next.After(b.now) {
			next = next.Add(300 * time.Millisecond)
			if next.Nanosecond() == 100_000_000 {
				next = next.Add(100 * time.Millisecond)
			}
		}
		if next.After(end) {
			b.pass(max(0, end.Sub(b.now)))
			return
		}
		b.pass(next.Sub(b.now))
		b.send("10.0.0.1", 1)
	}
}

// set writes a whole row as a manager does; fields are name, value, ...
func (b *bench) set(table, key string, fields ...string) {
	b.t.Helper()
	var pairs []swss.Pair
	for i := 0; i < len(fields); i += 2 {
		pairs = append(pairs, swss.Pair{Field: fields[i], Value: fields[i+1]})
	}
	p := swss.NewProducerState(b.redis.DB(swss.ApplDB), table)
	if err := p.Del(b.ctx, key); err != nil {
		b.t.Fatal(err)
	}
	if err := p.Set(b.ctx, key, pairs); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) del(table, key string) {
	b.t.Helper()
	if err := swss.NewProducerState(b.redis.DB(swss.ApplDB), table).Del(b.ctx, key); err != nil {
		b.t.Fatal(err)
	}
}

// task writes a task that counts packets by source address in 3 * 64 buckets; later
// fields win.
func (b *bench) task(name string, fields ...string) {
	all := map[string]string{"key": "src-ip", "attribute": "frequency", "memory": "192", "epoch": "1000"}
	for i := 0; i < len(fields); i += 2 {
		all[fields[i]] = fields[i+1]
	}
	var list []string
	for f, v := range all {
		list = append(list, f, v)
	}
	b.set(schema.AppTAMFlyMonTask, name, list...)
}

func (b *bench) query(name, task, flow string) {
	b.set(schema.AppTAMFlyMonQuery, name, "task", task, "flow", flow)
}

func (b *bench) row(db swss.DBName, table, key string) swss.FieldValues {
	b.t.Helper()
	row, _, err := swss.NewTable(b.redis.DB(db), table).Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

func (b *bench) wantStatus(table, key, want string) {
	b.t.Helper()
	row := b.row(swss.StateDB, table, key)
	got := strings.TrimSuffix(row[schema.StatusField(table)]+": "+row["reason"], ": ")
	if !strings.Contains(got, want) || want == "" && got != "" {
		b.t.Errorf("status of %s|%s = %q, want %q", table, key, got, want)
	}
}

func (b *bench) wantTask(name, want string) {
	b.t.Helper()
	b.wantStatus(schema.StateTAMFlyMonTask, name, want)
}

func (b *bench) wantQuery(name, want string) {
	b.t.Helper()
	b.wantStatus(schema.StateTAMFlyMonQuery, name, want)
}

// send has packets from a source come now, of 100 bytes.
func (b *bench) send(src string, n int) {
	b.t.Helper()
	now := uint64(b.now.Add(b.ahead).UnixNano())
	for range n {
		b.chip.packets++
		b.chip.groups.Run(&cmu.Packet{
			Vector: flymon.Make(netip.MustParseAddr(src), netip.MustParseAddr("10.9.9.9"), 1000, 80, 17, now),
			Ports:  true, Size: 100, Number: b.chip.packets,
		})
	}
}

// result is a task's last epoch, "number: packets flags".
func (b *bench) result(task string) string {
	b.t.Helper()
	row := b.row(swss.CountersDB, schema.CountersFlyMonResult, task)
	if len(row) == 0 {
		return ""
	}
	r, err := schema.ParseFlyMonResult(task, row)
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %v %s", r.Epoch, r.Metrics[flymon.MetricPackets].Value, r.Flags))
}

func (b *bench) wantResult(task, want string) {
	b.t.Helper()
	if got := b.result(task); got != want {
		b.t.Errorf("the last epoch of %s is %q, want %q", task, got, want)
	}
}

// answer is what a query was answered with, "epoch: estimate".
func (b *bench) answer(name string) string {
	b.t.Helper()
	row := b.row(swss.CountersDB, schema.CountersFlyMonAnswer, name)
	if len(row) == 0 {
		return ""
	}
	e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
	if err != nil {
		b.t.Fatal(err)
	}
	text := fmt.Sprintf("%s: %v", row["EPOCH"], e.Value)
	if e.Exact != nil {
		text += fmt.Sprintf(" of %v", *e.Exact)
	}
	return text
}

func (b *bench) wantAnswer(name, want string) {
	b.t.Helper()
	if got := b.answer(name); got != want {
		b.t.Errorf("the answer to %s is %q, want %q", name, got, want)
	}
}

// objects are the names of the extension objects that are there.
func (b *bench) objects() (names []string) {
	for _, x := range b.chip.objects {
		names = append(names, strings.TrimSuffix(x.name+" "+x.task, " "))
	}
	slices.Sort(names)
	return names
}
