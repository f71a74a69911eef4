package copp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

type bench struct {
	*orchtest.Bench
	orch *Orch
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 1})}
	sw, _ := b.CreateSwitch()
	var err error
	b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Switch: sw, Poller: b.Poller})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Rec.Reset()
	return b
}

// do applies lines: "group field=value ..." sets a row, "-group" deletes it.
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

// asic returns the state of the ASIC: groups with their queues and policers, and traps with the queues and policers of
// their groups.
func (b *bench) asic() []string {
	policer, group := map[sai.OID]string{}, map[sai.OID]string{}
	var list []string
	keys := append(b.Fake.Created(), sai.Obj(sai.ObjectTypeHostifTrapGroup, b.orch.own))
	get := func(k sai.Key, id sai.AttrID) string {
		if v, ok := sai.Find(b.Fake.Attrs(k), id); ok {
			s, _ := sai.FormatValue(id, v)
			return s
		}
		return "-"
	}
	for _, k := range keys {
		if k.Type == sai.ObjectTypePolicer {
			var words []string
			for _, a := range b.Fake.Attrs(k) {
				_, name, _ := strings.Cut(a.ID.String(), "_ATTR_")
				v, _ := sai.FormatValue(a.ID, a.Value)
				words = append(words, name+"="+strings.TrimPrefix(strings.TrimPrefix(v, "SAI_PACKET_ACTION_"), "SAI_POLICER_"))
			}
			slices.Sort(words)
			policer[k.OID] = strings.Join(words, " ")
			list = append(list, "policer "+policer[k.OID])
		}
	}
	for _, k := range keys {
		if k.Type != sai.ObjectTypeHostifTrapGroup {
			continue
		}
		q, name := get(k, sai.HostifTrapGroupAttrQueue), "group"
		if k.OID == b.orch.own {
			name = "default"
		}
		p, _ := sai.Find(b.Fake.Attrs(k), sai.HostifTrapGroupAttrPolicer)
		oid, _ := p.(sai.OID)
		group[k.OID] = strings.TrimSuffix(fmt.Sprint(name, " of queue ", q, " policed ", policer[oid]), " policed ")
		if name == "group" || q != "-" && q != "0" || oid != sai.NullOID {
			list = append(list, group[k.OID])
		}
	}
	for _, k := range keys {
		if k.Type == sai.ObjectTypeHostifTrap {
			oid, _ := sai.Find(b.Fake.Attrs(k), sai.HostifTrapAttrTrapGroup)
			in, _, _ := strings.Cut(group[oid.(sai.OID)], " policed ")
			list = append(list, fmt.Sprint(get(k, sai.HostifTrapAttrTrapType), " ", get(k, sai.HostifTrapAttrPacketAction), " ",
				get(k, sai.HostifTrapAttrTrapPriority), " in ", in))
		}
	}
	slices.Sort(list)
	return list
}

const (
	policed = " meter_type=packets mode=sr_tcm cir=600 cbs=700 red_action=drop"
	policer = "CBS=700 CIR=600 METER_TYPE=SAI_METER_TYPE_PACKETS MODE=MODE_SR_TCM RED_PACKET_ACTION=DROP"
)

var rows = []string{
	"g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp,bgpv6,lacp" + policed,
	"g2 trap_action=copy trap_priority=3 queue=2 trap_ids=arp_req,neigh_discovery",
	"default queue=1 meter_type=bytes mode=tr_tcm color=blind cir=1 cbs=2 pir=3 pbs=4 green_action=forward " +
		"yellow_action=drop red_action=drop",
}

var want = []string{
	"SAI_HOSTIF_TRAP_TYPE_ARP_REQUEST SAI_PACKET_ACTION_COPY 3 in group of queue 2",
	"SAI_HOSTIF_TRAP_TYPE_BGP SAI_PACKET_ACTION_TRAP 4 in group of queue 4",
	"SAI_HOSTIF_TRAP_TYPE_BGPV6 SAI_PACKET_ACTION_TRAP 4 in group of queue 4",
	"SAI_HOSTIF_TRAP_TYPE_IPV6_NEIGHBOR_DISCOVERY SAI_PACKET_ACTION_COPY 3 in group of queue 2",
	"SAI_HOSTIF_TRAP_TYPE_LACP SAI_PACKET_ACTION_TRAP 4 in group of queue 4",
	"default of queue 1 policed " + twoRates, "group of queue 2", "group of queue 4 policed " + policer,
	"policer " + twoRates, "policer " + policer,
}

const twoRates = "CBS=2 CIR=1 COLOR_SOURCE=COLOR_SOURCE_BLIND METER_TYPE=SAI_METER_TYPE_BYTES MODE=MODE_TR_TCM PBS=4 " +
	"PIR=3 " +
	"RED_PACKET_ACTION=DROP YELLOW_PACKET_ACTION=DROP"

// A value that the ASIC reports as unsupported is refused with a clear reason, and the row's former state is removed.
func TestUnsupported(t *testing.T) {
	b := newBench(t)
	b.orch.queues = 8
	b.orch.can[sai.PolicerAttrRedPacketAction] = sai.Enums{sai.PacketActionForward, sai.PacketActionDrop}
	b.do("g1 trap_ids=bgp queue=8", "g2 trap_ids=lacp"+policed, "g3 trap_ids=lldp cir=600")
	b.do("g2 trap_ids=lacp" + strings.Replace(policed, "drop", "copy", 1))
	for group, want := range map[string]string{
		"g1": "failed: queue 8: the CPU port of this switch has queues 0 to 7",
		"g2": "failed: SAI_POLICER_ATTR_RED_PACKET_ACTION SAI_PACKET_ACTION_COPY: this switch has " +
			"SAI_PACKET_ACTION_FORWARD, SAI_PACKET_ACTION_DROP",
		"g3": "failed: meter_type is missing: want packets or bytes with cir; mode is missing: want sr_tcm, tr_tcm or " +
			"storm with cir; cbs is missing: want a burst with cir",
	} {
		if got := b.status(group); got != want {
			t.Errorf("%s: %s\nwant %s", group, got, want)
		}
	}
	if got := b.asic(); len(got) > 0 {
		t.Errorf("in the ASIC: %v", got)
	}
}

// A trap that is unknown, that the ASIC refuses, or that is in another group does not keep a group's other traps out.
// The status names it, and a refused trap is tried again when the row is written again.
func TestOneTrapOfAGroupIsBad(t *testing.T) {
	b := newBench(t)
	traps := func() (list []string) {
		for name := range b.orch.traps {
			list = append(list, name)
		}
		slices.Sort(list)
		return list
	}
	want := func(status, reason string, names ...string) {
		t.Helper()
		if got := b.status("g"); got != strings.TrimSuffix(status+": "+reason, ": ") {
			t.Errorf("status %q\nwant   %s: %s", got, status, reason)
		}
		if d := cmp.Diff(names, traps()); d != "" {
			t.Errorf("traps: %s", d)
		}
	}
	const others = "; the group's other traps are in the ASIC"
	const unsupported = "trap udld: the switch does not support it (SAI_STATUS_NOT_SUPPORTED)"
	b.do("g trap_ids=bgp,bgq,lacp queue=4")
	_, err := schema.ParseCOPPGroup("g", map[string]string{"trap_ids": "bgp,bgq,lacp"})
	want("failed", schema.Reason(err)+others, "bgp", "lacp")
	b.do("f trap_ids=arp_req")
	b.do("g trap_ids=arp_req,bgp,lacp queue=4")
	want("failed", "trap arp_req is in group f"+others, "arp_req", "bgp", "lacp")
	b.do("-f")
	want("active", "", "arp_req", "bgp", "lacp")
	b.Rec.FailAt(1, sai.StatusNotSupported)
	b.do("g trap_ids=arp_req,bgp,lacp,udld queue=4")
	want("failed", unsupported+others, "arp_req", "bgp", "lacp")
	b.do("f trap_ids=ssh")
	want("failed", unsupported+others, "arp_req", "bgp", "lacp", "ssh")
	b.do("g trap_ids=arp_req,bgp,lacp,udld queue=4")
	want("active", "", "arp_req", "bgp", "lacp", "ssh", "udld")
	b.Rec.FailAt(1, sai.StatusFailure)
	b.do("g trap_action=copy trap_ids=arp_req,bgp,lacp,udld queue=4") // arp_req cannot be changed
	if got := traps(); !slices.Equal(got, []string{"bgp", "lacp", "ssh", "udld"}) ||
		!strings.HasPrefix(b.status("g"), "failed: trap arp_req: set ") || !strings.HasSuffix(b.status("g"), others) {
		t.Errorf("%s: %v", b.status("g"), got)
	}
	b.do("-g", "-f")
	if got := b.asic(); len(got) > 0 {
		t.Errorf("left over: %v", got)
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

// Whichever SAI call fails, nothing is left over, and everything is created when the rows are written again.
func TestEveryCallFails(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do(rows...)
		b.do("g2 trap_action=drop trap_priority=9 queue=7 trap_ids=arp_req,lacp"+policed, "default queue=2",
			"g1 trap_action=trap trap_priority=4 queue=4 trap_ids=bgp"+strings.Replace(policed, "packets", "bytes", 1))
		if b.Rec.Changes() < n {
			break
		}
		b.do(rows...)
		if d := cmp.Diff(want, b.asic()); d != "" {
			t.Fatalf("call %d: %s", n, d)
		}
		b.do("-g1", "-g2", "-default")
		b.do("-g1") // a failed removal is tried again
		if got := b.asic(); len(got) > 0 {
			t.Fatalf("call %d left %v", n, got)
		}
	}
}

// STATE_DB shows by trap id which traps are in the ASIC, beside the status of the configured row of the same name.
func TestHardwareStatus(t *testing.T) {
	b := newBench(t)
	installed := func() (list []string) {
		rows, err := b.orch.state.Dump(b.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		for name, row := range rows {
			if row["hw_status"] == "installed" {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	if err := b.orch.state.Set(b.Ctx, "lacp", map[string]string{"status": "active", "by": "tammgrd"}); err != nil {
		t.Fatal(err)
	}
	b.do("g trap_ids=lacp,arp_req trap_action=trap queue=0")
	if d := cmp.Diff([]string{"arp_req", "lacp"}, installed()); d != "" {
		t.Error(d)
	}
	b.do("g trap_ids=arp_req trap_action=trap queue=0")
	if d := cmp.Diff([]string{"arp_req"}, installed()); d != "" {
		t.Error(d)
	}
	if row, _, err := b.orch.state.Get(b.Ctx, "lacp"); err != nil || row["status"] != "active" {
		t.Errorf("the status row is %v, %v", row, err)
	}
	b.do("-g")
	if list := installed(); len(list) > 0 {
		t.Errorf("still installed: %v", list)
	}
}

// STATE_DB shows by trap id which traps the ASIC has refused and why, alone or with their group, until it accepts them.
func TestRefusedTraps(t *testing.T) {
	const group = "g trap_ids=lacp,arp_req trap_action=trap queue=0 meter_type=packets mode=sr_tcm cir=9 cbs=9"
	for n := 1; ; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusInsufficientResources)
		missing := func() (count int) {
			t.Helper()
			rows, err := b.orch.state.Dump(b.Ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"arp_req", "lacp"} {
				row, there := rows[name], b.orch.traps[name] != nil
				if there != (row["hw_status"] == "installed") || there != (row["hw_error"] == "") {
					t.Errorf("call %d: trap %s is in the ASIC: %t; its row is %v", n, name, there, row)
				}
				if !there {
					count++
				}
			}
			return count
		}
		b.do(group)
		failed := b.Rec.Changes() >= n
		if failed != (missing() > 0) {
			t.Errorf("call %d has failed: %t; %d traps are not in the ASIC", n, failed, missing())
		}
		b.do("h trap_action=drop queue=0") // any change repeats what capacity was missing for
		if missing() > 0 {
			t.Errorf("call %d: %d traps are not in the ASIC", n, missing())
		}
		if !failed {
			break
		}
	}
}

// A removal that the ASIC refuses is repeated after a second, although no row changes.
func TestFailedRemovalIsRepeated(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.do(rows...)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do("-g1", "-g2", "-default")
		if b.Rec.Changes() < n {
			break
		}
		b.Pass(time.Second)
		if got := b.asic(); len(got) > 0 {
			t.Errorf("call %d left %v", n, got)
		}
	}
}
