package copp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
)

type bench struct {
	*orchtest.Bench
	orch *Orch
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 1})}
	b.CreateSwitch()
	b.orch = New(Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis})
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Rec.Reset()
	return b
}

// do takes lines "group field=value ..." and "-group".
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		if name, gone := strings.CutPrefix(line, "-"); gone {
			b.Del(schema.AppCOPP, name)
		} else {
			b.Write(schema.AppCOPP + ":" + line)
		}
	}
	b.Step()
}

func (b *bench) status(group string) string { return b.Status(schema.AppCOPP + "|" + group) }

// asic is what is in the ASIC, groups by their queues.
func (b *bench) asic() []string {
	queue := map[sai.OID]sai.Value{}
	var list []string
	for _, k := range b.Fake.Created() {
		attrs := b.Fake.Attrs(k)
		if q, ok := sai.Find(attrs, sai.HostifTrapGroupAttrQueue); ok {
			queue[k.OID] = q
			list = append(list, fmt.Sprint("group of queue ", q))
		}
	}
	for _, k := range b.Fake.Created() {
		attrs := b.Fake.Attrs(k)
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
	b.Rec.Reset()
	b.do("g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp,bgpv6", "g2 trap_action=copy trap_priority=3 queue=2 trap_ids=arp_req,lacp,neigh_discovery")
	if n := len(b.Fake.Created()); n != 7 {
		t.Errorf("%d objects: %s", n, b.Rec.Text())
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
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do(rows...)
		b.do("g2 trap_action=drop trap_priority=9 queue=7 trap_ids=arp_req,lacp", "g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp")
		if b.Rec.Changes() < n {
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
