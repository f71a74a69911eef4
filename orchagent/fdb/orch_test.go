package fdb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// ports is a [Ports] whose members tests can change at any time.
type ports struct {
	vlans   map[string]sai.OID
	bridge  map[string]sai.OID
	members map[[2]string]bool
	layout  orch.Topic[struct{}]
	downs   orch.Topic[string]
}

func (p *ports) BridgePort(vlan, port string) (sai.OID, sai.OID, error) {
	if !p.members[[2]string{vlan, port}] {
		return 0, 0, orch.Wait("VLAN member", vlan+":"+port, "%s is not a member of %s", port, vlan)
	}
	return p.vlans[vlan], p.bridge[port], nil
}
func (p *ports) BridgePortOf(port string) sai.OID  { return p.bridge[port] }
func (p *ports) BridgePortName(oid sai.OID) string { return nameOf(p.bridge, oid) }
func (p *ports) VLANName(oid sai.OID) string       { return nameOf(p.vlans, oid) }
func (p *ports) Layout() *orch.Topic[struct{}]     { return &p.layout }
func (p *ports) Downs() *orch.Topic[string]        { return &p.downs }
func (p *ports) VLANMembers() (list [][2]string) {
	for m, yes := range p.members {
		if yes {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, compareMembers)
	return list
}

func nameOf(m map[string]sai.OID, oid sai.OID) string {
	for n, o := range m {
		if o == oid {
			return n
		}
	}
	return ""
}

// bench is an Orch on a fake ASIC with its own Redis. Ethernet0 and Ethernet4 are members of Vlan10 and Vlan20.
type bench struct {
	*orchtest.Bench
	orch  *Orch
	ports *ports
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{
		Bench: orchtest.Started(t, saitest.Options{Ports: 2}),
		ports: &ports{vlans: map[string]sai.OID{}, bridge: map[string]sai.OID{}, members: map[[2]string]bool{}},
	}
	sw, _ := b.CreateSwitch()
	var err error
	for i, n := range []string{"Vlan10", "Vlan20"} {
		id := []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(10 * (i + 1))}}
		if b.ports.vlans[n], err = b.Fake.Create(b.Ctx, sai.ObjectTypeVLAN, id); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	for _, k := range b.Fake.Keys() {
		if k.Type == sai.ObjectTypeBridgePort {
			name := fmt.Sprintf("Ethernet%d", 4*i)
			b.ports.bridge[name] = k.OID
			b.ports.members[[2]string{"Vlan10", name}], b.ports.members[[2]string{"Vlan20", name}] = true, true
			i++
		}
	}
	b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Switch: sw})
	if err != nil {
		t.Fatal(err)
	}
	b.ports.layout.Publish(b.Ctx, struct{}{})
	b.Step()
	b.Rec.Reset()
	return b
}

// do applies lines and then does a step. "VlanN:MAC port=X type=Y" sets a row of FDB_TABLE, and "-VlanN:MAC" deletes
// it. "member VlanN X" adds a member, and "-member VlanN X" removes it. "learned|move|aged|flushed VlanN:MAC port" is a
// notification of the ASIC. "down X" reports that a port went down.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, l := range lines {
		b.write(l)
	}
	b.Step()
}

func (b *bench) write(line string) {
	b.T.Helper()
	w := strings.Fields(line)
	ctx := b.Ctx
	events := map[string]sai.Enum{"learned": sai.FDBEventLearned, "move": sai.FDBEventMove, "aged": sai.FDBEventAged,
		"flushed": sai.FDBEventFlushed}
	if event, ok := events[w[0]]; ok {
		vlan, text, _ := strings.Cut(w[1], ":")
		mac, _ := schema.ParseMAC(text)
		n := sai.FDBEvent{Event: event, Entry: sai.FDBEntry{Switch: b.orch.switchID, MAC: sai.MAC(mac),
			BV: b.ports.vlans[vlan]}}
		if len(w) > 2 {
			n.Attrs = []sai.Attr{{ID: sai.FDBEntryAttrBridgePortID, Value: b.ports.bridge[w[2]]}}
		}
		if err := b.orch.Notify(ctx, n); err != nil {
			b.T.Fatal(err)
		}
		return
	}
	switch w[0] {
	case "step":
		b.Step()
		return
	case "down":
		b.ports.downs.Publish(ctx, w[1])
		return
	case "member", "-member":
		b.ports.members[[2]string{w[1], w[2]}] = w[0] == "member"
		b.ports.layout.Publish(ctx, struct{}{})
		return
	}
	key := strings.TrimPrefix(w[0], "-")
	line = strings.Replace(line, key, schema.AppFDB+":"+key, 1)
	b.Write(line, schema.FieldConfigKey, schema.ConfigKey(key))
}

// rows returns the rows of a table of STATE_DB.
func (b *bench) rows(table string) (list []string) {
	b.T.Helper()
	rows, err := swss.NewTable(b.Redis.DB(swss.StateDB), table).Dump(b.Ctx)
	if err != nil {
		b.T.Fatal(err)
	}
	for k, f := range rows {
		list = append(list, strings.TrimRight(k+" "+f["port"]+f["status"]+" "+f["type"]+f["reason"], " "))
	}
	slices.Sort(list)
	return list
}

// asic returns the FDB entries of the ASIC.
func (b *bench) asic() (list []string) {
	for _, k := range b.Fake.Keys() {
		if e, ok := k.Entry.(sai.FDBEntry); ok {
			line := b.ports.VLANName(e.BV) + ":" + schema.MAC(e.MAC).String()
			for _, a := range b.Fake.Attrs(k) {
				switch v := a.Value.(type) {
				case sai.OID:
					line += " " + b.ports.BridgePortName(v)
				case sai.Enum:
					if a.ID == sai.FDBEntryAttrType && v == sai.FDBEntryTypeDynamic {
						line += " dynamic"
					}
				}
			}
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

const (
	one  = "Vlan10:02:00:00:00:00:01"
	two  = "Vlan20:02:00:00:00:00:02"
	dash = "Vlan10:02-00-00-00-00-01"
)

// Whichever call fails, the status of the row reports it. Once the row is written again, the state is as if nothing had
// failed.
func TestEveryCallFails(t *testing.T) {
	first := []string{one + " port=Ethernet0", two + " port=Ethernet0"}
	then := []string{one + " port=Ethernet4", "-" + two}
	for n := 1; ; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do(first...)
		b.do(then...)
		if b.Rec.Changes() < n {
			if n < 4 {
				t.Errorf("only %d calls", n-1)
			}
			return
		}
		b.do(first...)
		if d := cmp.Diff([]string{one + " Ethernet0", two + " Ethernet0"}, b.asic()); d != "" {
			t.Errorf("call %d, written anew: %s", n, d)
		}
		b.do("-"+one, "-"+two)
		if got := append(b.asic(), b.rows(schema.StateFDB)...); len(got) > 0 || len(b.rows(schema.StateStaticFDB)) > 0 {
			t.Errorf("call %d: left over: %v", n, got)
		}
	}
}

// If events may have been lost, the rows of STATE_DB become those of the addresses that the ASIC has. Static entries
// stay, and dynamic ones that the ASIC no longer has have aged.
func TestLostEvents(t *testing.T) {
	b := newBench(t)
	const mac = "02:00:00:00:00:0"
	b.do("Vlan10:"+mac+"1 port=Ethernet0", "Vlan10:"+mac+"2 port=Ethernet0 type=dynamic",
		"Vlan10:"+mac+"3 port=Ethernet0 type=dynamic",
		"learned Vlan10:"+mac+"5 Ethernet0", "learned Vlan10:"+mac+"6 Ethernet0", "learned Vlan10:"+mac+"7 Ethernet0")
	has := func(address byte, port string) sai.FDBEvent {
		return sai.FDBEvent{
			Event: sai.FDBEventLearned,
			Entry: sai.FDBEntry{Switch: b.orch.switchID, MAC: sai.MAC{2, 0, 0, 0, 0, address}, BV: b.ports.vlans["Vlan10"]},
			Attrs: []sai.Attr{{ID: sai.FDBEntryAttrBridgePortID, Value: b.ports.bridge[port]}},
		}
	}
	b.orch.Learned([]sai.FDBEvent{
		has(3, "Ethernet0"), has(5, "Ethernet0"), has(6, "Ethernet4"), has(8, "Ethernet4"),
	})
	b.Step()
	want := []string{
		"Vlan10:" + mac + "1 Ethernet0 static", "Vlan10:" + mac + "3 Ethernet0 dynamic",
		"Vlan10:" + mac + "5 Ethernet0 dynamic", "Vlan10:" + mac + "6 Ethernet4 dynamic",
		"Vlan10:" + mac + "8 Ethernet4 dynamic",
	}
	if d := cmp.Diff(want, b.rows(schema.StateFDB)); d != "" {
		t.Error(d)
	}
}

// An address that moves to a bridge port without a name has no row. A flush of a VLAN or bridge port that is not known
// is not a flush of everything.
func TestUnknownPlaces(t *testing.T) {
	b := newBench(t)
	const mac = "02:00:00:00:00:0"
	b.do("learned Vlan10:"+mac+"1 Ethernet0", "learned Vlan10:"+mac+"2 Ethernet0", "move Vlan10:"+mac+"2 Ethernet8")
	want := []string{"Vlan10:" + mac + "1 Ethernet0 dynamic"}
	if d := cmp.Diff(want, b.rows(schema.StateFDB)); d != "" {
		t.Error(d)
	}
	const unknown = sai.OID(0x99)
	for _, e := range []sai.FDBEvent{
		{Event: sai.FDBEventFlushed, Entry: sai.FDBEntry{BV: unknown}},
		{Event: sai.FDBEventFlushed, Attrs: []sai.Attr{{ID: sai.FDBEntryAttrBridgePortID, Value: unknown}}},
	} {
		if err := b.orch.Notify(b.Ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	b.Step()
	if d := cmp.Diff(want, b.rows(schema.StateFDB)); d != "" {
		t.Error(d)
	}
	if err := b.orch.Notify(b.Ctx, sai.FDBEvent{Event: sai.FDBEventFlushed}); err != nil {
		t.Fatal(err)
	}
	b.Step()
	if got := b.rows(schema.StateFDB); len(got) > 0 {
		t.Errorf("after a flush of everything: %v", got)
	}
}

// A flush that the ASIC refuses is repeated after a second, although nothing changes. One of a bridge port that is gone
// is not.
func TestRefusedFlushIsRepeated(t *testing.T) {
	b := newBench(t)
	flushes := func(status sai.Status) int {
		t.Helper()
		b.Rec.Reset()
		b.Rec.FailAt(1, status)
		b.do("down Ethernet0")
		b.Pass(3 * flushPeriod)
		return b.Rec.Changes()
	}
	if n := flushes(sai.StatusFailure); n != 2 {
		t.Errorf("%d flushes, want a second one", n)
	}
	if n := flushes(sai.StatusItemNotFound); n != 1 {
		t.Errorf("%d flushes of a bridge port that is gone", n)
	}
}

// Whatever the order of changes, the ASIC and the status depend only on the last rows and members.
func TestConvergence(t *testing.T) {
	lines := []string{
		one + " port=Ethernet0", one + " port=Ethernet4", one + " port=Ethernet0 type=dynamic", one + " port=x", "-" + one,
		dash + " port=Ethernet0", "-" + dash,
		two + " port=Ethernet4", "-" + two, "member Vlan10 Ethernet0", "-member Vlan10 Ethernet0", "member Vlan20 Ethernet4",
		"-member Vlan20 Ethernet4", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 60}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		b, fresh := newBench(t), newBench(t)
		last := map[string]string{}
		for range 40 {
			line := lines[rnd.IntN(len(lines))]
			b.write(line)
			name := strings.TrimPrefix(line, "-")
			if !strings.HasPrefix(name, "member") {
				name, _, _ = strings.Cut(name, " ")
			}
			last[name] = line
		}
		b.Step()
		for _, l := range last {
			fresh.write(l)
		}
		fresh.Step()
		for _, list := range []func(*bench) []string{(*bench).asic, func(b *bench) []string {
			return b.rows(schema.StateFDB)
		}, func(b *bench) []string { return b.rows(schema.StateStaticFDB) }} {
			if d := cmp.Diff(list(fresh), list(b)); d != "" {
				t.Errorf("-once +sequence\n%s\n%v", d, last)
			}
		}
	})
}

// Requests of SONiC's fdbclear, as it publishes them, flush learned addresses. Requests for a port or VLAN that does
// not exist flush nothing.
func TestFlushRequests(t *testing.T) {
	b := newBench(t)
	port, vlan := b.ports.bridge["Ethernet4"], b.ports.vlans["Vlan20"]
	byPort := fmt.Sprintf("SAI_FDB_FLUSH_ATTR_BRIDGE_PORT_ID=%s|", port)
	byVLAN := fmt.Sprintf("SAI_FDB_FLUSH_ATTR_BV_ID=%s|", vlan)
	for _, tt := range []struct{ text, want string }{
		{`["ALL","ALL"]`, "-"},
		{`["PORT","Ethernet4"]`, byPort},
		{`["VLAN","20"]`, byVLAN},
		{`["VLAN","Vlan20"]`, byVLAN},
		{`["PORTVLAN","Ethernet4|20"]`, byPort + byVLAN},
		{`["PORT","Ethernet8"]`, ""},
		{`["PORT",""]`, ""},
		{`["VLAN","30"]`, ""},
		{`["VLAN",""]`, ""},
		{`["PORTVLAN","Ethernet4"]`, ""},
		{`["PORTVLAN","Ethernet8|20"]`, ""},
		{`["all","ALL"]`, ""},
		{`{}`, ""},
	} {
		b.Rec.Reset()
		if err := b.Redis.DB(swss.ApplDB).Client().Publish(b.Ctx, "FLUSHFDBREQUEST", tt.text).Err(); err != nil {
			t.Fatal(err)
		}
		b.Step()
		want := tt.want
		if want != "" {
			want = "f|SAI_OBJECT_TYPE_FDB_FLUSH|" + strings.Trim(want, "-") +
				"SAI_FDB_FLUSH_ATTR_ENTRY_TYPE=SAI_FDB_FLUSH_ENTRY_TYPE_DYNAMIC"
		}
		if got := b.Rec.Text(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.text, got, want)
		}
	}
}

// A removal that the ASIC refuses is repeated after a second, although no row changes.
func TestFailedRemovalIsRepeated(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.do(one+" port=Ethernet0", two+" port=Ethernet0")
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do("-"+one, "-"+two)
		if b.Rec.Changes() < n {
			break
		}
		b.Pass(time.Second)
		if got := b.asic(); len(got) > 0 {
			t.Errorf("call %d left %v", n, got)
		}
	}
}
