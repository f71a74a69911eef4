package recordorch

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	aclorch "tamtam/orchagent/acl"
	portsorch "tamtam/orchagent/ports"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/record"
	"tamtam/tamorch"
)

// pollers of syncd that poll nothing.
type pollers struct{}

func (pollers) SetGroup(context.Context, string, time.Duration, bool) error { return nil }
func (pollers) StartPoll(context.Context, string, string, []string, ...sai.OID) error {
	return nil
}
func (pollers) StopPoll(context.Context, string, ...sai.OID) error { return nil }

// world is the ways and the switch id that tests change at will.
type world struct {
	way     *Way // to anywhere; nil: none
	id      uint32
	routed  orch.Topic[struct{}]
	renamed orch.Topic[struct{}]
}

func (w *world) Way(to, source netip.Addr) (Way, error) {
	if w.way == nil {
		return Way{}, orch.Wait("route", to.String(), "no route to %s", to)
	}
	way := *w.way
	if source.IsValid() {
		way.Address = source
	}
	return way, nil
}

func (w *world) Changes() *orch.Topic[struct{}]   { return &w.routed }
func (w *world) SwitchID() (uint32, bool)         { return w.id, w.id != 0 }
func (w *world) IDChanges() *orch.Topic[struct{}] { return &w.renamed }

func (w *world) address() netip.Addr { return netip.MustParseAddr("10.0.0.1") }

// settings are those of a session that says nothing of them.
func settings() schema.RecordSettings {
	return schema.RecordSettings{PHV: record.Containers{16}, Mode: record.ModeExecution, Algorithm: record.Greedy}
}

func mac(last byte) sai.MAC { return sai.MAC{2, 0, 0, 0, 0, last} }

// bench is ports, ACLs and table recording of an orchagent on a fake ASIC.
type bench struct {
	t      testing.TB
	ctx    context.Context
	redis  *swss.Redis
	chip   *chip
	fake   *saitest.Fake
	rec    *saitest.Recorder
	daemon *orch.Daemon
	rr     *Orch
	world  *world
	now    time.Time
	opts   saitest.Options
	logged []string
}

func (b *bench) Write(p []byte) (int, error) {
	b.logged = append(b.logged, strings.TrimSpace(string(p)))
	return len(p), nil
}

// newBench makes a switch with the feature active, two ports, a way to collectors,
// and the flow groups F1, F2 and F3.
func newBench(t testing.TB, changes ...func(*bench)) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := &bench{t: t, ctx: t.Context(), redis: r, now: time.Unix(1700000000, 0)}
	b.opts = saitest.Options{Ports: 2, Extensions: []string{record.ObjectPlan, record.ObjectGraph, record.ObjectCounters}}
	b.chip = &chip{graph: graphOf(1), counters: map[string][record.CounterWords]uint64{}, objects: map[sai.OID]*extension{}}
	b.world = &world{id: 2020, way: &Way{Port: "Ethernet4", Source: mac(1), MAC: mac(2), Address: netip.MustParseAddr("10.0.0.1")}}
	for _, f := range changes {
		f(b)
	}
	b.set(schema.AppTAMFeature, feature, "status", "ACTIVE")
	for i, port := range []string{"Ethernet0", "Ethernet4"} {
		b.set(schema.AppPort, port, "lanes", fmt.Sprintf("%d,%d,%d,%d", 4*i+1, 4*i+2, 4*i+3, 4*i+4), "speed", "100000", "mtu", "9100", "admin_status", "up")
	}
	b.set(schema.AppPort, schema.PortConfigDone, "count", "2")
	b.set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "", "POLICY_DESC", "flow groups")
	for i := 1; i <= 3; i++ {
		b.rule(fmt.Sprint("F", i), "SRC_IP", fmt.Sprintf("10.%d.0.0/16", i))
	}
	b.run()
	b.rec.Reset()
	return b
}

// run starts an orchagent with a new ASIC on what is in Redis, until the first view
// is applied.
func (b *bench) run() {
	b.t.Helper()
	b.fake = saitest.New(b.opts)
	b.chip.API = b.fake
	b.chip.objects = map[sai.OID]*extension{}
	b.rec = saitest.NewRecorder(b.chip)
	b.daemon = orch.NewDaemon(orch.Orchagent, b.redis, orch.Options{Logger: slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	b.t.Cleanup(func() { b.daemon.Close() })
	ports, err := portsorch.New(b.ctx, portsorch.Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Poller: pollers{}})
	if err != nil {
		b.t.Fatal(err)
	}
	acl, err := aclorch.New(b.ctx, aclorch.Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Ports: ports, Poller: pollers{}, Switch: ports.Switch()})
	if err != nil {
		b.t.Fatal(err)
	}
	features := orch.NewFeatures(b.daemon)
	b.rr, err = New(b.ctx, Config{
		Config: tamorch.Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Features: features},
		Rules:  acl, Ports: ports, Routes: b.world, Identity: b.world,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := features.Publish(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.rr.plan = planAll
	b.step()
	if got := b.objects(); len(got) > 0 {
		b.t.Errorf("objects before there is a view: %v", got)
	}
	if err := ports.ViewApplied(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.rr.ViewApplied()
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

// planAll is a planner that records all tables that there are bits for, hits too where they are
// asked for. Its entropy is how many paths it was given.
func planAll(_ context.Context, g *record.Graph, paths []record.PathCount, s schema.RecordSettings) (*record.Plan, error) {
	plan := &record.Plan{Pipeline: g.Pipeline, PHV: s.PHV.String(), Mode: s.Mode, Graph: g, Entropy: float64(len(paths))}
	bit := 0
	for _, n := range g.Nodes {
		r := record.Recorded{Table: n.ID, Stage: n.Stage, Bits: 1, Ran: new(int)}
		if s.Mode == record.ModeHit {
			r.Hit, r.Bits = new(int), 2
			*r.Hit = bit + 1
		}
		if bit+r.Bits > int(s.PHV[0]) {
			break
		}
		*r.Ran = bit
		bit += r.Bits
		plan.Recorded = append(plan.Recorded, r)
	}
	for _, id := range s.MustRecord {
		if !slices.ContainsFunc(g.Nodes, func(n record.Node) bool { return n.ID == id }) {
			return nil, fmt.Errorf("must-record: %q is no table", id)
		}
	}
	plan.Seal()
	return plan, nil
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

func (b *bench) rule(name string, fields ...string) {
	b.set(schema.AppACLRule, "TAM:"+name, append([]string{"PRIORITY", "100"}, fields...)...)
}

// session writes a session of a flow group with one container of 8 bits; later fields
// win.
func (b *bench) session(name, group string, fields ...string) {
	all := map[string]string{"acl-table-name": "TAM", "acl-rule-name": group, "collector": "10.9.0.1:4739", "phv": "8"}
	for i := 0; i < len(fields); i += 2 {
		all[fields[i]] = fields[i+1]
	}
	var list []string
	for f, v := range all {
		list = append(list, f, v)
	}
	b.set(schema.AppTAMTableRecord, name, list...)
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

func (b *bench) want(session, status string) {
	b.t.Helper()
	b.wantStatus(schema.StateTAMTableRecord, session, status)
}

// objects are what is in the ASIC of recording: plans with their sessions and tables,
// mirror sessions with their labels, ACL entries that mirror, and windows.
func (b *bench) objects() (list []string) {
	for _, k := range b.fake.Created() {
		switch x := b.chip.objects[k.OID]; {
		case x != nil && x.name == record.ObjectPlan:
			list = append(list, planText(x.plan))
		case x != nil:
			list = append(list, "window")
		case k.Type == sai.ObjectTypeMirrorSession:
			list = append(list, "mirror "+string(b.attr(k, sai.MirrorSessionAttrLabel).(sai.Text)))
		case k.Type == sai.ObjectTypeACLEntry:
			list = append(list, "entry")
		}
	}
	slices.Sort(list)
	return list
}

// planText is a plan without where its bits are: "plan s1,s2: a.ran b.hit".
func planText(p record.ChipPlan) string {
	var labels, marks []string
	for _, s := range p.Sessions {
		labels = append(labels, s.Label)
	}
	for _, m := range p.Marks {
		marks = append(marks, m.Table+"."+m.When)
	}
	slices.Sort(marks)
	return fmt.Sprintf("plan %s: %s", strings.Join(labels, ","), strings.Join(marks, " "))
}

func (b *bench) attr(k sai.Key, id sai.AttrID) sai.Value {
	b.t.Helper()
	got, err := b.fake.Get(b.ctx, k, []sai.Attr{sai.Want(id, 64)})
	if err != nil {
		b.t.Fatal(err)
	}
	return got[0].Value
}

func (b *bench) wantObjects(want ...string) {
	b.t.Helper()
	slices.Sort(want)
	if got := b.objects(); !slices.Equal(got, want) {
		b.t.Errorf("the ASIC has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// calls returns the changing calls since the last time but for windows, with objects
// named by type and number.
func (b *bench) calls() []string {
	lines := slices.DeleteFunc(b.rec.Lines(), func(l string) bool { return l[0] == 'g' })
	b.rec.Reset()
	windows := map[string]bool{}
	for i, l := range lines {
		lines[i] = oidText.ReplaceAllStringFunc(long.Replace(l), func(s string) string {
			oid, err := sai.ParseOID(s)
			if err != nil || oid == 0 {
				return "null"
			}
			return fmt.Sprintf("%s#%d", strings.ToLower(long.Replace(sai.ObjectType(oid>>32).String())), uint32(oid))
		})
		if object, rest, _ := strings.Cut(lines[i][2:], "|OBJECT_NAME="); rest != "" && !strings.HasPrefix(rest, byteText(record.ObjectPlan)) {
			windows[object] = true
		}
	}
	return slices.DeleteFunc(lines, func(l string) bool {
		object, _, _ := strings.Cut(l[2:], "|ENTRY")
		object, _, _ = strings.Cut(object, "|OBJECT_NAME")
		return windows[object]
	})
}

// byteText is how SAI's text has a name.
func byteText(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", len(name))
	for i, c := range []byte(name) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, c)
	}
	return b.String()
}

var long = strings.NewReplacer("SAI_OBJECT_TYPE_", "", "SAI_ACL_ENTRY_ATTR_", "", "SAI_ACL_COUNTER_ATTR_", "", "SAI_GENERIC_PROGRAMMABLE_ATTR_", "",
	"SAI_MIRROR_SESSION_ATTR_", "", "SAI_MIRROR_SESSION_TYPE_", "", "SAI_ERSPAN_ENCAPSULATION_TYPE_", "")

// oidText finds object ids of saitest.Fake: type<<32 | number.
var oidText = regexp.MustCompile(`oid:0x[0-9a-f]+`)
