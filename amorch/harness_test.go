package amorch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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
	"tamtam/tam/altmark"
	"tamtam/tamorch"
)

// A chip is a fake ASIC that has windows of flows: it counts what a test says.
type chip struct {
	sai.API
	windows map[sai.OID][]uint32
	most    int // flows of one window
	reads   int
	now     func() time.Time // its time of day
	steps   uint64
	started uint64
	kernel  []uint64 // what its kernel says; nil: it follows none
	flows   map[uint32]*[2]altmark.ChipCounts
	born    map[uint32]uint64 // generations
	has     map[string]uint64 // availability of extensions
	dumb    bool              // its ingress ACLs do nothing but count
}

func (c *chip) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	if name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName); ok && t == sai.ObjectTypeGenericProgrammable {
		return c.has[string(name.(sai.Bytes))], nil
	}
	return c.API.Availability(ctx, t, attrs)
}

func (c *chip) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := c.API.Create(ctx, t, attrs)
	name, _ := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
	if b, ok := name.(sai.Bytes); err != nil || !ok || string(b) != altmark.ObjectFlows {
		return oid, err
	}
	entry, _ := sai.Find(attrs, sai.GenericProgrammableAttrEntry)
	var e struct {
		Attributes []struct {
			Flows struct {
				Value []uint32 `json:"value"`
			} `json:"flows"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(entry.(sai.Bytes), &e); err != nil {
		return 0, err
	}
	c.windows[oid] = e.Attributes[0].Flows.Value
	return oid, nil
}

func (c *chip) Remove(ctx context.Context, k sai.Key) error {
	err := c.API.Remove(ctx, k)
	if err == nil && k.Type == sai.ObjectTypeGenericProgrammable {
		delete(c.windows, k.OID)
	}
	return err
}

func (c *chip) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if k.Type == sai.ObjectTypeSwitch && c.dumb && want[0].ID == sai.SwitchAttrACLStageIngress {
		return []sai.Attr{{ID: want[0].ID, Value: sai.ACLCapability{Actions: []sai.Enum{sai.ACLActionTypeCounter}}}}, nil
	}
	list, ok := c.windows[k.OID]
	if !ok || k.Type != sai.ObjectTypeGenericProgrammable {
		return c.API.Get(ctx, k, want)
	}
	c.most = max(c.most, len(list))
	c.reads++
	now := altmark.At(c.now())
	words, born := []uint64{}, []uint64{}
	for _, index := range list {
		f := c.flow(index)
		for _, n := range f {
			words = n.Words(words)
		}
		born = append(born, c.born[index])
	}
	value := func(v any) map[string]any { return map[string]any{"value": v} }
	attributes := []any{
		map[string]any{"flows": value(list)},
		map[string]any{"time": value([]uint64{now.Seconds, uint64(now.Nanoseconds), 1, c.steps, c.started})},
		map[string]any{"generations": value(born)}, map[string]any{"counters": value(words)},
	}
	if c.kernel != nil {
		attributes = append(attributes, map[string]any{"kernel": value(c.kernel)})
	}
	text, err := json.Marshal(map[string]any{"attributes": attributes})
	if err != nil {
		return nil, err
	}
	got := []sai.Attr{{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(text)}}
	if room, _ := sai.ListLen(want[0].Value); room < len(text) {
		return got, sai.StatusBufferOverflow
	}
	return got, nil
}

func (c *chip) flow(index uint32) *[2]altmark.ChipCounts {
	if c.flows[index] == nil {
		c.flows[index] = &[2]altmark.ChipCounts{}
	}
	return c.flows[index]
}

// pollers of syncd that poll nothing.
type pollers struct{}

func (pollers) SetGroup(context.Context, string, time.Duration, bool) error { return nil }
func (pollers) StartPoll(context.Context, string, string, []string, ...sai.OID) error {
	return nil
}
func (pollers) StopPoll(context.Context, string, ...sai.OID) error { return nil }

// logs passes what the daemon warns of to the test's log.
type logs struct{ b *bench }

func (l logs) Write(p []byte) (int, error) {
	l.b.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// bench is ports, ACLs and alternate marking of an orchagent on a fake ASIC.
type bench struct {
	t      testing.TB
	ctx    context.Context
	redis  *swss.Redis
	fake   *saitest.Fake
	chip   *chip
	rec    *saitest.Recorder
	daemon *orch.Daemon
	acl    *aclorch.Orch
	am     *Orch
	now    time.Time
	ahead  time.Duration // the chip's time of day is ahead of the daemon's
	opts   saitest.Options
}

// start is the middle of period 1700000000 of one second.
var start = time.Unix(1700000000, 500_000_000)

// newBench makes a switch with lanes and flows of alternate marking, none if 0,
// and with the feature active and a table of flow groups.
func newBench(t testing.TB, lanes, flows uint64, changes ...func(*bench)) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := &bench{t: t, ctx: t.Context(), redis: r, now: start, opts: saitest.Options{Ports: 1, Extensions: []string{altmark.ObjectProfile, altmark.ObjectFlows}}}
	b.chip = &chip{
		windows: map[sai.OID][]uint32{}, flows: map[uint32]*[2]altmark.ChipCounts{}, born: map[uint32]uint64{},
		now: func() time.Time { return b.now.Add(b.ahead) }, has: map[string]uint64{altmark.ObjectProfile: lanes, altmark.ObjectFlows: flows},
	}
	for _, f := range changes {
		f(b)
	}
	b.set(schema.AppTAMFeature, feature, "status", "ACTIVE")
	b.set(schema.AppPort, "Ethernet0", "lanes", "1,2,3,4", "speed", "100000", "mtu", "9100", "admin_status", "up")
	b.set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "", "POLICY_DESC", "flow groups")
	b.run()
	b.rec.Reset()
	return b
}

// run starts an orchagent with a new ASIC on what is in Redis, until the first
// view is applied.
func (b *bench) run() {
	b.t.Helper()
	b.fake = saitest.New(b.opts)
	b.chip.API = b.fake
	b.rec = saitest.NewRecorder(b.chip)
	b.daemon = orch.NewDaemon(orch.Orchagent, b.redis, orch.Options{Logger: slog.New(slog.NewTextHandler(logs{b}, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	b.t.Cleanup(func() { b.daemon.Close() })
	ports, err := portsorch.New(b.ctx, portsorch.Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Poller: pollers{}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.acl, err = aclorch.New(b.ctx, aclorch.Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Ports: ports, Poller: pollers{}, Switch: ports.Switch()})
	if err != nil {
		b.t.Fatal(err)
	}
	features := orch.NewFeatures(b.daemon)
	b.am, err = New(b.ctx, Config{Rules: b.acl, Config: tamorch.Config{
		SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Switch: ports.Switch(), Features: features,
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := features.Publish(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.step()
	if err := ports.ViewApplied(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.am.ViewApplied()
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
		b.now = next
		b.step()
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

func (b *bench) rule(name string, fields ...string) {
	b.set(schema.AppACLRule, "TAM:"+name, append([]string{"PRIORITY", "100"}, fields...)...)
}

// initiator marks steps of one second in the lowest bit of the DSCP.
func initiator() altmark.Session {
	return altmark.Session{
		Role: altmark.Initiator, Method: altmark.Step, Mark: altmark.DSCP0, SlotSync: true,
		ClockError: time.Second / 64, MaxDelay: time.Second / 8,
	}
}

func (b *bench) session(name, rule string, s altmark.Session) {
	row := schema.AltMarkFlow{Name: name, Rule: schema.ACLRuleKey{Table: "TAM", Rule: rule}, Session: s}
	var fields []string
	for f, v := range row.Fields() {
		fields = append(fields, f, v)
	}
	b.set(schema.AppTAMAltMark, name, fields...)
}

func (b *bench) row(db swss.DBName, table, key string) swss.FieldValues {
	b.t.Helper()
	row, _, err := swss.NewTable(b.redis.DB(db), table).Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

// status is "status: reason" of a row of STATE_DB, "" if there is none.
func (b *bench) status(table, key string) string {
	b.t.Helper()
	row := b.row(swss.StateDB, table, key)
	return strings.TrimSuffix(row[schema.StatusField(table)]+": "+row["reason"], ": ")
}

func (b *bench) wantSession(name, want string) {
	b.t.Helper()
	b.wantStatus(schema.StateTAMAltMark, name, want)
}

func (b *bench) wantStatus(table, key, want string) {
	b.t.Helper()
	if got := b.status(table, key); !strings.Contains(got, want) || want == "" && got != "" {
		b.t.Errorf("status of %s|%s = %q, want %q", table, key, got, want)
	}
}

// count has the chip count packets of 100 bytes for a session.
func (b *bench) count(session string, colour int, packets uint64) {
	b.t.Helper()
	f := &b.chip.flow(b.am.Sessions[session].On.index)[colour]
	f.Packets += packets
	f.Bytes += 100 * packets
}

// last is a session's last period, "number: packets flags".
func (b *bench) last(session string) string {
	b.t.Helper()
	c, err := schema.ParseAltMarkCounters(session, b.row(swss.CountersDB, schema.CountersAltMark, session))
	if err != nil {
		b.t.Fatal(err)
	}
	if !c.Has {
		return c.Engine
	}
	return fmt.Sprintf("%d: %d %s", c.Period.Number, c.Period.Packets, c.Period.Flags)
}

func (b *bench) wantLast(session, want string) {
	b.t.Helper()
	if got := strings.TrimSpace(b.last(session)); got != want {
		b.t.Errorf("the last period of %s is %q, want %q", session, got, want)
	}
}

// calls returns the changing calls since the last time, with objects named by
// type and number, but for those of tables and ports.
func (b *bench) calls() []string {
	lines := slices.DeleteFunc(b.rec.Lines(), func(l string) bool { return l[0] == 'g' })
	b.rec.Reset()
	for i, l := range lines {
		lines[i] = oidText.ReplaceAllStringFunc(long.Replace(l), func(s string) string {
			oid, err := sai.ParseOID(s)
			if err != nil || oid == 0 {
				return "null"
			}
			return fmt.Sprintf("%s#%d", strings.ToLower(long.Replace(sai.ObjectType(oid>>32).String())), uint32(oid))
		})
	}
	return slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "|ACL_TABLE") || strings.HasPrefix(l, "s|PORT") })
}

var long = strings.NewReplacer("SAI_OBJECT_TYPE_", "", "SAI_ACL_ENTRY_ATTR_", "", "SAI_ACL_COUNTER_ATTR_", "", "SAI_GENERIC_PROGRAMMABLE_ATTR_", "")

// oidText finds object ids of saitest.Fake: type<<32 | number.
var oidText = regexp.MustCompile(`oid:0x[0-9a-f]+`)

// left are the objects that sessions made and that are still there.
func (b *bench) left() []sai.Key {
	return slices.DeleteFunc(b.fake.Created(), func(k sai.Key) bool { return k.Type == sai.ObjectTypeHostif })
}
