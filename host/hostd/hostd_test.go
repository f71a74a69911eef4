package hostd

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/host"
	"tamtam/host/cpuport"
	"tamtam/host/lldp"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	mac  = host.MAC{2, 0, 0, 0, 0, 0xaa}
)

// A bench is hostd in simulated time, with an orchagent that consumes the rows of APPL_DB, and a CPU port.
type bench struct {
	*testing.T
	redis *swss.Redis
	orchs *orch.Daemon
	hostd *orch.Daemon
	host  *Host
	sent  []cpuport.Frame
	now   time.Time
}

// Send implements [Sender].
func (b *bench) Send(f cpuport.Frame) error { b.sent = append(b.sent, f); return f.Check() }

func newBench(t *testing.T) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	b := &bench{T: t, redis: r, now: noon}
	b.orchs = orch.NewDaemon("orchagent", r, orch.Options{})
	orch.Accept(b.orchs, r.DB(swss.ApplDB), schema.AppNeigh, schema.AppCOPP)
	t.Cleanup(func() { _ = b.orchs.Close() })
	b.appl(schema.AppPort, "Ethernet0", "oper_status", "up", "mtu", "9100")
	b.appl(schema.AppPort, "Ethernet4", "oper_status", "up")
	b.appl(schema.AppPort, "Ethernet8", "oper_status", "up")
	b.appl(schema.AppLAG, "PortChannel1", "oper_status", "up")
	b.appl(schema.AppLAGMember, "PortChannel1:Ethernet8", "status", "enabled")
	b.appl(schema.AppVLANMember, "Vlan20:Ethernet4", "tagging_mode", "tagged")
	for name, prefix := range map[string]string{
		"Ethernet0": "10.0.0.1/24", "Vlan20": "10.0.1.1/24", "PortChannel1": "10.0.2.1/24", "Loopback0": "10.9.9.9/32",
	} {
		b.appl(schema.AppInterface, name, "NULL", "NULL")
		b.appl(schema.AppInterface, name+":"+prefix, "family", "IPv4")
	}
	b.start()
	return b
}

// appl writes a row of APPL_DB as it is after orchagent has consumed it.
func (b *bench) appl(table, name string, pairs ...string) {
	b.Helper()
	row := swss.FieldValues{}
	for i := 0; i < len(pairs); i += 2 {
		row[pairs[i]] = pairs[i+1]
	}
	t := swss.NewTable(b.redis.DB(swss.ApplDB), table)
	err := t.Set(b.Context(), name, row)
	if len(pairs) == 0 {
		err = t.Del(b.Context(), name)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// start starts a hostd, and stops the earlier one.
func (b *bench) start() {
	b.Helper()
	if b.hostd != nil {
		_ = b.hostd.Close()
	}
	b.hostd = orch.NewDaemon("hostd", b.redis, orch.Options{})
	d := b.hostd
	b.Cleanup(func() { _ = d.Close() })
	b.host = New(Config{Daemon: d, Redis: b.redis, Stack: host.DefaultConfig(), MAC: mac})
	b.step()
	b.line(b)
}

func (b *bench) line(s Sender) {
	b.Helper()
	if err := b.hostd.Do(b.Context(), func() {
		b.host.SetLine(s, func() (cpuport.Counts, bool) { return cpuport.Counts{Punted: 7}, true })
	}); err != nil {
		b.Fatal(err)
	}
	b.step()
}

func (b *bench) step() {
	b.Helper()
	for again := true; again; {
		again = false
		for _, d := range []*orch.Daemon{b.hostd, b.orchs} {
			did, err := d.Step(b.Context(), b.now)
			if err != nil {
				b.Fatal(err)
			}
			again = again || did
		}
	}
}

func (b *bench) pass(d time.Duration) {
	b.Helper()
	for end := b.now.Add(d); b.now.Before(end); {
		b.now = b.now.Add(min(time.Second, end.Sub(b.now)))
		b.step()
	}
}

// arp receives an ARP request or reply of a host, as the chip punts it.
func (b *bench) arp(port string, vlan uint16, op byte, host byte, src, dst string) {
	b.Helper()
	f := append([]byte{}, mac[:]...)
	sha := []byte{2, 0, 0, 0, 0, host}
	f = append(f, sha...)
	if vlan != 0 {
		f = append(f, 0x81, 0, byte(vlan>>8), byte(vlan))
	}
	s, d := netip.MustParseAddr(src).As4(), netip.MustParseAddr(dst).As4()
	f = append(f, 8, 6, 0, 1, 8, 0, 6, 4, 0, op)
	f = append(append(append(append(f, sha...), s[:]...), mac[:]...), d[:]...)
	if err := b.hostd.Do(b.Context(), func() {
		b.host.Receive(cpuport.Packet{Port: port, VLAN: vlan, Trap: "arp_resp", Data: f, Len: len(f)})
	}); err != nil {
		b.Fatal(err)
	}
	b.step()
}

// rows returns a table as text, "key field=value ...", sorted.
func (b *bench) rows(db swss.DBName, table string, fields ...string) string {
	b.Helper()
	rows, err := swss.NewTable(b.redis.DB(db), table).Dump(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		line := name
		for _, f := range fields {
			if v, ok := rows[name][f]; ok {
				line += " " + f + "=" + v
			}
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

func (b *bench) neighbors(want string) {
	b.Helper()
	if got := b.rows(swss.ApplDB, schema.AppNeigh, "neigh", "family", schema.FieldConfigKey); got != want {
		b.Errorf("NEIGH_TABLE\n     %q\nwant %q", got, want)
	}
}

// asked returns where the stack has sent ARP requests since the last call.
func (b *bench) asked() string {
	asked := map[string]bool{}
	for _, f := range b.sent {
		if d := f.Data; d[12] == 8 && d[13] == 6 && d[21] == 1 && [4]byte(d[28:32]) != [4]byte(d[38:42]) {
			where := f.Port
			if f.VLAN != 0 {
				where = fmt.Sprint("VLAN ", f.VLAN)
			}
			asked[fmt.Sprintf("%s %s", where, netip.AddrFrom4([4]byte(d[38:42])))] = true
		}
	}
	b.sent = nil
	return strings.Join(slices.Sorted(maps.Keys(asked)), "; ")
}

func (b *bench) wantAsked(want string) {
	b.Helper()
	if got := b.asked(); got != want {
		b.Errorf("asked %q, want %q", got, want)
	}
}

// A neighbour that the stack resolves has a row of NEIGH_TABLE as neighsyncd writes it; a neighbour that no longer
// answers has none.
func TestResolvedNeighborsAreRows(t *testing.T) {
	b := newBench(t)
	b.arp("Ethernet0", 0, 1, 5, "10.0.0.5", "10.0.0.1")
	b.arp("Ethernet4", 20, 1, 6, "10.0.1.6", "10.0.1.1")
	b.arp("Ethernet8", 0, 1, 7, "10.0.2.7", "10.0.2.1")
	b.neighbors(
		"Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4; PortChannel1:10.0.2.7 neigh=02:00:00:00:00:07 " +
			"family=IPv4; " +
			"Vlan20:10.0.1.6 neigh=02:00:00:00:00:06 family=IPv4")
	b.pass(2 * time.Second)
	if got := b.rows(swss.StateDB, schema.StateHostNeigh, "state", "neigh", "confirmed"); !strings.Contains(got,
		"Vlan20|10.0.1.6 state=STALE neigh=02:00:00:00:00:06 confirmed=2026-01-02T12:00:00Z") {
		t.Errorf("STATE_DB has %q", got)
	}
	if got := b.rows(swss.StateDB, schema.StateHostAddress, "state"); got != "Ethernet0|10.0.0.1/24 state=usable; "+
		"Loopback0|10.9.9.9/32 state=usable; PortChannel1|10.0.2.1/24 state=usable; Vlan20|10.0.1.1/24 state=usable" {
		t.Errorf("STATE_DB has addresses %q", got)
	}
	if got := b.rows(swss.CountersDB, schema.CountersHost, "arp-requests",
		"cpu-port-punted"); got != "hostd arp-requests=3 cpu-port-punted=7" {
		t.Errorf("COUNTERS_DB has %q", got)
	}
	b.asked()
	b.pass(5 * time.Minute)
	b.wantAsked("Ethernet0 10.0.0.5; Ethernet8 10.0.2.7; VLAN 20 10.0.1.6")
	b.arp("Ethernet0", 0, 2, 5, "10.0.0.5", "10.0.0.1")
	b.pass(4 * time.Second)
	b.neighbors("Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4")
}

// Rows of tammgrd and of other clients are static for the stack: it neither resolves these neighbours nor touches the
// rows.
func TestRowsOfOthersStay(t *testing.T) {
	b := newBench(t)
	b.appl(schema.AppNeigh, "Ethernet0:10.0.0.5", "neigh", "02:00:00:00:00:99", "family", "IPv4", schema.FieldConfigKey,
		"Ethernet0|10.0.0.5")
	b.appl(schema.AppNeigh, "Ethernet0:10.0.0.6", "neigh", "02:00:00:00:00:98", "family", "IPv4")
	b.step()
	b.arp("Ethernet0", 0, 1, 5, "10.0.0.5", "10.0.0.1")
	b.arp("Ethernet0", 0, 1, 6, "10.0.0.6", "10.0.0.1")
	want := "Ethernet0:10.0.0.5 neigh=02:00:00:00:00:99 family=IPv4 config_key=Ethernet0|10.0.0.5; " +
		"Ethernet0:10.0.0.6 neigh=02:00:00:00:00:98 family=IPv4"
	b.neighbors(want)
	b.asked()
	b.pass(10 * time.Minute)
	b.wantAsked("")
	b.start()
	b.pass(10 * time.Minute)
	b.neighbors(want)
	b.wantAsked("")
}

// A static row takes over the stack's row. When it is deleted, the stack has its row again.
func TestStaticRowTakesOver(t *testing.T) {
	b := newBench(t)
	b.appl(schema.AppRoute, "10.7.0.0/16", "nexthop", "10.0.0.5", "ifname", "Ethernet0")
	b.step()
	b.wantAsked("Ethernet0 10.0.0.5")
	b.arp("Ethernet0", 0, 2, 5, "10.0.0.5", "10.0.0.1")
	b.neighbors("Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4")
	b.appl(schema.AppNeigh, "Ethernet0:10.0.0.5", "neigh", "02:00:00:00:00:99", "family", "IPv4", schema.FieldConfigKey,
		"Ethernet0|10.0.0.5")
	b.step()
	b.pass(10 * time.Minute)
	b.neighbors("Ethernet0:10.0.0.5 neigh=02:00:00:00:00:99 family=IPv4 config_key=Ethernet0|10.0.0.5")
	if got := b.rows(swss.StateDB, schema.StateHostNeigh); got != "" {
		t.Errorf("the stack still has %q", got)
	}
	b.wantAsked("")
	b.appl(schema.AppNeigh, "Ethernet0:10.0.0.5")
	b.step()
	b.wantAsked("Ethernet0 10.0.0.5")
	b.arp("Ethernet0", 0, 2, 5, "10.0.0.5", "10.0.0.1")
	b.neighbors("Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4")
}

// A hostd that starts does not change the rows of an earlier one. It probes each neighbour, and removes those that do
// not answer.
func TestRestartChangesNothing(t *testing.T) {
	b := newBench(t)
	b.appl(schema.AppRoute, "10.7.0.0/16", "nexthop", "10.0.0.5", "ifname", "Ethernet0")
	b.step()
	b.arp("Ethernet0", 0, 1, 5, "10.0.0.5", "10.0.0.1")
	b.arp("Ethernet4", 20, 1, 6, "10.0.1.6", "10.0.1.1")
	both := "Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4; Vlan20:10.0.1.6 neigh=02:00:00:00:00:06 family=IPv4"
	b.neighbors(both)
	deleted, written := 0, 0
	events := orch.NewDaemon("watcher", b.redis, orch.Options{})
	defer events.Close()
	src := func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, b.redis.DB(swss.ApplDB), schema.AppNeigh)
	}
	events.Consume(src, schema.AppNeigh, orch.HandlerFunc(func(_ context.Context, tasks []orch.Task) []error {
		for _, t := range tasks {
			if t.Op == orch.Del {
				deleted++
			} else {
				written++
			}
		}
		return make([]error, len(tasks))
	}), orch.Reporting{None: true})
	watch := func() {
		if _, err := events.Step(t.Context(), b.now); err != nil {
			t.Fatal(err)
		}
	}
	watch()
	written = 0
	b.asked()
	b.start()
	watch()
	if deleted+written != 0 {
		t.Errorf("%d rows removed and %d written by the restart", deleted, written)
	}
	b.wantAsked("Ethernet0 10.0.0.5; VLAN 20 10.0.1.6")
	b.neighbors(both)
	b.arp("Ethernet0", 0, 2, 5, "10.0.0.5", "10.0.0.1")
	b.pass(4 * time.Second)
	b.neighbors("Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4")
}

// While the CPU port is not connected no neighbour is solicited, and none is removed.
func TestWithoutCPUPortTimeStands(t *testing.T) {
	b := newBench(t)
	b.arp("Ethernet0", 0, 1, 5, "10.0.0.5", "10.0.0.1")
	want := "Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4"
	b.line(nil)
	b.pass(20 * time.Minute)
	b.neighbors(want)
	b.asked()
	b.line(b)
	b.pass(299 * time.Second)
	b.wantAsked("")
	b.pass(time.Second)
	b.wantAsked("Ethernet0 10.0.0.5")
	b.neighbors(want)
}

func TestNeighborsGoWithTheirInterface(t *testing.T) {
	b := newBench(t)
	b.arp("Ethernet0", 0, 1, 5, "10.0.0.5", "10.0.0.1")
	b.arp("Ethernet4", 20, 1, 6, "10.0.1.6", "10.0.1.1")
	for _, name := range []string{"Ethernet0", "Ethernet4"} { // while syncd is restarted
		b.appl(schema.AppPort, name, "oper_status", "unknown")
	}
	b.step()
	b.neighbors(
		"Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4; Vlan20:10.0.1.6 neigh=02:00:00:00:00:06 family=IPv4")
	b.appl(schema.AppPort, "Ethernet4", "oper_status", "down")
	b.step()
	b.neighbors("Ethernet0:10.0.0.5 neigh=02:00:00:00:00:05 family=IPv4")
	b.appl(schema.AppInterface, "Ethernet0:10.0.0.1/24")
	b.step()
	b.neighbors("")
}

func TestNeighborsGoWithASuspendedVLAN(t *testing.T) {
	b := newBench(t)
	b.arp("Ethernet4", 20, 1, 6, "10.0.1.6", "10.0.1.1")
	b.appl(schema.AppVLAN, "Vlan20", "vlanid", "20", "admin_status", "up")
	b.step()
	b.neighbors("Vlan20:10.0.1.6 neigh=02:00:00:00:00:06 family=IPv4")
	b.appl(schema.AppVLAN, "Vlan20", "vlanid", "20", "admin_status", "down")
	b.step()
	b.neighbors("")
}

// A row in NEIGH_RESOLVE_TABLE, as SONiC's orchagent writes it, makes hostd resolve a neighbour.
func TestNeighResolve(t *testing.T) {
	b := newBench(t)
	b.asked()
	p := swss.NewProducerState(b.redis.DB(swss.ApplDB), schema.AppNeighResolve)
	if err := p.Set(t.Context(), "Vlan20:10.0.1.6", swss.Pairs(swss.FieldValues{"mac": "00:00:00:00:00:00"})); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.wantAsked("VLAN 20 10.0.1.6")
	b.pass(9 * time.Second) // hostd asks again if there is no answer
	b.wantAsked("VLAN 20 10.0.1.6")
	if err := p.Del(t.Context(), "Vlan20:10.0.1.6"); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.pass(9 * time.Second)
	b.asked()
	b.pass(time.Minute)
	b.wantAsked("")
}

// An LLDP neighbour at a port has a row as SONiC's lldp-syncd writes it, until it expires; a restart does not remove
// it.
func TestLLDP(t *testing.T) {
	b := newBench(t)
	neighbor := lldp.New()
	neighbor.Configure(b.now, lldp.System{MAC: [6]byte{2, 0, 0, 0, 0, 9}, Name: "s9", Description: "another"},
		[]lldp.Port{{Name: "Ethernet40", Alias: "etp11"}})
	said := neighbor.Frames()[0].Data
	speaks := func() {
		t.Helper()
		if err := b.hostd.Do(t.Context(), func() {
			b.host.Receive(cpuport.Packet{Port: "Ethernet4", VLAN: 20, Trap: "lldp", Data: said, Len: len(said)})
		}); err != nil {
			t.Fatal(err)
		}
		b.step()
	}
	rows := func(want string) {
		t.Helper()
		if got := b.rows(swss.ApplDB, schema.AppLLDPEntry, "lldp_rem_chassis_id_subtype", "lldp_rem_chassis_id",
			"lldp_rem_port_id_subtype",
			"lldp_rem_port_id", "lldp_rem_port_desc", "lldp_rem_sys_name", "lldp_rem_sys_desc",
			"lldp_rem_sys_cap_enabled"); got != want {
			t.Errorf("LLDP_ENTRY_TABLE\n     %q\nwant %q", got, want)
		}
	}
	var spoken []string
	for _, f := range b.sent {
		if f.Data[12] == 0x88 && f.Data[13] == 0xcc {
			spoken = append(spoken, f.Port)
		}
	}
	if got := strings.Join(spoken, " "); got != "Ethernet0 Ethernet4 Ethernet8" {
		t.Errorf("spoke at %q", got)
	}
	speaks()
	b.pass(time.Second)
	one := "Ethernet4 lldp_rem_chassis_id_subtype=4 lldp_rem_chassis_id=02:00:00:00:00:09 lldp_rem_port_id_subtype=7 " +
		"lldp_rem_port_id=etp11 " +
		"lldp_rem_port_desc=Ethernet40 lldp_rem_sys_name=s9 lldp_rem_sys_desc=another lldp_rem_sys_cap_enabled=28 00"
	rows(one)
	b.start()
	b.pass(100 * time.Second)
	rows(one)
	speaks()
	b.pass(100 * time.Second)
	rows(one)
	b.line(nil)
	b.pass(time.Hour)
	b.line(b)
	b.pass(10 * time.Second)
	rows(one)
	b.pass(20 * time.Second)
	rows("")
}

// The traps that the stack needs are rows of COPP_TABLE, except those that a group of CONFIG_DB has.
func TestTraps(t *testing.T) {
	b := newBench(t)
	traps := func(want string) {
		t.Helper()
		if got := b.rows(swss.ApplDB, schema.AppCOPP, "trap_action", "trap_ids"); got != want {
			t.Errorf("COPP_TABLE\n     %q\nwant %q", got, want)
		}
	}
	errorsAnd := "host-error trap_action=trap trap_ids=l3_mtu_error,neighbor_miss,ttl_error"
	all := "host-arp trap_action=copy trap_ids=arp_req,arp_resp,neigh_discovery; " + errorsAnd +
		"; host-ip2me trap_action=trap trap_ids=ip2me"
	traps(all)
	b.appl(schema.AppCOPP, "queue1_group1", "trap_action", "trap", "trap_ids", "ip2me,arp_req")
	b.step()
	traps("host-arp trap_action=copy trap_ids=arp_resp,neigh_discovery; " + errorsAnd +
		"; queue1_group1 trap_action=trap trap_ids=ip2me,arp_req")
	b.start()
	b.appl(schema.AppCOPP, "queue1_group1")
	b.step()
	traps(all)
}

// A row of STATE_DB that another client deleted is written again, in any table.
func TestDeletedRowsReturn(t *testing.T) {
	b := newBench(t)
	b.arp("Ethernet0", 0, 1, 5, "10.0.0.5", "10.0.0.1")
	b.pass(2 * time.Second)
	rows := func() string {
		return b.rows(swss.StateDB, schema.StateHostNeigh, "neigh") + "; " +
			b.rows(swss.StateDB, schema.StateHostAddress, "state")
	}
	want := rows()
	if !strings.Contains(want, "Ethernet0|10.0.0.5 neigh=02:00:00:00:00:05") {
		t.Fatalf("STATE_DB has %q", want)
	}
	if err := b.redis.DB(swss.StateDB).Client().FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Minute + time.Second)
	if got := rows(); got != want {
		t.Errorf("after STATE_DB was emptied it has %q, want %q", got, want)
	}
}
