package fpmsyncd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/cfgmgr/routes"
	"tamtam/host/fpm"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// interfaces holds the interfaces of the host on which zebra was recorded.
var interfaces = map[uint32]string{3: "Ethernet0", 5: "Ethernet4", 7: "Ethernet8", 9: "eth0"}

// A bench is fpmsyncd beside the manager of static routes, with a consumer of their rows in place of orchagent.
type bench struct {
	t        *testing.T
	r        *swss.Redis
	now      time.Time
	d        *orch.Daemon
	sync     *Sync
	mgr      *orch.Daemon
	consumer *swss.ConsumerState
	list     *swss.Listener
	sent     [][]byte // answers to zebra
}

func (b *bench) answer(frame []byte) bool {
	b.sent = append(b.sent, frame)
	return true
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, r: swsstest.Start(t), now: time.Unix(1000, 0)}
	b.beginManager()
	b.list = swss.NewListener(b.r)
	b.consumer = swss.NewConsumerState(b.list, b.r.DB(swss.ApplDB), schema.AppRoute)
	t.Cleanup(func() { b.list.Close() })
	b.begin()
	return b
}

func (b *bench) beginManager() {
	d := orch.NewDaemon("tammgrd", b.r, orch.Options{})
	b.mgr = d
	routes.New(d, b.r)
	b.t.Cleanup(func() { d.Close() })
}

func (b *bench) begin() {
	if b.d != nil {
		b.d.Close()
	}
	d := orch.NewDaemon("fpmsyncd", b.r, orch.Options{})
	b.d = d
	b.sync = New(Config{Daemon: d, Redis: b.r, Name: func(i uint32) string { return interfaces[i] }})
	b.t.Cleanup(func() { d.Close() })
	b.step()
}

func (b *bench) step() {
	b.t.Helper()
	b.stepOne(b.d)
	b.stepOne(b.mgr)
	b.stepOne(b.d)
	b.consume()
}

func (b *bench) stepOne(d *orch.Daemon) {
	b.t.Helper()
	if _, err := d.Step(b.t.Context(), b.now); err != nil {
		b.t.Fatal(err)
	}
}

// consume does what orchagent does: queued rows become rows of the table.
func (b *bench) consume() {
	b.t.Helper()
	if err := b.list.Sync(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	for {
		rows, err := b.consumer.Pops(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		if len(rows) == 0 {
			return
		}
	}
}

func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.now = b.now.Add(d)
	b.step()
}

func (b *bench) do(f func()) {
	b.t.Helper()
	if err := b.d.Do(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
	b.step()
}

func (b *bench) say(frames ...[]byte) {
	b.t.Helper()
	b.do(func() {
		for _, f := range frames {
			b.sync.Receive(f)
		}
	})
}

// config writes a row of CONFIG_DB, or without fields deletes it.
func (b *bench) config(name string, fields ...string) {
	b.t.Helper()
	table, key, _ := strings.Cut(name, "|")
	rows := swss.NewTable(b.r.DB(swss.ConfigDB), table)
	err := rows.Del(b.t.Context(), key)
	if fv := fieldsOf(fields); err == nil && len(fields) > 0 {
		err = rows.Set(b.t.Context(), key, fv)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.step()
}

func fieldsOf(list []string) swss.FieldValues {
	fv := swss.FieldValues{}
	for _, f := range list {
		name, value, _ := strings.Cut(f, "=")
		fv[name] = value
	}
	return fv
}

// table returns the rows of ROUTE_TABLE as lines.
func (b *bench) table() []string {
	b.t.Helper()
	rows, err := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppRoute).Dump(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		line := key
		for _, p := range swss.Pairs(rows[key]) {
			line += " " + p.Field + "=" + p.Value
		}
		lines = append(lines, line)
	}
	return lines
}

func (b *bench) want(what string, lines ...string) {
	b.t.Helper()
	if d := cmp.Diff(lines, b.table()); d != "" {
		b.t.Errorf("%s: %s", what, d)
	}
}

func (b *bench) wantLacks(part string) {
	b.t.Helper()
	if got := b.sync.Lacks(); part == "" && got != "" || !strings.Contains(got, part) {
		b.t.Errorf("lacks %q, want %q", got, part)
	}
}

func recorded(t testing.TB, name string) (frames [][]byte) {
	t.Helper()
	stream, err := os.ReadFile("../fpm/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for r := fpm.NewReader(bytes.NewReader(stream)); ; {
		frame, err := r.Next()
		if err != nil {
			return frames
		}
		frames = append(frames, bytes.Clone(frame))
	}
}

// reported returns a message that adds a route, or without a gateway deletes it.
func reported(dest, gateway string, index uint32) []byte {
	p := netip.MustParsePrefix(dest)
	kind, body := uint16(25), []byte{2, byte(p.Bits()), 0, 0, 254, 186, 0, 1, 0, 0, 0, 0}
	if p.Addr().Is6() {
		body[0] = 10
	}
	attr := func(kind uint16, v []byte) {
		body = binary.NativeEndian.AppendUint16(body, uint16(4+len(v)))
		body = append(binary.NativeEndian.AppendUint16(body, kind), v...)
	}
	attr(1, p.Addr().AsSlice())
	if gateway != "" {
		kind = 24
		attr(5, netip.MustParseAddr(gateway).AsSlice())
		attr(4, binary.NativeEndian.AppendUint32(nil, index))
	}
	m := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	m = append(binary.NativeEndian.AppendUint16(m, kind), make([]byte, 10)...)
	return append(m, body...)
}

// The routes of a zebra 8.4.4 without next-hop groups become rows with the fields of SONiC's fpmsyncd. Routes by eth0
// and link-local routes are not the switch's. Routes that drop with an error become rows that drop.
func TestZebraReports(t *testing.T) {
	const walk = 17 // frames with the initial routes; then come changes
	b := newBench(t)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	frames := recorded(t, "zebra-8.4.4.bin")
	b.say(frames[:walk]...)
	all := []string{
		"10.0.0.0/24 ifname=Ethernet0 nexthop=0.0.0.0 protocol=kernel weight=1",
		"10.0.4.0/24 ifname=Ethernet4 nexthop=0.0.0.0 protocol=kernel weight=1",
		"10.0.8.0/24 ifname=Ethernet8 nexthop=0.0.0.0 protocol=kernel weight=1",
		"10.9.0.0/16 ifname=Ethernet0 nexthop=10.0.0.2 protocol=static weight=1",
		"10.9.1.0/24 ifname=Ethernet0,Ethernet4 nexthop=10.0.0.2,10.0.4.2 protocol=static weight=1,1",
		"10.9.2.1 blackhole=true protocol=static",
		"10.9.3.0/24 blackhole=true protocol=static",
		"10.9.5.0/24 ifname=Ethernet8 nexthop=0.0.0.0 protocol=static weight=1",
		"2001:db8:4::/64 ifname=Ethernet4 nexthop=:: protocol=kernel weight=1",
		"2001:db8:8::/64 ifname=Ethernet8 nexthop=:: protocol=kernel weight=1",
		"2001:db8:9::/48 ifname=Ethernet0 nexthop=2001:db8::2 protocol=static weight=1",
		"2001:db8::/64 ifname=Ethernet0 nexthop=:: protocol=kernel weight=1",
		"2001:db8:a::/48 ifname=Ethernet0,Ethernet4 nexthop=2001:db8::2,2001:db8:4::2 protocol=static weight=1,1",
		"2001:db8:b::/48 ifname=Ethernet4 nexthop=fe80::2 protocol=static weight=1",
	}
	b.want("what it has", all...)
	b.wantLacks("")
	// 10.9.0.0/16 moves to Ethernet4, 10.9.5.0/24 is deleted, then Ethernet4 goes down.
	b.say(frames[walk : walk+2]...)
	b.want("a way moved, a route gone", slices.Concat(all[:3],
		[]string{"10.9.0.0/16 ifname=Ethernet4 nexthop=10.0.4.2 protocol=static weight=1"}, all[4:7], all[8:])...)
	b.say(frames[walk+2 : walk+9]...)
	b.want("an interface down", all[0], all[2],
		"10.9.1.0/24 ifname=Ethernet0 nexthop=10.0.0.2 protocol=static weight=1", all[5], all[6], all[9], all[10], all[11],
		"2001:db8:a::/48 ifname=Ethernet0 nexthop=2001:db8::2 protocol=static weight=1")
}

// zebra's default: routes refer to next hops and groups of them by ID. The rows are the same, and follow when a next
// hop changes.
func TestGroups(t *testing.T) {
	b := newBench(t)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	frames := recorded(t, "zebra-8.4.4-groups.bin")
	b.say(frames...)
	got := strings.Join(b.table(), "\n")
	for _, line := range []string{
		"10.9.1.0/24 ifname=Ethernet0,Ethernet4 nexthop=10.0.0.2,10.0.4.2 protocol=static weight=1,1",
		"10.9.0.0/16 ifname=Ethernet4 nexthop=10.0.4.2 protocol=static weight=1",
		"10.9.2.1 blackhole=true protocol=static",
		"2001:db8:b::/48 ifname=Ethernet4 nexthop=fe80::2 protocol=static weight=1",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no row %s in\n%s", line, got)
		}
	}
	gone := bytes.Clone(frames[5]) // next hop 38, which is 10.0.4.2
	binary.NativeEndian.PutUint16(gone[4:], 105)
	b.say(gone)
	got = strings.Join(b.table(), "\n")
	if !strings.Contains(got, "10.9.1.0/24 ifname=Ethernet0 nexthop=10.0.0.2 protocol=static weight=1") ||
		strings.Contains(got, "10.9.0.0/16") {
		t.Errorf("a next hop went, and there is\n%s", got)
	}
	b.say(frames[5])
	if got := strings.Join(b.table(), "\n"); !strings.Contains(got, "10.9.0.0/16 ifname=Ethernet4 nexthop=10.0.4.2") {
		t.Errorf("a next hop came, and there is\n%s", got)
	}
}

// A configured prefix is tammgrd's while tammgrd has a row for it. When that row is deleted, zebra's is written, in
// whichever order the two daemons write.
func TestStaticRoutesAreTammgrds(t *testing.T) {
	b := newBench(t)
	b.config("PORT|Ethernet0", "lanes=0", "speed=1000")
	b.config("INTERFACE|Ethernet0", "NULL=NULL")
	b.config("INTERFACE|Ethernet0|10.0.0.1/24", "NULL=NULL")
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	const (
		static = "10.7.0.0/16 config_key=10.7.0.0/16 ifname=Ethernet0 nexthop=10.0.0.9 protocol=static"
		zebra  = "10.7.0.0/16 ifname=Ethernet0,Ethernet4 nexthop=10.0.0.2,10.0.4.2 protocol=static weight=1,1"
	)
	multi := bytes.Clone(recorded(t, "zebra-8.4.4.bin")[4]) // 10.9.1.0/24 by two next hops
	multi[17] = 16
	copy(multi[32:], []byte{10, 7, 0, 0})
	b.say(multi)
	b.want("zebra's", zebra)
	b.config("STATIC_ROUTE|10.7.0.0/16", "nexthop=10.0.0.9")
	b.want("configured: none of zebra's fields is left", static)
	b.say(reported("10.7.0.0/16", "10.0.0.3", 3))
	b.want("zebra changes its mind", static)
	b.pass(time.Minute)
	b.want("a minute later", static)
	b.config("INTERFACE|Ethernet0|10.0.0.1/24")
	b.pass(time.Second)
	const changed = "10.7.0.0/16 ifname=Ethernet0 nexthop=10.0.0.3 protocol=bgp weight=1"
	b.want("the configured next hop has no interface", changed)
	b.config("INTERFACE|Ethernet0|10.0.0.1/24", "NULL=NULL")
	b.pass(time.Second)
	b.want("it has one again", static)
	b.begin()
	b.pass(time.Second)
	b.want("fpmsyncd begins anew", static)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	b.say(reported("10.7.0.0/16", "10.0.0.3", 3))
	b.config("STATIC_ROUTE|10.7.0.0/16")
	b.pass(hurryPeriod)
	b.want("no more configured", changed)
	b.config("STATIC_ROUTE|10.7.0.0/16", "nexthop=10.0.0.9")
	b.say(reported("10.7.0.0/16", "", 0))
	b.want("zebra's goes, the configured one stays", static)
	b.config("STATIC_ROUTE|10.7.0.0/16")
	b.pass(time.Second)
	b.want("nobody's")
}

// Rows of an earlier run stay until zebra has had its time. Rows of other clients stay.
func TestRestart(t *testing.T) {
	b := newBench(t)
	hand := swss.NewProducerState(b.r.DB(swss.ApplDB), schema.AppRoute)
	err := hand.Set(t.Context(), "10.66.0.0/16", []swss.Pair{{Field: "blackhole", Value: "true"}})
	if err != nil {
		t.Fatal(err)
	}
	b.wantLacks("zebra is not connected")
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	b.say(
		reported("10.1.0.0/16", "10.0.0.2", 3),
		reported("10.2.0.0/16", "10.0.0.2", 3),
		reported("10.3.0.0/16", "10.0.0.2", 3),
	)
	const (
		one   = "10.1.0.0/16 ifname=Ethernet0 nexthop=10.0.0.2 protocol=bgp weight=1"
		two   = "10.2.0.0/16 ifname=Ethernet0 nexthop=10.0.0.2 protocol=bgp weight=1"
		three = "10.3.0.0/16 ifname=Ethernet0 nexthop=10.0.0.2 protocol=bgp weight=1"
		moved = "10.2.0.0/16 ifname=Ethernet4 nexthop=10.0.4.2 protocol=bgp weight=1"
		hands = "10.66.0.0/16 blackhole=true"
	)
	b.want("told", one, two, three, hands)
	b.beginManager()
	b.pass(time.Second)
	b.want("tammgrd begins anew", one, two, three, hands)
	for _, restart := range []func(){
		func() { b.do(func() { b.sync.Disconnected(os.ErrClosed) }) },
		b.begin,
	} {
		b.say(
			reported("10.1.0.0/16", "10.0.0.2", 3),
			reported("10.2.0.0/16", "10.0.0.2", 3),
			reported("10.3.0.0/16", "10.0.0.2", 3),
		)
		restart()
		b.wantLacks("zebra is not connected; the 3 routes that it sent stay")
		b.pass(time.Hour)
		b.want("not connected", one, two, three, hands)
		b.do(func() { b.sync.Connected("zebra", b.answer) })
		b.pass(RestartTime)
		b.want("it has said nothing", one, two, three, hands)
		b.say(reported("10.1.0.0/16", "10.0.0.2", 3), reported("10.2.0.0/16", "10.0.4.2", 5))
		b.want("some are told again", one, moved, three, hands)
		b.wantLacks("zebra has not sent 1 routes again")
		b.pass(RestartTime)
		b.want("it has had its time", one, moved, hands)
		b.wantLacks("")
	}
}

// Changes of rows by other clients are corrected, and a row without a route is deleted.
func TestDrift(t *testing.T) {
	b := newBench(t)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	b.say(reported("10.1.0.0/16", "10.0.0.2", 3), reported("10.2.0.0/16", "10.0.0.2", 3))
	want := b.table()
	b.pass(RestartTime)
	rows := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppRoute)
	for _, err := range []error{
		rows.Del(t.Context(), "10.1.0.0/16"), rows.Set(t.Context(), "10.2.0.0/16", swss.FieldValues{"nexthop": "10.0.0.7"}),
		rows.Set(t.Context(), "10.3.0.0/16", swss.FieldValues{"nexthop": "10.0.0.7", "ifname": "Ethernet0",
			"protocol": "bgp"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		b.now = b.now.Add(time.Second)
		if err := b.d.Compare(t.Context(), b.now); err != nil {
			t.Fatal(err)
		}
		b.step()
	}
	b.want("mended", want...)
}

// The state for a peer is limited, and what is left out is reported.
func TestHostilePeer(t *testing.T) {
	b := newBench(t)
	b.do(func() { b.sync.Connected("somebody", b.answer) })
	b.say([]byte("no netlink at all"), reported("10.1.0.0/16", "10.0.0.2", 3))
	b.wantLacks("1 messages of zebra's were not understood: a message of ")
	b.want("what was understood", "10.1.0.0/16 ifname=Ethernet0 nexthop=10.0.0.2 protocol=bgp weight=1")
	b.do(func() { b.sync.Connected("somebody", b.answer) })
	b.do(func() {
		b.sync.room = mostRoom
		b.sync.Receive(reported("10.2.0.0/16", "10.0.0.9", 3))
		b.sync.room -= mostRoom
	})
	b.wantLacks("there is no room for 1 routes")
	for i := range uint32(mostGroups + 1) {
		b.sync.applyNextHop(&fpm.NextHop{ID: i + 1})
	}
	if len(b.sync.hops) != mostGroups {
		t.Errorf("%d next hops are kept, want %d", len(b.sync.hops), mostGroups)
	}
	const noInterface = 77
	b.say(reported("10.3.0.0/16", "10.0.0.9", noInterface), reported("10.4.0.0/16", "10.0.0.9", noInterface))
	b.say(reported("10.3.0.0/16", "", 0))
	for dest := range b.sync.owes.messages {
		if b.sync.routes[dest] == nil {
			t.Errorf("an answer about %s is kept, which has no row", dest)
		}
	}
}

// Rows that look alike are kept once, and dropped with the last.
func TestRowsAreShared(t *testing.T) {
	b := newBench(t)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	var come, go_ [][]byte
	for i := range 100 {
		come = append(come, reported(fmt.Sprintf("10.%d.0.0/16", i), "10.0.0.2", 3))
		go_ = append(go_, reported(fmt.Sprintf("10.%d.0.0/16", i), "", 0))
	}
	b.say(come...)
	if len(b.sync.rows) != 1 || len(b.sync.routes) != 100 {
		t.Errorf("%d rows of %d routes, want 1 of 100", len(b.sync.rows), len(b.sync.routes))
	}
	b.say(go_...)
	if len(b.sync.rows) != 0 || len(b.sync.routes) != 0 || b.sync.room != 0 {
		t.Errorf("%d rows of %d routes, %d bytes, want none", len(b.sync.rows), len(b.sync.routes), b.sync.room)
	}
}
