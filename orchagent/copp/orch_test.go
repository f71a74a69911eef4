package copp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/swss"
)

type bench struct {
	t      *testing.T
	ctx    context.Context
	redis  *swss.Redis
	fake   *saitest.Fake
	rec    *saitest.Recorder
	daemon *orch.Daemon
	orch   *Orch
}

func newBench(t *testing.T) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := &bench{t: t, ctx: t.Context(), redis: r, fake: saitest.New(saitest.Options{Ports: 1})}
	b.rec = saitest.NewRecorder(b.fake)
	if _, err := b.rec.Create(b.ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}}); err != nil {
		t.Fatal(err)
	}
	b.daemon = orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	t.Cleanup(func() { b.daemon.Close() })
	b.orch = New(Config{SAI: b.rec, Daemon: b.daemon, Redis: r})
	if err := b.orch.ViewApplied(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.rec.Reset()
	return b
}

// do takes lines "group field=value ..." and "-group".
func (b *bench) do(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		name, gone := strings.CutPrefix(word, "-")
		p := swss.NewProducerState(b.redis.DB(swss.ApplDB), schema.AppCOPP)
		err := p.Del(b.ctx, name)
		if !gone {
			var fields []swss.Pair
			for _, f := range strings.Fields(rest) {
				field, value, _ := strings.Cut(f, "=")
				fields = append(fields, swss.Pair{Field: field, Value: value})
			}
			err = p.Set(b.ctx, name, fields)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if _, err := b.daemon.Step(b.ctx, time.Unix(1700000000, 0)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) status(group string) string {
	b.t.Helper()
	f, _, err := swss.NewTable(b.redis.DB(swss.StateDB), schema.AppCOPP).Get(b.ctx, group)
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSuffix(f["status"]+": "+f["reason"], ": ")
}

// asic is what is in the ASIC, groups by their queues.
func (b *bench) asic() []string {
	queue := map[sai.OID]sai.Value{}
	var list []string
	for _, k := range b.fake.Created() {
		attrs := b.fake.Attrs(k)
		if q, ok := sai.Find(attrs, sai.HostifTrapGroupAttrQueue); ok {
			queue[k.OID] = q
			list = append(list, fmt.Sprint("group of queue ", q))
		}
	}
	for _, k := range b.fake.Created() {
		attrs := b.fake.Attrs(k)
		typ, ok := sai.Find(attrs, sai.HostifTrapAttrTrapType)
		if !ok {
			continue
		}
		action, _ := sai.Find(attrs, sai.HostifTrapAttrPacketAction)
		prio, _ := sai.Find(attrs, sai.HostifTrapAttrTrapPriority)
		group, _ := sai.Find(attrs, sai.HostifTrapAttrTrapGroup)
		list = append(list, fmt.Sprint(sai.EnumName(sai.HostifTrapAttrTrapType, typ.(sai.Enum)), " ",
			sai.EnumName(sai.HostifTrapAttrPacketAction, action.(sai.Enum)), " ", prio, " queue ", queue[group.(sai.OID)]))
	}
	slices.Sort(list)
	return list
}

var rows = []string{
	"g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp,bgpv6,lacp", "g2 trap_action=copy trap_priority=3 queue=2 trap_ids=arp_req,neigh_discovery ignored=cir",
}

var want = []string{
	"SAI_HOSTIF_TRAP_TYPE_ARP_REQUEST SAI_PACKET_ACTION_COPY 3 queue 2", "SAI_HOSTIF_TRAP_TYPE_BGP SAI_PACKET_ACTION_TRAP 4 queue 4",
	"SAI_HOSTIF_TRAP_TYPE_BGPV6 SAI_PACKET_ACTION_TRAP 4 queue 4", "SAI_HOSTIF_TRAP_TYPE_IPV6_NEIGHBOR_DISCOVERY SAI_PACKET_ACTION_COPY 3 queue 2",
	"SAI_HOSTIF_TRAP_TYPE_LACP SAI_PACKET_ACTION_TRAP 4 queue 4", "group of queue 2", "group of queue 4",
}

func TestTraps(t *testing.T) {
	b := newBench(t)
	b.do(rows...)
	if d := cmp.Diff(want, b.asic()); d != "" {
		t.Error(d)
	}
	if b.status("g1") != "active" || b.status("g2") != "active: ignored: cir" {
		t.Errorf("g1 %s, g2 %s", b.status("g1"), b.status("g2"))
	}
	// A trap moves to another group in place.
	b.rec.Reset()
	b.do("g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp,bgpv6", "g2 trap_action=copy trap_priority=3 queue=2 trap_ids=arp_req,lacp,neigh_discovery")
	if n := len(b.fake.Created()); n != 7 {
		t.Errorf("%d objects: %s", n, b.rec.Text())
	}
	b.do("-g1", "-g2")
	if got := b.asic(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// Every trap that rows can name is one of SAI's.
func TestTrapNames(t *testing.T) {
	for _, name := range schema.COPPTraps() {
		if _, ok := trapType(name); !ok {
			t.Errorf("%s is no trap of SAI", name)
		}
	}
}

// Whichever SAI call fails, nothing is left over, and everything comes when the
// rows are written again.
func TestEveryCallFails(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.rec.FailAt(n, sai.StatusFailure)
		b.do(rows...)
		b.do("g2 trap_action=drop trap_priority=9 queue=7 trap_ids=arp_req,lacp", "g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp")
		if b.rec.Changes() < n {
			break
		}
		b.do(rows...)
		if d := cmp.Diff(want, b.asic()); d != "" {
			t.Fatalf("call %d: %s", n, d)
		}
		b.do("-g1", "-g2")
		if got := b.asic(); len(got) > 0 {
			t.Fatalf("call %d left %v", n, got)
		}
	}
}
