package acl

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/swss"
)

// ports is a [Ports] that tests change at will.
type ports struct {
	ports   map[string]sai.OID
	lags    map[string]sai.OID
	lagOf   map[string]string
	changes orch.Topic[[]string]
}

func (p *ports) Port(name string) (sai.OID, string, bool) {
	oid, ok := p.ports[name]
	return oid, p.lagOf[name], ok
}

func (p *ports) LAG(name string) (sai.OID, []string, bool) {
	oid, ok := p.lags[name]
	var members []string
	for m, l := range p.lagOf {
		if l == name {
			members = append(members, m)
		}
	}
	schema.SortNames(members)
	return oid, members, ok
}

func (p *ports) Names() []string {
	var names []string
	for n := range p.ports {
		names = append(names, n)
	}
	for n := range p.lags {
		names = append(names, n)
	}
	schema.SortNames(names)
	return names
}

func (p *ports) Changes() *orch.Topic[[]string] { return &p.changes }

// sessions and hops are mirror sessions and next hops that tests change at will.
type sessions struct {
	oids    map[string]sai.OID
	changes orch.Topic[[]string]
}

func (s *sessions) Session(name string) (sai.OID, bool) { oid, ok := s.oids[name]; return oid, ok }

func (s *sessions) Changes() *orch.Topic[[]string] { return &s.changes }

type hops struct {
	oids    map[netip.Addr]sai.OID
	changes orch.Topic[struct{}]
}

func (h *hops) NextHop(_ string, addr netip.Addr) (sai.OID, bool) {
	oid, ok := h.oids[addr]
	return oid, ok
}

func (h *hops) Changes() *orch.Topic[struct{}] { return &h.changes }

// poller notes what is polled.
type poller struct {
	polled   map[sai.OID]bool
	interval time.Duration
	enabled  bool
}

func (p *poller) SetGroup(_ context.Context, _ string, interval time.Duration, enabled bool) error {
	p.interval, p.enabled = interval, enabled
	return nil
}

func (p *poller) StartPoll(_ context.Context, _, _ string, _ []string, objs ...sai.OID) error {
	for _, o := range objs {
		p.polled[o] = true
	}
	return nil
}

func (p *poller) StopPoll(_ context.Context, _ string, objs ...sai.OID) error {
	for _, o := range objs {
		if !p.polled[o] {
			return fmt.Errorf("%s was not polled", o)
		}
		delete(p.polled, o)
	}
	return nil
}

// bench is an Orch on a fake ASIC with its own Redis.
type bench struct {
	t        testing.TB
	ctx      context.Context
	redis    *swss.Redis
	fake     *saitest.Fake
	rec      *saitest.Recorder
	daemon   *orch.Daemon
	orch     *Orch
	ports    *ports
	poller   *poller
	sessions *sessions
	hops     *hops
	now      time.Time
	told     []schema.ACLRuleKey
}

// newBench makes a switch with the ports Ethernet0, 4, 8 and 12.
func newBench(t testing.TB, opts saitest.Options) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	opts.Ports = 4
	b := &bench{t: t, ctx: t.Context(), redis: r, fake: saitest.New(opts), now: time.Unix(1700000000, 0)}
	t.Cleanup(func() { r.Close() })
	b.rec = saitest.NewRecorder(b.fake)
	sw, err := b.rec.Create(b.ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	b.ports = &ports{ports: map[string]sai.OID{}, lags: map[string]sai.OID{}, lagOf: map[string]string{}}
	got, err := b.fake.Get(b.ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(sai.SwitchAttrPortList, 32)})
	if err != nil {
		t.Fatal(err)
	}
	for i, oid := range got[0].Value.(sai.OIDs) {
		b.ports.ports[fmt.Sprintf("Ethernet%d", 4*i)] = oid
	}
	b.poller = &poller{polled: map[sai.OID]bool{}}
	b.daemon = orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	t.Cleanup(func() { b.daemon.Close() })
	b.sessions, b.hops = &sessions{oids: map[string]sai.OID{}}, &hops{oids: map[netip.Addr]sai.OID{}}
	b.addHop(sw, "10.0.0.9")
	b.orch, err = New(b.ctx, Config{SAI: b.rec, Daemon: b.daemon, Redis: r, Ports: b.ports, Poller: b.poller, Switch: sw, Sessions: b.sessions, NextHops: b.hops})
	if err != nil {
		t.Fatal(err)
	}
	b.orch.Watch().Subscribe(func(_ context.Context, keys []schema.ACLRuleKey) { b.told = append(b.told, keys...) })
	b.step()
	b.rec.Reset()
	return b
}

func (b *bench) step() {
	b.t.Helper()
	if _, err := b.daemon.Step(b.ctx, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// set writes a row as a manager does; fields are name, value, ...
func (b *bench) set(table, key string, fields ...string) {
	b.t.Helper()
	if err := swss.NewProducerState(b.redis.DB(swss.ApplDB), table).Set(b.ctx, key, pairs(fields)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) del(table, key string) {
	b.t.Helper()
	if err := swss.NewProducerState(b.redis.DB(swss.ApplDB), table).Del(b.ctx, key); err != nil {
		b.t.Fatal(err)
	}
}

func pairs(fields []string) []swss.Pair {
	var p []swss.Pair
	for i := 0; i < len(fields); i += 2 {
		p = append(p, swss.Pair{Field: fields[i], Value: fields[i+1]})
	}
	return p
}

// status is "status: reason" of a row of STATE_DB, "" if there is none.
func (b *bench) status(table, key string) string {
	b.t.Helper()
	row, ok, err := swss.NewTable(b.redis.DB(swss.StateDB), table).Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	if !ok {
		return ""
	}
	return strings.TrimSuffix(row["status"]+": "+row["reason"], ": ")
}

func (b *bench) wantStatus(table, key, want string) {
	b.t.Helper()
	if got := b.status(table, key); !strings.Contains(got, want) || want == "" && got != "" {
		b.t.Errorf("status of %s|%s = %q, want %q", table, key, got, want)
	}
}

// calls returns what was recorded since the last time, reads left out, with
// objects named by type and number.
func (b *bench) calls() []string {
	lines := slices.DeleteFunc(b.rec.Lines(), func(l string) bool { return l[0] == 'g' })
	b.rec.Reset()
	return shorten(lines)
}

var long = strings.NewReplacer(
	"SAI_OBJECT_TYPE_", "", "SAI_ACL_TABLE_GROUP_MEMBER_ATTR_", "", "SAI_ACL_TABLE_GROUP_ATTR_", "", "SAI_ACL_TABLE_ATTR_", "",
	"SAI_ACL_ENTRY_ATTR_", "", "SAI_ACL_COUNTER_ATTR_", "", "SAI_ACL_RANGE_ATTR_", "", "SAI_ACL_BIND_POINT_TYPE_", "",
	"SAI_ACL_ACTION_TYPE_", "", "SAI_ACL_STAGE_", "", "SAI_ACL_RANGE_TYPE_", "", "SAI_PACKET_ACTION_", "", "SAI_STATUS_", "",
	"SAI_ACL_TABLE_GROUP_TYPE_", "", "SAI_ACL_IP_TYPE_", "")

// oidText finds object ids of saitest.Fake: type<<32 | number.
var oidText = regexp.MustCompile(`oid:0x[0-9a-f]+`)

func shorten(lines []string) []string {
	for i, l := range lines {
		l = oidText.ReplaceAllStringFunc(long.Replace(l), func(s string) string {
			oid, err := sai.ParseOID(s)
			if err != nil || oid == 0 {
				return "null"
			}
			t := long.Replace(sai.ObjectType(oid >> 32).String())
			return fmt.Sprintf("%s#%d", strings.ToLower(t), uint32(oid))
		})
		lines[i] = l
	}
	return lines
}

// content is everything in the ASIC that ACLs made, without object ids:
// references are replaced by what they refer to.
func (b *bench) content() []string {
	var text func(k sai.Key) string
	text = func(k sai.Key) string {
		var parts []string
		for _, a := range b.fake.Attrs(k) {
			v, err := sai.FormatValue(a.ID, a.Value)
			if err != nil {
				b.t.Fatal(err)
			}
			v = oidText.ReplaceAllStringFunc(v, func(s string) string {
				oid, err := sai.ParseOID(s)
				if err != nil || oid == 0 {
					return "null"
				}
				if t := sai.ObjectType(oid >> 32); t != sai.ObjectTypePort && t != sai.ObjectTypeLAG {
					return "{" + text(sai.Obj(t, oid)) + "}"
				}
				return s
			})
			parts = append(parts, long.Replace(a.ID.String())+"="+long.Replace(v))
		}
		return strings.ToLower(long.Replace(k.Type.String())) + "(" + strings.Join(parts, " ") + ")"
	}
	var list []string
	for _, k := range b.fake.Created() {
		if k.Type != sai.ObjectTypeLAG {
			list = append(list, text(k))
		}
	}
	for name, oid := range b.ports.ports {
		for _, a := range b.fake.Attrs(sai.Obj(sai.ObjectTypePort, oid)) {
			if a.ID == sai.PortAttrIngressACL || a.ID == sai.PortAttrEgressACL {
				list = append(list, fmt.Sprintf("%s %s %v", name, a.ID, a.Value != sai.NullOID))
			}
		}
	}
	slices.Sort(list)
	return list
}

// failing is an API that cannot be read.
type failing struct {
	sai.API
	status sai.Status
}

func (f failing) Get(_ context.Context, k sai.Key, _ []sai.Attr) ([]sai.Attr, error) {
	return nil, &sai.CallError{Op: "get", Type: k.Type, Status: f.status}
}
