package orchtest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A Bench has everything that an orch works with. The benches of orchs' tests embed it.
type Bench struct {
	T     testing.TB
	Ctx   context.Context
	Redis *swss.Redis
	Now   time.Time

	Options saitest.Options
	// Layer, if not nil, creates the API between the recorder and the fake ASIC.
	Layer func(sai.API) sai.API

	// These fields are set by Start.
	Fake   *saitest.Fake
	Rec    *saitest.Recorder
	Poller *Poller
	Daemon *orch.Daemon

	Logged []string           // warnings of the daemon
	Named  map[sai.OID]string // names of objects in a [Transcript], besides those by their types and order
	Noted  []string           // further lines of a [Transcript], such as "changed Ethernet0"
	Check  func()             // called after each step of a [Transcript]; nil to check nothing
}

// New returns a bench with an empty Redis, so that rows can be written before the orch starts. [Bench.Start] creates
// the ASIC, with these options, and the daemon.
func New(t testing.TB, opts saitest.Options) *Bench {
	return &Bench{
		T: t, Ctx: t.Context(), Redis: swsstest.Start(t), Now: time.Unix(1700000000, 0), Options: opts,
	}
}

// Started calls New and Start.
func Started(t testing.TB, opts saitest.Options) *Bench {
	b := New(t, opts)
	b.Start()
	return b
}

// Start creates a new ASIC without a switch, and a new daemon without tables, on the current Redis. The old ones are
// dropped.
func (b *Bench) Start() {
	b.T.Helper()
	if b.Daemon != nil {
		if err := b.Daemon.Close(); err != nil {
			b.T.Fatal(err)
		}
	}
	b.Fake = saitest.New(b.Options)
	var api sai.API = b.Fake
	if b.Layer != nil {
		api = b.Layer(api)
	}
	b.Rec = saitest.NewRecorder(api)
	b.Poller = &Poller{fake: b.Fake, polled: map[polled]bool{}, Groups: map[string]Group{}}
	warnings := slog.NewTextHandler(logs{b}, &slog.HandlerOptions{Level: slog.LevelWarn})
	daemon := orch.NewDaemon(orch.Orchagent, b.Redis, orch.Options{Logger: slog.New(warnings)})
	b.T.Cleanup(func() { daemon.Close() })
	b.Daemon = daemon
}

// A logs collects the warnings of the daemon.
type logs struct{ b *Bench }

func (l logs) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	l.b.Logged = append(l.b.Logged, text)
	l.b.T.Log(text)
	return len(p), nil
}

// CreateSwitch creates the switch, for an orch that expects one, and returns it with its ports, Ethernet0, Ethernet4,
// ...
func (b *Bench) CreateSwitch() (sw sai.OID, ports map[string]sai.OID) {
	b.T.Helper()
	attrs := []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}}
	sw, err := b.Rec.Create(b.Ctx, sai.ObjectTypeSwitch, attrs)
	if err != nil {
		b.T.Fatal(err)
	}
	ports, b.Named = map[string]sai.OID{}, map[sai.OID]string{}
	list := b.Attr(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrPortList).(sai.OIDs)
	for i, oid := range list {
		ports[portName(i)], b.Named[oid] = oid, portName(i)
	}
	return sw, ports
}

// Attr returns one attribute of an object of the ASIC.
func (b *Bench) Attr(k sai.Key, id sai.AttrID) sai.Value {
	b.T.Helper()
	got, err := b.Fake.Get(b.Ctx, k, []sai.Attr{sai.Want(id, 64)})
	if err != nil {
		b.T.Fatal(err)
	}
	return got[0].Value
}

// Step does a step.
func (b *Bench) Step() {
	b.T.Helper()
	if _, err := b.Daemon.Step(b.Ctx, b.Now); err != nil {
		b.T.Fatal(err)
	}
	if len(b.Poller.failures) > 0 {
		b.T.Fatalf("syncd would be asked wrongly: %v", b.Poller.failures)
	}
}

// Pass lets time pass, and steps the daemon at the time of each timer.
func (b *Bench) Pass(d time.Duration) {
	b.T.Helper()
	for end := b.Now.Add(d); ; {
		next, ok := b.Daemon.NextTimer()
		if !ok || next.After(end) {
			b.Now = end
			return
		}
		if next.After(b.Now) {
			b.Now = next
		}
		b.Step()
	}
}

// Set writes a whole row of APPL_DB as a manager does. fields are name, value, ... If a name is given twice, the last
// wins.
func (b *Bench) Set(table, key string, fields ...string) {
	b.T.Helper()
	row := swss.FieldValues{}
	for i := 0; i < len(fields); i += 2 {
		row[fields[i]] = fields[i+1]
	}
	b.Del(table, key) // delete the fields of the old row
	if err := swss.NewProducerState(b.Redis.DB(swss.ApplDB), table).Set(b.Ctx, key, swss.Pairs(row)); err != nil {
		b.T.Fatal(err)
	}
}

// Del deletes a row of APPL_DB as a manager does.
func (b *Bench) Del(table, key string) {
	b.T.Helper()
	if err := swss.NewProducerState(b.Redis.DB(swss.ApplDB), table).Del(b.Ctx, key); err != nil {
		b.T.Fatal(err)
	}
}

// Write applies a line: "TABLE:key field=value ..." is a Set, with the fields more added, and "-TABLE:key" is a Del.
func (b *Bench) Write(line string, more ...string) {
	b.T.Helper()
	table, key, row := parseLine(line)
	if table, gone := strings.CutPrefix(table, "-"); gone {
		b.Del(table, key)
		return
	}
	fields := slices.Clone(more)
	for name, value := range row {
		fields = append(fields, name, value)
	}
	b.Set(table, key, fields...)
}

// Row reads a row; it is empty if there is none.
func (b *Bench) Row(db swss.DBName, table, key string) swss.FieldValues {
	b.T.Helper()
	row, _, err := swss.NewTable(b.Redis.DB(db), table).Get(b.Ctx, key)
	if err != nil {
		b.T.Fatal(err)
	}
	return row
}

// Status returns "status: reason" of a row "TABLE|key" of STATE_DB, or "status" without a reason; "" if there is no
// row.
func (b *Bench) Status(row string) string {
	b.T.Helper()
	table, key, _ := strings.Cut(row, "|")
	return statusOf(table, b.Row(swss.StateDB, table, key))
}

func statusOf(table string, row swss.FieldValues) string {
	return strings.TrimSuffix(row[schema.StatusField(table)]+": "+row["reason"], ": ")
}

// WantStatus checks that the status of a row contains a text; "" checks that there is no row.
func (b *Bench) WantStatus(table, key, want string) {
	b.T.Helper()
	if got := b.Status(table + "|" + key); !strings.Contains(got, want) || want == "" && got != "" {
		b.T.Errorf("status of %s|%s = %q, want %q", table, key, got, want)
	}
}

// Statuses returns the rows of tables of STATE_DB as sorted lines "TABLE|key status: reason".
func (b *Bench) Statuses(tables ...string) []string {
	b.T.Helper()
	var list []string
	for _, table := range tables {
		rows, err := swss.NewTable(b.Redis.DB(swss.StateDB), table).Dump(b.Ctx)
		if err != nil {
			b.T.Fatal(err)
		}
		for key, row := range rows {
			list = append(list, table+"|"+key+" "+statusOf(table, row))
		}
	}
	slices.Sort(list)
	return list
}
