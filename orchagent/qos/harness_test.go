package qos

import (
	"context"
	"fmt"
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
	changes orch.Topic[[]string]
}

func (p *ports) Port(name string) (sai.OID, string, bool) {
	oid, ok := p.ports[name]
	return oid, "", ok
}

func (p *ports) Names() []string {
	var names []string
	for n := range p.ports {
		names = append(names, n)
	}
	schema.SortNames(names)
	return names
}

func (p *ports) Changes() *orch.Topic[[]string] { return &p.changes }

// poller notes what is polled, by group.
type poller struct {
	polled map[string]map[sai.OID]bool
	groups map[string]string
}

func (p *poller) SetGroup(_ context.Context, group string, interval time.Duration, enabled bool) error {
	p.groups[group] = fmt.Sprint(interval, " ", enabled)
	return nil
}

func (p *poller) StartPoll(_ context.Context, group, _ string, _ []string, objs ...sai.OID) error {
	if p.polled[group] == nil {
		p.polled[group] = map[sai.OID]bool{}
	}
	for _, o := range objs {
		p.polled[group][o] = true
	}
	return nil
}

func (p *poller) StopPoll(_ context.Context, group string, objs ...sai.OID) error {
	for _, o := range objs {
		delete(p.polled[group], o)
	}
	return nil
}

// bench is an Orch on a fake ASIC with two ports of eight queues.
type bench struct {
	t      testing.TB
	ctx    context.Context
	redis  *swss.Redis
	fake   *saitest.Fake
	rec    *saitest.Recorder
	all    map[string]sai.OID // ports that there can be
	ports  *ports
	poller *poller
	daemon *orch.Daemon
	orch   *Orch
}

func newBench(t testing.TB) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, ctx: t.Context(), redis: r, fake: saitest.New(saitest.Options{Ports: 2, Queues: 8}),
		all:    map[string]sai.OID{},
		ports:  &ports{ports: map[string]sai.OID{}},
		poller: &poller{polled: map[string]map[sai.OID]bool{}, groups: map[string]string{}},
	}
	t.Cleanup(func() { r.Close() })
	b.rec = saitest.NewRecorder(b.fake)
	sw, err := b.rec.Create(b.ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.fake.Get(b.ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(sai.SwitchAttrPortList, 32)})
	if err != nil {
		t.Fatal(err)
	}
	for i, oid := range got[0].Value.(sai.OIDs) {
		name := fmt.Sprintf("Ethernet%d", 4*i)
		b.all[name] = oid
		b.ports.ports[name] = oid
	}
	b.daemon = orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	t.Cleanup(func() { b.daemon.Close() })
	b.orch, err = New(b.ctx, Config{SAI: b.rec, Daemon: b.daemon, Redis: r, Ports: b.ports, Poller: b.poller})
	if err != nil {
		t.Fatal(err)
	}
	b.ports.changes.Publish(b.ctx, b.ports.Names())
	if err := b.orch.ViewApplied(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.rec.Reset()
	return b
}

func (b *bench) step() {
	b.t.Helper()
	if _, err := b.daemon.Step(b.ctx, time.Unix(1700000000, 0)); err != nil {
		b.t.Fatal(err)
	}
}

// do takes lines: "TABLE:key field=value ..." is a row of APPL_DB, "-TABLE:key"
// its end, "port+ name" and "port- name" a port that comes or goes.
func (b *bench) do(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "port+", "port-":
			delete(b.ports.ports, rest)
			if word == "port+" {
				b.ports.ports[rest] = b.all[rest]
			}
			b.ports.changes.Publish(b.ctx, []string{rest})
			continue
		}
		table, key, _ := strings.Cut(strings.TrimPrefix(word, "-"), ":")
		p := swss.NewProducerState(b.redis.DB(swss.ApplDB), table)
		// The row as it now is, without fields of the former one.
		err := p.Del(b.ctx, key)
		if !strings.HasPrefix(word, "-") {
			var fields []swss.Pair
			for _, f := range strings.Fields(rest) {
				name, value, _ := strings.Cut(f, "=")
				fields = append(fields, swss.Pair{Field: name, Value: value})
			}
			err = p.Set(b.ctx, key, fields)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	b.step()
}

// status is "status: reason" of a row of STATE_DB, "" if there is none.
func (b *bench) status(row string) string {
	b.t.Helper()
	table, key, _ := strings.Cut(row, "|")
	f, ok, err := swss.NewTable(b.redis.DB(swss.StateDB), table).Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	if !ok {
		return ""
	}
	return strings.TrimSuffix(f["status"]+": "+f["reason"], ": ")
}

// statuses are those of all rows that there are.
func (b *bench) statuses() []string {
	var list []string
	for k := range b.orch.ledger.Rows {
		list = append(list, k.Table+"|"+schema.ConfigKey(k.Key)+" "+b.status(k.Table+"|"+schema.ConfigKey(k.Key)))
	}
	slices.Sort(list)
	return list
}

// asic is what is in the ASIC, in words that no object id is in.
func (b *bench) asic() []string {
	var list []string
	names := map[sai.OID]string{}
	for k, obj := range b.orch.objects {
		names[obj.key.OID] = k.Table + ":" + k.Key
	}
	for _, k := range b.fake.Created() {
		line := k.Type.String()
		for _, a := range b.fake.Attrs(k) {
			if oid, ok := a.Value.(sai.OID); ok {
				line += " " + a.ID.String() + "=" + names[oid]
				continue
			}
			text, err := sai.FormatValue(a.ID, a.Value)
			if err != nil {
				b.t.Fatal(err)
			}
			line += " " + a.ID.String() + "=" + text
		}
		list = append(list, line)
	}
	uses := []sai.AttrID{
		sai.PortAttrQoSDSCPToTCMap, sai.PortAttrQoSDot1pToTCMap, sai.PortAttrQoSTCToQueueMap,
		sai.QueueAttrSchedulerProfileID, sai.QueueAttrWREDProfileID, sai.QueueAttrBufferProfileID,
	}
	for name, oid := range b.all {
		got, err := b.fake.Get(b.ctx, sai.Obj(sai.ObjectTypePort, oid), []sai.Attr{sai.Want(sai.PortAttrQoSQueueList, 8)})
		if err != nil {
			b.t.Fatal(err)
		}
		keys := map[string]sai.Key{name: sai.Obj(sai.ObjectTypePort, oid)}
		for i, q := range got[0].Value.(sai.OIDs) {
			keys[fmt.Sprint(name, ":", i)] = sai.Obj(sai.ObjectTypeQueue, q)
		}
		for what, k := range keys {
			for _, id := range uses {
				if id.ObjectType() != k.Type {
					continue
				}
				got, err := b.fake.Get(b.ctx, k, []sai.Attr{sai.Want(id, 0)})
				if err != nil {
					b.t.Fatal(err)
				}
				if to := got[0].Value.(sai.OID); to != sai.NullOID {
					list = append(list, fmt.Sprint(what, " ", id, "=", names[to]))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
