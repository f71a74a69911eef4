package tsorch

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
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
	"tamtam/tamorch"
)

// poller fails the test if syncd would be asked to read what does not exist.
type poller struct {
	fake   *saitest.Fake
	polled map[sai.OID]bool
	wrong  []string
}

func (p *poller) SetGroup(context.Context, string, time.Duration, bool) error { return nil }

func (p *poller) StartPoll(_ context.Context, _, _ string, _ []string, objs ...sai.OID) error {
	for _, o := range objs {
		if p.fake.Attrs(sai.Obj(sai.ObjectType(o>>32), o)) == nil || p.polled[o] {
			p.wrong = append(p.wrong, "start "+o.String())
		}
		p.polled[o] = true
	}
	return nil
}

func (p *poller) StopPoll(_ context.Context, _ string, objs ...sai.OID) error {
	for _, o := range objs {
		if p.fake.Attrs(sai.Obj(sai.ObjectType(o>>32), o)) == nil || !p.polled[o] {
			p.wrong = append(p.wrong, "stop "+o.String())
		}
		delete(p.polled, o)
	}
	return nil
}

// logs passes what the daemon warns of to the test's log.
type logs struct{ b *bench }

func (l logs) Write(p []byte) (int, error) {
	l.b.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// bench is a whole orchagent on a fake ASIC: ports, ACLs and tail-stamping.
type bench struct {
	t      testing.TB
	ctx    context.Context
	redis  *swss.Redis
	opts   saitest.Options
	layer  func(sai.API) sai.API
	fake   *saitest.Fake
	rec    *saitest.Recorder
	poller *poller
	daemon *orch.Daemon
	ports  *portsorch.Orch
	acl    *aclorch.Orch
	ts     *Orch
	now    time.Time
}

// newBench makes a switch of four ports with the switch id 7.
func newBench(t testing.TB, opts saitest.Options) *bench { return newBenchOn(t, opts, nil) }

// newBenchOn puts a layer between the recorder and the fake.
func newBenchOn(t testing.TB, opts saitest.Options, layer func(sai.API) sai.API) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	opts.Ports = 4
	b := &bench{t: t, ctx: t.Context(), redis: r, opts: opts, layer: layer, now: time.Unix(1700000000, 0)}
	b.start()
	b.set(schema.AppTAMSwitch, schema.TAMGlobalKey, "op-switch-id", "7", "op-enterprise-id", "7")
	for i := range 4 {
		b.port(4*i, fmt.Sprintf("%d,%d,%d,%d", 4*i+1, 4*i+2, 4*i+3, 4*i+4))
	}
	b.set(schema.AppPort, schema.PortConfigDone, "count", "4")
	b.viewApplied()
	b.rec.Reset()
	return b
}

// start makes a new orchagent with a new ASIC on the same Redis.
func (b *bench) start() {
	b.t.Helper()
	b.fake = saitest.New(b.opts)
	var api sai.API = b.fake
	if b.layer != nil {
		api = b.layer(api)
	}
	b.rec = saitest.NewRecorder(api)
	b.poller = &poller{fake: b.fake, polled: map[sai.OID]bool{}}
	b.daemon = orch.NewDaemon(orch.Orchagent, b.redis, orch.Options{Logger: slog.New(slog.NewTextHandler(logs{b}, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	b.t.Cleanup(func() { b.daemon.Close() })
	var watch orch.Poller = b.poller
	if b.layer != nil {
		watch = lax{}
	}
	var err error
	b.ports, err = portsorch.New(b.ctx, portsorch.Config{SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Poller: watch})
	if err != nil {
		b.t.Fatal(err)
	}
	b.acl, err = aclorch.New(b.ctx, aclorch.Config{
		SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Ports: b.ports, Poller: watch, Switch: b.ports.Switch(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	features := orch.NewFeatures(b.daemon)
	b.ts, err = New(b.ctx, Config{Rules: b.acl, Config: tamorch.Config{
		SAI: b.rec, Daemon: b.daemon, Redis: b.redis, Switch: b.ports.Switch(), Features: features,
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := features.Publish(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// restart ends the orchagent and starts another.
func (b *bench) restart() {
	b.t.Helper()
	if err := b.daemon.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.start()
	b.viewApplied()
}

// viewApplied ends the start: what is in APPL_DB by now is the first view.
func (b *bench) viewApplied() {
	b.t.Helper()
	b.step()
	if err := b.ports.ViewApplied(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.step()
}

func (b *bench) step() {
	b.t.Helper()
	if _, err := b.daemon.Step(b.ctx, b.now); err != nil {
		b.t.Fatal(err)
	}
	if len(b.poller.wrong) > 0 {
		b.t.Fatalf("polled wrongly: %v", b.poller.wrong)
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

func (b *bench) port(n int, lanes string) {
	b.set(schema.AppPort, fmt.Sprintf("Ethernet%d", n), "lanes", lanes, "speed", "100000", "mtu", "9100", "admin_status", "up")
}

func (b *bench) activate() { b.set(schema.AppTAMFeature, feature, "status", "ACTIVE") }

func (b *bench) tamTable() {
	b.set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "", "POLICY_DESC", "flow groups")
}

func (b *bench) rule(name string, fields ...string) {
	b.set(schema.AppACLRule, "TAM:"+name, append([]string{"PRIORITY", "100"}, fields...)...)
}

func (b *bench) session(name, rule string) {
	b.set(schema.AppTAMTailStamp, name, "acl-table-name", "TAM", "acl-rule-name", rule)
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
	if len(row) == 0 {
		return ""
	}
	return strings.TrimSuffix(row[schema.StatusField(table)]+": "+row["reason"], ": ")
}

func (b *bench) wantSession(name, want string) {
	b.t.Helper()
	b.wantStatus(schema.StateTAMTailStamp, name, want)
}

func (b *bench) wantStatus(table, key, want string) {
	b.t.Helper()
	if got := b.status(table, key); !strings.Contains(got, want) || want == "" && got != "" {
		b.t.Errorf("status of %s|%s = %q, want %q", table, key, got, want)
	}
}

// calls returns the changing calls since the last time, with objects named by
// type and number.
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
	return lines
}

func (b *bench) wantCalls(want ...string) {
	b.t.Helper()
	got := b.calls()
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			b.t.Errorf("call %d\n got %s\nwant %s", i+1, g, w)
		}
	}
}

var long = strings.NewReplacer(
	"SAI_OBJECT_TYPE_", "", "SAI_ACL_TABLE_GROUP_MEMBER_ATTR_", "", "SAI_ACL_TABLE_GROUP_ATTR_", "", "SAI_ACL_TABLE_ATTR_", "",
	"SAI_ACL_ENTRY_ATTR_", "", "SAI_ACL_COUNTER_ATTR_", "", "SAI_ACL_RANGE_ATTR_", "", "SAI_ACL_BIND_POINT_TYPE_", "",
	"SAI_ACL_ACTION_TYPE_", "", "SAI_ACL_STAGE_", "", "SAI_ACL_RANGE_TYPE_", "", "SAI_PACKET_ACTION_", "", "SAI_STATUS_", "",
	"SAI_ACL_TABLE_GROUP_TYPE_", "", "SAI_ACL_IP_TYPE_", "", "SAI_TAM_INT_ATTR_", "", "SAI_TAM_INT_TYPE_", "", "SAI_TAM_INT_PRESENCE_TYPE_", "",
	"SAI_PORT_ATTR_", "", "SAI_LAG_ATTR_", "", "SAI_LAG_MEMBER_ATTR_", "", "SAI_HOSTIF_ATTR_", "", "SAI_VLAN_MEMBER_ATTR_", "")

// oidText finds object ids of saitest.Fake: type<<32 | number.
var oidText = regexp.MustCompile(`oid:0x[0-9a-f]+`)

// content is everything that was made in the ASIC, without object ids:
// references are replaced by what they refer to.
func (b *bench) content() []string {
	memo := map[sai.Key]string{}
	var text func(k sai.Key) string
	text = func(k sai.Key) string {
		if s, ok := memo[k]; ok {
			return s
		}
		memo[k] = "(cycle)"
		var parts []string
		for _, a := range b.fake.Attrs(k) {
			if m := sai.Meta(a.ID); m.Has(sai.ReadOnly) || reflect.DeepEqual(a.Value, m.Default) {
				continue
			}
			v, err := sai.FormatValue(a.ID, a.Value)
			if err != nil {
				b.t.Fatal(err)
			}
			if strings.HasSuffix(a.ID.String(), "_ACL") {
				continue // the group of a port; its members say which tables there are
			}
			v = oidText.ReplaceAllStringFunc(v, func(s string) string {
				oid, err := sai.ParseOID(s)
				if err != nil || oid == 0 {
					return "null"
				}
				return "{" + text(sai.Obj(sai.ObjectType(oid>>32), oid)) + "}"
			})
			parts = append(parts, long.Replace(a.ID.String())+"="+long.Replace(v))
		}
		memo[k] = strings.ToLower(long.Replace(k.Type.String())) + "(" + strings.Join(parts, " ") + ")"
		return memo[k]
	}
	var list []string
	for _, k := range b.fake.Keys() {
		list = append(list, text(k))
		for _, a := range b.fake.Attrs(k) {
			if strings.HasSuffix(a.ID.String(), "GRESS_ACL") && a.Value != sai.NullOID {
				list = append(list, memo[k]+" "+a.ID.String()+" "+text(sai.Obj(sai.ObjectTypeACLTableGroup, a.Value.(sai.OID))))
			}
		}
	}
	slices.Sort(list)
	return list
}

// statuses is what STATE_DB says of all rows.
func (b *bench) statuses() []string {
	b.t.Helper()
	var list []string
	for _, table := range []string{
		schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateVLAN, schema.StateVLANMember, schema.StateACLTableType,
		schema.StateACLTable, schema.StateACLRule, schema.StateTAMFeature, schema.StateTAMTailStamp,
	} {
		rows, err := swss.NewTable(b.redis.DB(swss.StateDB), table).Dump(b.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		for key, row := range rows {
			list = append(list, fmt.Sprintf("%s|%s %s: %s", table, key, row[schema.StatusField(table)], row["reason"]))
		}
	}
	slices.Sort(list)
	return list
}

// counterNames are the names that have ACL counters.
func (b *bench) counterNames() []string {
	b.t.Helper()
	var names []string
	for name := range b.row(swss.CountersDB, schema.CountersACLRuleMap, "") {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
