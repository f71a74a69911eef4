package hostifd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/host/cpuport"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A fakeKernel simulates devices without Linux. It is also the keeper of devices, like syncd, which creates what is
// requested.
type fakeKernel struct {
	devices map[string]Device
	beside  map[string]cpuport.Interface // held devices
	left    []string                     // devices of an earlier process
	others  string                       // name of an interface that is not tamtam's
	whole   []string                     // devices whose addresses were all set again
	static  map[string]bool
	asked   map[string]bool
	fails   bool // true if neighbours and routes cannot be set now
	routes  []schema.Route
	wanted  []string
}

func newFakeKernel() *fakeKernel {
	return &fakeKernel{
		devices: map[string]Device{}, beside: map[string]cpuport.Interface{}, static: map[string]bool{},
		asked: map[string]bool{},
	}
}

func (k *fakeKernel) Advice() []string { return nil }

func (k *fakeKernel) Ours() ([]string, error) {
	return slices.Concat(k.left, slices.Collect(maps.Keys(k.devices))), nil
}

type keeper struct{ *fakeKernel }

func (k keeper) Set(i cpuport.Interface) error {
	if k.beside[i.Name] = i; i.Gone {
		delete(k.beside, i.Name)
		return k.Remove(i.Name)
	}
	return nil
}

func (k *fakeKernel) Set(name string, d, _ Device, whole bool) error {
	if name == k.others {
		return errors.New("there is an interface of this name")
	}
	if k.devices[name] = d; whole {
		k.whole = append(k.whole, name)
	}
	return nil
}

func (k *fakeKernel) Remove(name string) error {
	delete(k.devices, name)
	k.left = slices.DeleteFunc(k.left, func(n string) bool { return n == name })
	return nil
}

func (k *fakeKernel) SetRoutes(routes []schema.Route) error {
	if k.fails {
		return errors.New("no route is taken")
	}
	k.routes = routes
	return nil
}

func (k *fakeKernel) Neighbors(context.Context, func(Neighbor)) error { return nil }
func (k *fakeKernel) Links(context.Context, func(string, int)) error  { return nil }

func (k *fakeKernel) SetNeighbor(n Neighbor, permanent bool) error {
	if k.fails {
		return errors.New("the interface is down")
	}
	if permanent {
		k.static[keyOf(n)+" "+n.MAC.String()] = true
	} else {
		k.asked[keyOf(n)+" "+n.MAC.String()] = true
	}
	return nil
}

func (k *fakeKernel) Configured() (list []Neighbor, err error) {
	if k.fails {
		return nil, errors.New("the kernel is busy")
	}
	for text := range k.static {
		key, mac, _ := strings.Cut(text, " ")
		n, _ := neighborOf(key, swss.FieldValues{"neigh": mac})
		list = append(list, n)
	}
	return list, nil
}

func (k *fakeKernel) Ask(n Neighbor) error {
	k.wanted = append(k.wanted, keyOf(n))
	return nil
}

func (k *fakeKernel) RemoveNeighbor(n Neighbor) error {
	if k.fails {
		return errors.New("the interface is down")
	}
	delete(k.static, keyOf(n)+" "+n.MAC.String())
	return nil
}

type bench struct {
	t         *testing.T
	r         *swss.Redis
	k         *fakeKernel
	host      *Host
	d         *orch.Daemon
	s         *Sync
	now       time.Time
	list      *swss.Listener
	consumers map[string]*swss.ConsumerState
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, r: swsstest.Start(t), k: newFakeKernel(), now: time.Unix(1000, 0)}
	b.list = swss.NewListener(b.r)
	b.consumers = map[string]*swss.ConsumerState{schema.AppNeigh: swss.NewConsumerState(b.list, b.r.DB(swss.ApplDB),
		schema.AppNeigh)}
	b.host = NewHost(b.k, slog.New(slog.DiscardHandler))
	b.host.SetKeeper(keeper{b.k})
	t.Cleanup(func() { b.list.Close(); b.host.Close() })
	b.begin()
	return b
}

func (b *bench) begin() {
	d := orch.NewDaemon("hostifd", b.r, orch.Options{})
	b.d, b.s = d, New(Config{Daemon: d, Redis: b.r, Host: b.host, Fallback: schema.MAC{2, 0, 0, 0, 0, 1}})
	b.t.Cleanup(func() { d.Close() })
}

// set writes rows, "TABLE:KEY f=v ...", into APPL_DB, or a row of CONFIG_DB; a row without fields is deleted.
func (b *bench) set(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, " ")
		db, sep := swss.ApplDB, ":"
		if strings.Contains(name, "|") {
			db, sep = swss.ConfigDB, "|"
		}
		table, key, _ := strings.Cut(name, sep)
		row := swss.FieldValues{}
		for _, f := range strings.Fields(rest) {
			field, value, _ := strings.Cut(f, "=")
			row[field] = value
		}
		rows := swss.NewTable(b.r.DB(db), table)
		err := rows.Del(b.t.Context(), key)
		if len(row) > 0 && err == nil {
			err = rows.Set(b.t.Context(), key, row)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	b.step()
}

func (b *bench) step() {
	b.t.Helper()
	for range 2 {
		if _, err := b.d.Step(b.t.Context(), b.now); err != nil {
			b.t.Fatal(err)
		}
		if err := b.list.Sync(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		for _, consumer := range b.consumers {
			if _, err := consumer.Pops(b.t.Context()); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

func (b *bench) pass(d time.Duration) { b.t.Helper(); b.now = b.now.Add(d); b.step() }

func (b *bench) learned(list ...Neighbor) {
	b.t.Helper()
	if err := b.d.Do(b.t.Context(), func() {
		for _, n := range list {
			b.s.Learned(n)
		}
	}); err != nil {
		b.t.Fatal(err)
	}
	b.step()
}

// link reports the index of a device, 0 if it is gone.
func (b *bench) link(name string, index int) {
	b.t.Helper()
	if err := b.d.Do(b.t.Context(), func() { b.s.LinkChanged(name, index) }); err != nil {
		b.t.Fatal(err)
	}
	b.step()
}

func (b *bench) devices() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(b.k.devices)) {
		d := b.k.devices[name]
		state := "down"
		if d.Up {
			state = "up"
		}
		if d.Carrier {
			state += " carrier"
		}
		list = append(list, fmt.Sprintf("%s %s %d %s %v", name, d.MAC, d.MTU, state, d.Addrs))
	}
	return list
}

func (b *bench) want(what string, lines ...string) {
	b.t.Helper()
	if d := cmp.Diff(lines, b.devices()); d != "" {
		b.t.Errorf("%s: %s", what, d)
	}
}

func (b *bench) wantNeighbors(what string, lines ...string) {
	b.t.Helper()
	rows, err := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppNeigh).Dump(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		line := key
		for _, p := range swss.Pairs(rows[key]) {
			line += " " + p.Field + "=" + p.Value
		}
		got = append(got, line)
	}
	if d := cmp.Diff(lines, got); d != "" {
		b.t.Errorf("%s: %s", what, d)
	}
}

// ports writes the rows of ports, some of which are in a PortChannel, with a VLAN and a loopback.
func (b *bench) ports() {
	b.set("DEVICE_METADATA|localhost mac=02:00:00:00:00:aa",
		"PORT_TABLE:Ethernet0 lanes=0 speed=1000 mtu=9100 admin_status=up oper_status=up",
		"PORT_TABLE:Ethernet4 lanes=4 speed=1000 mtu=1500 admin_status=up oper_status=up",
		"PORT_TABLE:Ethernet8 lanes=8 speed=1000 mtu=1500 admin_status=down oper_status=down",
		"LAG_TABLE:PortChannel1 admin_status=up mtu=1500 oper_status=up",
		"LAG_MEMBER_TABLE:PortChannel1:Ethernet4 status=enabled",
		"LAG_MEMBER_TABLE:PortChannel1:Ethernet8 status=enabled",
		"VLAN_TABLE:Vlan10 vlanid=10 admin_status=up mtu=1400", "VLAN_TABLE:Vlan20 vlanid=20",
		"INTF_TABLE:Ethernet0 NULL=NULL", "INTF_TABLE:Ethernet0:10.0.0.1/24 family=IPv4",
		"INTF_TABLE:Ethernet0:2001:db8::1/64 family=IPv6",
		"INTF_TABLE:PortChannel1 mac_addr=02:00:00:00:00:bb ipv6_use_link_local_only=enable", "INTF_TABLE:Vlan10 NULL=NULL",
		"INTF_TABLE:Vlan10:10.1.0.1/24 family=IPv4",
		"INTF_TABLE:Loopback0 NULL=NULL", "INTF_TABLE:Loopback0:10.9.9.9/32 family=IPv4",
		"PORT_TABLE:PortConfigDone count=3")
}

// Devices are as in APPL_DB, and follow its changes.
func TestDevices(t *testing.T) {
	b := newBench(t)
	b.k.left = []string{"Ethernet96"}
	b.link("Ethernet96", 96)
	if len(b.k.left) != 1 {
		t.Error("a device of a former process went before it was known which are wanted")
	}
	b.ports()
	want := []string{
		"Ethernet0 02:00:00:00:00:aa 9100 up carrier [10.0.0.1/24 2001:db8::1/64]",
		"Ethernet4 02:00:00:00:00:aa 1500 up carrier []",
		"Ethernet8 02:00:00:00:00:aa 1500 down []",
		"Loopback0 02:00:00:00:00:aa 9100 up carrier [10.9.9.9/32]",
		"PortChannel1 02:00:00:00:00:bb 1500 up carrier []",
		"Vlan10 02:00:00:00:00:aa 1400 up carrier [10.1.0.1/24]",
	}
	b.want("all", want...)
	if len(b.k.left) != 0 {
		t.Error("a device of a former process is still there")
	}
	b.set("PORT_TABLE:Ethernet0 lanes=0 speed=1000 mtu=9000 admin_status=up oper_status=down",
		"INTF_TABLE:Ethernet0:10.0.0.1/24",
		"INTF_TABLE:Vlan10", "INTF_TABLE:Vlan10:10.1.0.1/24")
	b.want("a port down, an address and an interface gone",
		"Ethernet0 02:00:00:00:00:aa 9000 up [2001:db8::1/64]", want[1], want[2], want[3], want[4])
	b.k.others = "Vlan20"
	b.set("INTF_TABLE:Vlan20 NULL=NULL")
	if got := b.s.Lacks(); got != "Vlan20: there is an interface of this name" {
		t.Errorf("lacks %q", got)
	}
	b.k.others = ""
	b.pass(retryAfter)
	if _, is := b.k.devices["Vlan20"]; b.s.Lacks() != "" || !is {
		t.Errorf("lacks %q after another's interface has gone", b.s.Lacks())
	}
	if err := b.host.Close(); err != nil || len(b.k.devices) != 6 {
		t.Errorf("after an end with syncd alive there are %v, %v, want all", b.devices(), err)
	}
	b.host.SetKeeper(nil)
	if err := b.host.Close(); err != nil || len(b.k.devices) != 0 {
		t.Errorf("after an end without syncd there are %v, %v", b.devices(), err)
	}
}

// For each device, hostifd keeps open the file that it received last, until the device is gone or hostifd ends.
func TestHold(t *testing.T) {
	h := NewHost(newFakeKernel(), slog.New(slog.DiscardHandler))
	h.SetKeeper(keeper{newFakeKernel()})
	hand := func(name string) (end *os.File) {
		t.Helper()
		end, f, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end.Close() })
		h.Hold(name, f)
		return end
	}
	released := func(end *os.File) {
		t.Helper()
		if _, err := end.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("a file that is of no use any more: %v, want that it is closed", err)
		}
	}
	first, other := hand("Ethernet0"), hand("Ethernet4")
	second := hand("Ethernet0")
	released(first)
	h.Hold("Ethernet0", nil)
	released(second)
	h.Hold("Ethernet0", nil)
	if h.SetKeeper(nil); h.held["Ethernet4"] == nil || len(h.held) != 1 {
		t.Errorf("without syncd it holds %v, want Ethernet4 alone", h.held)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	released(other)
}

// Linux has the configured routes, which are tammgrd's rows, by devices that are up, and not those of zebra.
func TestStaticRoutes(t *testing.T) {
	b := newBench(t)
	routes := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range b.k.routes {
			line := r.Prefix.String()
			for _, h := range r.Hops {
				line += " " + h.Addr.String() + " " + h.Interface
			}
			if r.Blackhole {
				line += " blackhole"
			}
			got = append(got, line)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", what, d)
		}
	}
	const (
		one = "ROUTE_TABLE:10.8.0.0/16 protocol=static config_key=10.8.0.0/16 nexthop=10.0.0.2 ifname=Ethernet0 weight=1"
		two = "ROUTE_TABLE:2001:db8:8::/48 protocol=static config_key=2001:db8:8::/48 " +
			"nexthop=2001:db8::2,fe80::2 ifname=Ethernet0,Ethernet8"
		drop = "ROUTE_TABLE:10.9.0.0/16 protocol=static config_key=10.9.0.0/16 blackhole=true"
	)
	b.set(one)
	routes("ports are not known yet")
	b.ports()
	b.set(two, drop, "ROUTE_TABLE:10.7.0.0/16 protocol=bgp nexthop=10.0.0.2 ifname=Ethernet0 weight=1")
	const first, last = "10.8.0.0/16 10.0.0.2 Ethernet0", "2001:db8:8::/48 2001:db8::2 Ethernet0"
	routes("a device is down", first, "10.9.0.0/16 blackhole", last)
	b.set("PORT_TABLE:Ethernet8 lanes=8 speed=1000 mtu=1500 admin_status=up oper_status=up", "ROUTE_TABLE:10.9.0.0/16")
	routes("it is up, and a route has gone", first, last+" fe80::2 Ethernet8")
	b.k.fails = true
	b.set("ROUTE_TABLE:10.8.0.0/16 protocol=bgp nexthop=10.0.0.2 ifname=Ethernet0 weight=1")
	if got := b.s.Lacks(); got != "routes: no route is taken" {
		t.Errorf("lacks %q", got)
	}
	b.k.fails = false
	b.pass(retryAfter)
	if routes("zebra has one now", last+" fe80::2 Ethernet8"); b.s.Lacks() != "" {
		t.Errorf("lacks %q", b.s.Lacks())
	}
	b.d.Close()
	b.begin()
	b.step()
	routes("after a restart", last+" fe80::2 Ethernet8")
	b.host.SetKeeper(nil)
	if err := b.host.Close(); err != nil {
		t.Error(err)
	}
	routes("after the end, without syncd")
}

// Interfaces that are not for ports are held by syncd. For a PortChannel it receives all members, and those that may
// send frames; a new syncd receives all of them again.
func TestInterfacesBesidePorts(t *testing.T) {
	b := newBench(t)
	b.ports()
	want := map[string]cpuport.Interface{
		"PortChannel1": {Name: "PortChannel1", LAG: true, Members: []string{"Ethernet4", "Ethernet8"},
			Senders: []string{"Ethernet4", "Ethernet8"}, Up: true},
		"Vlan10":    {Name: "Vlan10", VLAN: 10, Up: true},
		"Loopback0": {Name: "Loopback0", Up: true},
	}
	held := func(what string) {
		t.Helper()
		if d := cmp.Diff(want, b.k.beside); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	held("all")
	b.set("LAG_MEMBER_TABLE:PortChannel1:Ethernet8 status=disabled", "INTF_TABLE:Loopback0:10.9.9.9/32",
		"INTF_TABLE:Loopback0",
		"LAG_TABLE:PortChannel1 admin_status=up mtu=1500 oper_status=down protocol=lacp")
	delete(want, "Loopback0")
	want["PortChannel1"] = cpuport.Interface{Name: "PortChannel1", LAG: true, LACP: true,
		Members: []string{"Ethernet4", "Ethernet8"}, Senders: []string{"Ethernet4"}}
	held("a member disabled, a loopback gone")
	b.host.SetKeeper(nil)
	clear(b.k.beside)
	b.set("INTF_TABLE:Vlan20 NULL=NULL")
	want["Vlan20"] = cpuport.Interface{Name: "Vlan20", VLAN: 20, Up: true}
	b.host.SetKeeper(keeper{b.k})
	held("another syncd")
}

// A restart of hostifd removes nothing from Linux: no device is removed, and each is set once, to the same state. A
// device that was replaced is set again.
func TestRestartRemovesNothing(t *testing.T) {
	b := newBench(t)
	b.ports()
	before, held := b.devices(), maps.Clone(b.k.beside)
	b.k.whole = nil
	if err := b.host.Close(); err != nil {
		t.Fatal(err)
	}
	b.host = NewHost(b.k, slog.New(slog.DiscardHandler))
	b.host.SetKeeper(keeper{b.k})
	b.begin()
	b.step()
	b.want("after a restart", before...)
	if d := cmp.Diff(held, b.k.beside); d != "" {
		t.Errorf("held are others: %s", d)
	}
	if slices.Sort(b.k.whole); len(b.k.whole) != len(before) || len(slices.Compact(b.k.whole)) != len(before) {
		t.Errorf("set were %v, want each once", b.k.whole)
	}
	change := func(name string, index int) {
		t.Helper()
		b.k.whole = nil
		b.link(name, index)
	}
	change("Ethernet0", 7)
	change("Ethernet0", 7)
	if len(b.k.whole) != 0 {
		t.Errorf("set were %v, want none: the device is the same", b.k.whole)
	}
	if change("Ethernet0", 8); !slices.Equal(b.k.whole, []string{"Ethernet0"}) {
		t.Errorf("set were %v, want Ethernet0, which is another device", b.k.whole)
	}
	b.k.left = []string{"Ethernet96"}
	if change("Ethernet96", 9); len(b.k.whole) != 0 || len(b.k.left) != 0 {
		t.Errorf("set were %v, left %v, want none: no row asks for the device", b.k.whole, b.k.left)
	}
}

func neighbor(name, addr, mac string) Neighbor {
	m, _ := schema.ParseMAC(mac)
	return Neighbor{Interface: name, Addr: netip.MustParseAddr(addr), MAC: m, Gone: mac == ""}
}

// A neighbour that Linux drops while syncd restarts keeps its row: FRR adds it again once the device has its carrier.
func TestNeighborsStayWhileSyncdRestarts(t *testing.T) {
	b := newBench(t)
	b.ports()
	line := func(line Sender) {
		t.Helper()
		if err := b.d.Do(t.Context(), func() { b.s.SetLine(line) }); err != nil {
			t.Fatal(err)
		}
		b.step()
	}
	line(&sentFrames{})
	b.pass(time.Minute)
	const mac, row = "02:00:00:00:00:12", "Ethernet0:10.0.0.2 family=IPv4 neigh=02:00:00:00:00:12"
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac))
	b.wantNeighbors("at first", row)
	line(nil)
	b.learned(neighbor("Ethernet0", "10.0.0.2", ""))
	b.wantNeighbors("syncd has ended", row)
	b.pass(9 * time.Second)
	line(&sentFrames{})
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac))
	b.pass(time.Minute)
	b.wantNeighbors("syncd is back, and the neighbour", row)
	line(nil)
	b.learned(neighbor("Ethernet0", "10.0.0.2", ""))
	b.pass(9 * time.Second)
	b.wantNeighbors("it has not returned yet", row)
	b.pass(time.Second)
	b.wantNeighbors("it has not returned in time")
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac))
	b.learned(neighbor("Ethernet0", "10.0.0.2", ""))
	b.wantNeighbors("Linux drops it while syncd works")
}

// Neighbours of Linux have rows as neighsyncd writes them, unless they do not answer.
func TestNeighbors(t *testing.T) {
	b := newBench(t)
	b.ports()
	const mac = "02:00:00:00:00:11"
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac), neighbor("Ethernet0", "2001:db8::2", mac),
		neighbor("Ethernet0", "fe80::2", mac),
		neighbor("PortChannel1", "fe80::3", mac), neighbor("Ethernet0", "224.0.0.1", mac),
		neighbor("Ethernet0", "10.0.0.3", "ff:ff:ff:ff:ff:ff"),
		neighbor("eth0", "10.0.0.4", mac), neighbor("Ethernet12", "10.0.0.5", mac))
	const (
		v4    = "Ethernet0:10.0.0.2 family=IPv4 neigh=" + mac
		v6    = "Ethernet0:2001:db8::2 family=IPv6 neigh=" + mac
		local = "PortChannel1:fe80::3 family=IPv6 neigh=" + mac
	)
	b.wantNeighbors("what Linux has", v4, v6, local)
	b.learned(neighbor("Ethernet0", "10.0.0.2", "02:00:00:00:00:22"), neighbor("Ethernet0", "2001:db8::2", ""))
	const moved = "Ethernet0:10.0.0.2 family=IPv4 neigh=02:00:00:00:00:22"
	b.wantNeighbors("one moved, one gone", moved, local)
	b.set("INTF_TABLE:PortChannel1 NULL=NULL")
	b.wantNeighbors("no addresses of the link any more", moved)

	// A configured neighbour is tammgrd's, and also in Linux. When it is deleted, the one that Linux learned is
	// written.
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.2 neigh=02:00:00:00:00:99 family=IPv4 config_key=Ethernet0|10.0.0.2")
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac))
	b.wantNeighbors("configured", "Ethernet0:10.0.0.2 config_key=Ethernet0|10.0.0.2 family=IPv4 neigh=02:00:00:00:00:99")
	if !b.k.static["Ethernet0:10.0.0.2 02:00:00:00:00:99"] {
		t.Errorf("permanent in Linux are %v", b.k.static)
	}
	clear(b.k.static)
	b.learned(neighbor("Ethernet0", "10.0.0.2", "")) // Linux drops it when the interface goes down
	if !b.k.static["Ethernet0:10.0.0.2 02:00:00:00:00:99"] {
		t.Errorf("permanent in Linux are %v after one was dropped", b.k.static)
	}
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac))
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.2")
	b.wantNeighbors("not configured any more", v4)
	if len(b.k.static) != 0 {
		t.Errorf("permanent in Linux are %v", b.k.static)
	}
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.2 neigh=02:00:00:00:00:98 family=IPv4")
	b.wantNeighbors("somebody else writes the row", v4)
}

// A configured neighbour that is deleted while Linux refuses to remove it, as while its interface is down, is removed
// as soon as Linux allows it. Meanwhile it does not count as one that Linux has learned.
func TestNeighborDeletedWhileDown(t *testing.T) {
	b := newBench(t)
	b.ports()
	const mac = "02:00:00:00:00:99"
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.2 neigh=" + mac + " family=IPv4 config_key=Ethernet0|10.0.0.2")
	set := neighbor("Ethernet0", "10.0.0.2", mac)
	set.Permanent = true
	b.learned(set)
	b.k.fails = true
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.2")
	b.wantNeighbors("Linux refuses")
	b.pass(retryAfter)
	b.learned(set) // Linux reports all neighbours again
	b.wantNeighbors("Linux still refuses")
	b.k.fails = false
	b.pass(2 * retryAfter)
	if len(b.k.static) > 0 {
		t.Errorf("permanent in Linux are %v", b.k.static)
	}
	b.wantNeighbors("removed")
}

// A configured neighbour that is deleted while hostifd is down is removed from Linux when it starts again, if need be
// later. It never counts as learned. The permanent neighbours of zebra stay.
func TestNeighborDeletedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.ports()
	const mac, stays = "02:00:00:00:00:99", "Ethernet0:10.0.0.3"
	row := func(ip string) string {
		return "NEIGH_TABLE:Ethernet0:" + ip + " neigh=" + mac + " family=IPv4 config_key=Ethernet0|" + ip
	}
	b.set(row("10.0.0.2"), row("10.0.0.3"))
	b.d.Close()
	table := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppNeigh)
	if err := table.Del(t.Context(), "Ethernet0:10.0.0.2"); err != nil {
		t.Fatal(err)
	}
	b.begin()
	b.k.fails = true
	var list []Neighbor
	for _, ip := range []string{"10.0.0.2", "10.0.0.3", "169.254.0.1"} {
		n := neighbor("Ethernet0", ip, mac)
		n.Permanent = true
		list = append(list, n)
	}
	b.learned(list[:2]...)
	b.k.fails = false
	b.pass(retryAfter)
	b.learned(list[2])
	if got := slices.Sorted(maps.Keys(b.k.static)); !slices.Equal(got, []string{stays + " " + mac}) {
		t.Errorf("permanent in Linux are %v", got)
	}
	b.wantNeighbors("started again", stays+" config_key=Ethernet0|10.0.0.3 family=IPv4 neigh="+mac,
		"Ethernet0:169.254.0.1 family=IPv4 neigh="+mac)
}

// By neighsyncd's rules a link-local neighbour at a numbered interface has no row. It has one while a route leads
// there: without the row the route is not in the chip.
func TestLinkLocalNextHop(t *testing.T) {
	b := newBench(t)
	b.ports()
	const mac = "02:00:00:00:00:11"
	const row = "Ethernet0:fe80::2 family=IPv6 neigh=" + mac
	b.learned(neighbor("Ethernet0", "fe80::2", mac), neighbor("Ethernet0", "fe80::3", mac))
	b.wantNeighbors("no route leads there")
	b.set("ROUTE_TABLE:2001:db8:60::/48 nexthop=fe80::2 ifname=Ethernet0 protocol=bgp")
	b.wantNeighbors("a route does", row)
	b.set("ROUTE_TABLE:2001:db8:61::/48 nexthop=2001:db8::9,fe80::2 ifname=Ethernet0,Ethernet0 protocol=bgp")
	b.set("ROUTE_TABLE:2001:db8:60::/48")
	b.wantNeighbors("another does", row)
	b.learned(neighbor("Ethernet0", "fe80::2", ""))
	b.wantNeighbors("it no longer answers")
	b.learned(neighbor("Ethernet0", "fe80::2", mac))
	b.wantNeighbors("it answers again", row)
	b.set("ROUTE_TABLE:2001:db8:61::/48 nexthop=fe80::2 ifname=Ethernet4 protocol=bgp")
	b.wantNeighbors("the route leads elsewhere")
}

// If Linux lacks the neighbour of a row when hostifd starts, the row stays while the neighbour is probed. Without an
// answer it is removed.
func TestNeighborsOfBefore(t *testing.T) {
	b := newBench(t)
	const (
		one = "Ethernet0:10.0.0.2 family=IPv4 neigh=02:00:00:00:00:11"
		two = "Ethernet0:10.0.0.3 family=IPv4 neigh=02:00:00:00:00:12"
	)
	b.k.fails = true
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.2 neigh=02:00:00:00:00:11 family=IPv4",
		"NEIGH_TABLE:Ethernet0:10.0.0.3 neigh=02:00:00:00:00:12 family=IPv4")
	b.ports()
	b.wantNeighbors("at the beginning", one, two)
	b.k.fails = false
	b.pass(retryAfter)
	if len(b.k.asked) != 2 {
		t.Errorf("asked were %v, want both", b.k.asked)
	}
	b.learned(neighbor("Ethernet0", "10.0.0.2", "02:00:00:00:00:11"))
	b.pass(neighborTime)
	b.pass(neighborTime)
	b.wantNeighbors("one has answered", one)
	if err := b.d.Do(t.Context(), b.s.Forget); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.wantNeighbors("Linux is asked for all", one)
	b.learned(neighbor("Ethernet0", "10.0.0.2", ""))
	b.wantNeighbors("and says that it has gone")
}

// Linux is made to resolve unknown next hops of routes, at interfaces that are up, with growing pauses.
func TestNextHopsAreAskedFor(t *testing.T) {
	b := newBench(t)
	b.ports()
	b.set("ROUTE_TABLE:10.5.0.0/16 nexthop=10.0.0.2,10.0.0.3 ifname=Ethernet0,Ethernet0",
		"ROUTE_TABLE:10.6.0.0/16 nexthop=10.0.0.3,10.8.0.2 ifname=Ethernet0,Ethernet8",
		"ROUTE_TABLE:10.7.0.0/16 blackhole=true",
		"ROUTE_TABLE:10.8.0.0/16 nexthop=0.0.0.0 ifname=Ethernet0")
	asked := func(what string, want ...string) {
		t.Helper()
		b.pass(retryAfter)
		if d := cmp.Diff(want, b.k.wanted); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		b.k.wanted = nil
	}
	asked("at once", "Ethernet0:10.0.0.2", "Ethernet0:10.0.0.3")
	known := neighbor("Ethernet0", "10.0.0.2", "02:00:00:00:00:11")
	known.Permanent = true // otherwise it is probed from time to time, see TestNeighborsAreAskedAgain
	b.learned(known)
	asked("not soon again")
	asked("again", "Ethernet0:10.0.0.3")
	for range 3 {
		asked("more rarely")
	}
	asked("again", "Ethernet0:10.0.0.3")
	b.set("ROUTE_TABLE:10.5.0.0/16", "ROUTE_TABLE:10.6.0.0/16")
	b.now = b.now.Add(time.Hour)
	asked("no route needs one")

	p := swss.NewProducerState(b.r.DB(swss.ApplDB), schema.AppNeighResolve)
	for _, key := range []string{"Ethernet0:10.0.0.9", "nonsense"} {
		if err := p.Set(t.Context(), key, swss.Pairs(swss.FieldValues{"mac": "00:00:00:00:00:00"})); err != nil {
			t.Fatal(err)
		}
	}
	asked("orchagent wants one", "Ethernet0:10.0.0.9")
	b.set("ROUTE_TABLE:10.5.0.0/16 nexthop=10.0.0.9 ifname=Ethernet0")
	if err := p.Del(t.Context(), "Ethernet0:10.0.0.9"); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Hour)
	asked("a route still does", "Ethernet0:10.0.0.9")
	b.set("ROUTE_TABLE:10.5.0.0/16")
	b.now = b.now.Add(time.Hour)
	asked("nobody does")
}
