package mirror

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
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

// fakePaths are routes that tests can change at any time.
type fakePaths struct {
	to      map[netip.Addr]Path
	wants   []netip.Addr
	changed orch.Topic[struct{}]
}

func (w *fakePaths) Want(_ context.Context, to []netip.Addr) { w.wants = to }

func (w *fakePaths) Path(to netip.Addr) (Path, error) {
	path, ok := w.to[to]
	if !ok {
		return path, orch.Wait("route", to.String(), "no route to %s", to)
	}
	return path, nil
}

func (w *fakePaths) Changes() *orch.Topic[struct{}] { return &w.changed }

type bench struct {
	*orchtest.Bench
	ports    *orchtest.Ports
	paths    *fakePaths
	orch     *Orch
	reported []string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 4}), paths: &fakePaths{to: map[netip.Addr]Path{}}}
	_, ports := b.CreateSwitch()
	b.ports = orchtest.NewPorts(ports)
	var err error
	b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Routes: b.paths})
	if err != nil {
		t.Fatal(err)
	}
	b.orch.Changes().Subscribe(func(_ context.Context, names []string) {
		for _, n := range names {
			_, ok := b.orch.Session(n)
			b.reported = append(b.reported, fmt.Sprint(n, " ", ok))
		}
	})
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.do()
	b.Rec.Reset()
	return b
}

// do applies lines. "s field=value ..." sets a session, and "-s" deletes it. "port+ name" and "port- name" add and
// remove a port, and "lag members" sets a PortChannel. "way port vlan" sets the path to 10.0.0.2, and "way" removes it.
// The lines that follow a session's line are a separate step.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "port+", "port-":
			b.ports.Turn(b.Ctx, rest, word == "port+")
		case "without": // the ASIC lacks a kind of encapsulation
			b.orch.encaps = slices.DeleteFunc(slices.Clone(b.orch.encaps), func(e sai.Enum) bool {
				return e == sai.ErspanEncapsulationTypeIii
			})
		case "empty": // a PortChannel without members
			clear(b.ports.LAGOf)
			b.ports.LAGs["PortChannel1"] = 1
			b.ports.Changed(b.Ctx, "PortChannel1")
		case "lag":
			clear(b.ports.LAGs)
			clear(b.ports.LAGOf)
			for _, name := range strings.Fields(rest) {
				b.ports.LAGs["PortChannel1"], b.ports.LAGOf[name] = 1, "PortChannel1"
			}
			b.ports.Changed(b.Ctx, "PortChannel1")
		case "way":
			to := netip.MustParseAddr("10.0.0.2")
			delete(b.paths.to, to)
			if f := strings.Fields(rest); len(f) == 2 {
				path := Path{
					Port: f[0], NextHop: netip.MustParseAddr("10.0.0.9"),
					Source: sai.MAC{2, 0, 0, 0, 0, 1}, MAC: sai.MAC{2, 0, 0, 0, 0, 9},
				}
				fmt.Sscan(f[1], &path.VLAN)
				b.paths.to[to] = path
			}
			b.paths.changed.Publish(b.Ctx, struct{}{})
		default:
			name, gone := strings.CutPrefix(line, "-")
			line = schema.AppMirrorSession + ":" + name
			if gone {
				line = "-" + line
			}
			b.Write(line)
			b.Step()
		}
	}
	b.Step()
}

// state returns the row of a session in STATE_DB, or "" if there is none.
func (b *bench) state(name string) string {
	b.T.Helper()
	f, ok, err := swss.NewTable(b.Redis.DB(swss.StateDB), schema.AppMirrorSession).Get(b.Ctx, name)
	if err != nil {
		b.T.Fatal(err)
	}
	if !ok {
		return ""
	}
	words := []string{f["status"]}
	for _, name := range append([]string{"reason"}, extraFields...) {
		if f[name] != "" {
			words = append(words, name+"="+f[name])
		}
	}
	return strings.Join(words, " ")
}

// asic returns the state of the ASIC as text without object ids.
func (b *bench) asic() []string {
	names := map[sai.OID]string{}
	for n, oid := range b.ports.All {
		names[oid] = n
	}
	for n, s := range b.orch.sessions {
		names[s.oid] = n
	}
	var list []string
	for _, k := range b.Fake.Created() {
		line := names[k.OID]
		for _, a := range b.Fake.Attrs(k) {
			text, _ := sai.FormatValue(a.ID, a.Value)
			if oid, ok := a.Value.(sai.OID); ok {
				text = names[oid]
			}
			line += " " + strings.TrimPrefix(a.ID.String(), "SAI_MIRROR_SESSION_ATTR_") + "=" + text
		}
		list = append(list, line)
	}
	for n, oid := range b.ports.All {
		for what, id := range map[string]sai.AttrID{"receives": sai.PortAttrIngressMirrorSession,
			"sends": sai.PortAttrEgressMirrorSession} {
			got, err := b.Fake.Get(b.Ctx, sai.Obj(sai.ObjectTypePort, oid), []sai.Attr{sai.Want(id, 4)})
			if err != nil {
				b.T.Fatal(err)
			}
			for _, s := range got[0].Value.(sai.OIDs) {
				list = append(list, fmt.Sprint(names[s], " copies what ", n, " ", what))
			}
		}
	}
	slices.Sort(list)
	return list
}

const (
	span   = "a type=SPAN dst_port=Ethernet12 src_port=Ethernet0,PortChannel1 direction=RX queue=3"
	erspan = "e src_ip=10.0.0.1 dst_ip=10.0.0.2 dscp=8 ttl=64 src_port=Ethernet0 direction=TX"
)

// A session whose path changes is updated in place, without notifying its users. Users release a session before it is
// recreated.
func TestFollowing(t *testing.T) {
	b := newBench(t)
	b.do("way Ethernet8 0", erspan)
	b.reported = nil
	b.do("way Ethernet4 7")
	if len(b.reported) > 0 ||
		b.state("e") != "active monitor_port=Ethernet4 dst_mac=02:00:00:00:00:09 next_hop_ip=10.0.0.9 vlan_id=7" {
		t.Errorf("told %v, state %s", b.reported, b.state("e"))
	}
	b.do(strings.Replace(erspan, "src_ip=10.0.0.1", "src_ip=10.0.0.7", 1))
	if d := cmp.Diff([]string{"e false", "e true"}, b.reported); d != "" {
		t.Error(d)
	}
}

var lines = []string{
	span, erspan, "-a", "-e", "a type=SPAN dst_port=Ethernet8 src_port=Ethernet4",
	"e src_ip=10.0.0.1 dst_ip=10.0.0.2 dscp=9", "b src_ip=10.0.0.3 dst_ip=10.0.0.2 src_port=Ethernet0", "-b",
	"e src_ip=10.0.0.1 dst_ip=nowhere", "way Ethernet8 0", "way Ethernet4 5", "way PortChannel1 0", "way",
	"lag Ethernet4 Ethernet8", "lag Ethernet4", "lag",
	"port- Ethernet12", "port+ Ethernet12", "port- Ethernet0", "port+ Ethernet0", "port- Ethernet4", "port+ Ethernet4",
}

// Whatever the order of events, the ASIC depends only on the last rows and paths.
func TestConvergence(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		b := newBench(t)
		for range 40 {
			b.do(lines[r.IntN(len(lines))])
		}
		once := newBench(t)
		once.ports.OIDs, once.ports.LAGs, once.ports.LAGOf, once.paths.to = b.ports.OIDs, b.ports.LAGs, b.ports.LAGOf,
			b.paths.to
		for k, f := range b.orch.ledger.Rows {
			line := k.Key
			for name, v := range f {
				line += " " + name + "=" + v
			}
			once.do(line)
		}
		if d := cmp.Diff(once.asic(), b.asic()); d != "" {
			t.Error(d)
		}
		for _, s := range []string{"a", "b", "e"} {
			if b.state(s) != once.state(s) {
				t.Errorf("%s: %s, once %s", s, b.state(s), once.state(s))
			}
		}
	})
}

// Whichever SAI call fails, nothing is left over, and everything is created when the rows are written again.
func TestEveryCallFails(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do("lag Ethernet4", "way Ethernet8 0", span, erspan, "way Ethernet4 5",
			strings.Replace(span, "queue=3", "queue=4", 1))
		if b.Rec.Changes() < n {
			break
		}
		b.do(span, erspan)
		once := newBench(t)
		once.do("lag Ethernet4", "way Ethernet4 5", span, erspan)
		if d := cmp.Diff(once.asic(), b.asic()); d != "" {
			t.Fatalf("call %d: %s", n, d)
		}
		b.do("-a", "-e")
		if got := b.asic(); len(got) > 0 {
			t.Fatalf("call %d left %v", n, got)
		}
	}
}

// The routes are given the addresses that sessions lead to, so that neighbours on the path can be resolved.
func TestPathsAreWanted(t *testing.T) {
	b := newBench(t)
	b.do("a type=ERSPAN src_ip=10.0.0.1 dst_ip=10.0.0.2", "b type=SPAN dst_port=Ethernet4")
	if got := fmt.Sprint(b.paths.wants); got != "[10.0.0.2]" {
		t.Errorf("wanted: %s", got)
	}
	b.do("-a")
	if len(b.paths.wants) != 0 {
		t.Errorf("wanted by nobody: %v", b.paths.wants)
	}
}

// A removal that the ASIC refuses is repeated after a second, although no row changes.
func TestFailedRemovalIsRepeated(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.do("lag Ethernet4", "way Ethernet8 0", span, erspan)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.do("-a", "-e")
		if b.Rec.Changes() < n {
			break
		}
		b.Pass(time.Second)
		if got := b.asic(); len(got) > 0 {
			t.Errorf("call %d left %v", n, got)
		}
	}
}
