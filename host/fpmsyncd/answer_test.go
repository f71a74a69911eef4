package fpmsyncd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/host/fpm"
	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// offloaded returns the routes that were reported to zebra as in the ASIC since the last call, as zebra reads them.
// Routes reported as gone from it begin with "not ".
func (b *bench) offloaded() (list []string) {
	b.t.Helper()
	const routeFlags, offload, failed = 16 + 8, 0x4000, 0x20000000
	for r := fpm.NewReader(bytes.NewReader(bytes.Join(b.sent, nil))); ; {
		frame, err := r.Next()
		if err == io.EOF {
			b.sent = nil
			return list
		}
		if err != nil {
			b.t.Fatal(err)
		}
		for m, err := range fpm.Parse(frame) {
			if err != nil || m.Route == nil || m.Route.Gone {
				b.t.Fatalf("an answer is no route: %v %+v", err, m)
			}
			flags := binary.NativeEndian.Uint32(frame[routeFlags:]) & (offload | failed)
			if flags != offload && flags != failed || binary.NativeEndian.Uint16(frame[6:])&1 == 0 {
				b.t.Fatalf("an answer has flags %#x, or lacks NLM_F_REQUEST: % x", flags, frame)
			}
			line := map[bool]string{true: "not "}[flags == failed] + fmt.Sprintf("%s protocol %d table %d", m.Route.Dest,
				m.Route.Protocol, m.Route.Table)
			for _, h := range m.Route.Hops {
				line += fmt.Sprintf(" via %s on %d", h.Gateway, h.Index)
			}
			list = append(list, line)
		}
	}
}

// responds publishes orchagent's report for a row that is in the ASIC, with only some fields, as SONiC's.
func (b *bench) responds(key string, fields ...string) {
	b.t.Helper()
	b.publishes(schema.ResponseSuccess, key, fields)
}

func (b *bench) publishes(op, key string, fields []string) {
	b.t.Helper()
	pairs := append([]swss.Pair{{Field: schema.FieldErrStr, Value: op}}, swss.Pairs(fieldsOf(fields))...)
	p := swss.NewNotificationProducer(b.r.DB(swss.ApplDB), schema.ResponseChannel(schema.AppRoute))
	if _, err := p.Send(b.t.Context(), op, key, pairs); err != nil {
		b.t.Fatal(err)
	}
	b.step()
}

// zebra receives one answer for a route, when orchagent reports that the current row is in the ASIC.
func TestRoutesInTheASICAreAnswered(t *testing.T) {
	b := newBench(t)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	want := func(what string, lines ...string) {
		t.Helper()
		if got := b.offloaded(); !slices.Equal(got, lines) {
			t.Errorf("%s: zebra was told %q, want %q", what, got, lines)
		}
	}
	const first = "10.1.0.0/16 protocol 186 table 254 via 10.0.0.2 on 3"
	row := []string{"protocol=bgp", "nexthop=10.0.0.2", "ifname=Ethernet0", "weight=1"}
	b.say(reported("10.1.0.0/16", "10.0.0.2", 3), reported("10.2.0.0/16", "10.0.0.2", 3))
	want("before orchagent has reported")
	b.responds("10.1.0.0/16", row...)
	want("in the ASIC", first)
	b.responds("10.1.0.0/16", row...)
	want("reported again")
	b.responds("10.7.0.0/16", row...)
	want("no route of zebra's")

	b.say(reported("10.1.0.0/16", "10.0.4.2", 5))
	b.responds("10.1.0.0/16", row...)
	want("the route as it was before")
	b.responds("10.1.0.0/16", "protocol=bgp", "nexthop=10.0.4.2", "ifname=Ethernet4", "weight=1")
	want("as it is now", "10.1.0.0/16 protocol 186 table 254 via 10.0.4.2 on 5")

	b.responds("10.2.0.0/16", "protocol=bgp")
	want("by SONiC's orchagent", "10.2.0.0/16 protocol 186 table 254 via 10.0.0.2 on 3")
	b.say(reported("10.3.0.0/16", "10.0.0.2", 9))
	want("by eth0, which is Linux' alone", "10.3.0.0/16 protocol 186 table 254 via 10.0.0.2 on 9")
	b.say(reported("10.4.0.0/16", "10.0.0.2", 77))
	want("by an interface that is not known")

	b.say(reported("10.5.0.0/16", "10.0.0.2", 3), reported("10.5.0.0/16", "", 0))
	b.responds("10.5.0.0/16", row...)
	want("a route that has gone")
	b.do(func() { b.sync.Disconnected(io.EOF) })
	b.responds("10.4.0.0/16", row...)
	want("nobody is connected")
}

// An existing row is written once more for a zebra that reconnects, and again if orchagent does not report it for long.
// A message without changes causes no write for a zebra that was answered.
func TestOrchagentIsAskedForAnswers(t *testing.T) {
	b := newBench(t)
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	writes := func() int {
		n := 0
		for ; ; n++ {
			b.stepOne(b.d)
			if err := b.list.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			rows, err := b.consumer.Pops(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				return n
			}
		}
	}
	if err := b.d.Do(t.Context(), func() { b.sync.Receive(reported("10.1.0.0/16", "10.0.0.2", 3)) }); err != nil {
		t.Fatal(err)
	}
	if n := writes(); n != 1 {
		t.Fatalf("a new route is written %d times, want once", n)
	}
	b.now = b.now.Add(askPeriod)
	if n := writes(); n != 1 {
		t.Errorf("without a report it is written again %d times, want once", n)
	}
	b.responds("10.1.0.0/16", "protocol=bgp")
	b.now = b.now.Add(2 * askPeriod)
	if n := writes(); n != 0 {
		t.Errorf("after the answer it is written %d times, want never", n)
	}
	b.do(func() { b.sync.Connected("zebra", b.answer) })
	if err := b.d.Do(t.Context(), func() { b.sync.Receive(reported("10.1.0.0/16", "10.0.0.2", 3)) }); err != nil {
		t.Fatal(err)
	}
	if n := writes(); n != 1 {
		t.Errorf("for a zebra that begins anew it is written %d times, want once", n)
	}
	b.responds("10.1.0.0/16", "protocol=bgp")
	if got := b.offloaded(); len(got) != 2 {
		t.Errorf("zebra was answered %q, want two answers", got)
	}
}

// A zebra that does not read is answered later; its pending answers are dropped when it disconnects.
func TestZebraThatDoesNotRead(t *testing.T) {
	b := newBench(t)
	reads := false
	b.do(func() { b.sync.Connected("zebra", func(f []byte) bool { return reads && b.answer(f) }) })
	b.say(reported("10.1.0.0/16", "10.0.0.2", 3))
	b.responds("10.1.0.0/16", "protocol=bgp")
	b.say(reported("10.2.0.0/16", "10.0.0.2", 9)) // by eth0
	if len(b.sent) > 0 || len(b.sync.owes.messages) != 2 {
		t.Fatal("what could not be sent is not kept")
	}
	reads = true
	b.responds("10.1.0.0/16", "protocol=bgp")
	b.pass(askPeriod)
	want := []string{"10.1.0.0/16 protocol 186 table 254 via 10.0.0.2 on 3",
		"10.2.0.0/16 protocol 186 table 254 via 10.0.0.2 on 9"}
	if got := b.offloaded(); !slices.Equal(got, want) || len(b.sync.owes.messages) != 0 || b.sync.owes.size != 0 {
		t.Errorf("zebra was told %q, and is owed %d", got, len(b.sync.owes.messages))
	}
}

// When a route that was reported as offloaded leaves the ASIC, fpmsyncd sends zebra RTM_F_OFFLOAD_FAILED as soon as
// zebra reads. When the route is back, fpmsyncd sends RTM_F_OFFLOAD again.
func TestRoutesThatLeaveTheASICAreWithdrawn(t *testing.T) {
	b := newBench(t)
	reads := true
	b.do(func() { b.sync.Connected("zebra", func(f []byte) bool { return reads && b.answer(f) }) })
	want := func(what string, lines ...string) {
		t.Helper()
		if got := b.offloaded(); !slices.Equal(got, lines) {
			t.Errorf("%s: zebra was told %q, want %q", what, got, lines)
		}
	}
	row := []string{"protocol=bgp", "nexthop=10.0.0.2", "ifname=Ethernet0", "weight=1"}
	leaves := func() { b.publishes(schema.ResponseUnavailable, "10.1.0.0/16", row) }
	const in, out = "10.1.0.0/16 protocol 186 table 254", "not 10.1.0.0/16 protocol 186 table 254"
	b.say(reported("10.1.0.0/16", "10.0.0.2", 3))
	leaves()
	want("it waits for a neighbour")
	b.responds("10.1.0.0/16", row...)
	want("in the ASIC", in+" via 10.0.0.2 on 3")
	leaves()
	leaves()
	want("it has left", out)
	b.responds("10.1.0.0/16", row...)
	want("it is back", in)
	reads = false
	leaves()
	b.responds("10.1.0.0/16", row...)
	leaves()
	reads = true
	want("zebra did not read")
	b.pass(askPeriod)
	want("it reads", out)
	b.responds("10.1.0.0/16", row...)
	want("it is back again", in)
	b.publishes(schema.ResponseUnavailable, "10.1.0.0/16", []string{"protocol=bgp", "nexthop=10.0.0.9", "ifname=Ethernet0",
		"weight=1"})
	want("as it was before")
	if len(b.sync.owes.messages)+len(b.sync.owes.back)+b.sync.owes.size != 0 {
		t.Errorf("zebra is owed %+v", b.sync.owes)
	}
}

// In whatever order events come, fpmsyncd sends zebra no answer that orchagent has not reported. At the end zebra has
// had an answer for each reported route, and a retraction for each that has left the ASIC.
func TestAnswersAreTrue(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 95_000_000, Count: 60, Short: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		b := newBench(t)
		zebra, asic, answered := map[string]string{}, map[string]string{}, map[string]string{}
		connect := func() {
			b.do(func() { b.sync.Connected("zebra", b.answer) })
			clear(answered)
			for prefix, hop := range zebra {
				b.say(reported(prefix, hop, 3))
			}
		}
		check := func() {
			for _, line := range b.offloaded() {
				line, left := strings.CutPrefix(line, "not ")
				prefix, _, _ := strings.Cut(line, " ")
				if left {
					delete(answered, prefix)
					continue
				}
				hop := zebra[prefix] // after a retraction, the answer contains only the route
				if _, via, ok := strings.Cut(line, "via "); ok {
					hop, _, _ = strings.Cut(via, " ")
				}
				if asic[prefix] != hop || zebra[prefix] != hop {
					t.Fatalf("told of %s by %s; in the ASIC by %q, zebra has %q", prefix, hop, asic[prefix], zebra[prefix])
				}
				answered[prefix] = hop
			}
			for prefix, hop := range answered {
				if zebra[prefix] == hop && asic[prefix] != hop {
					t.Fatalf("%s by %s has left the ASIC, and that was not taken back", prefix, hop)
				}
			}
		}
		program := func(prefix string) { // orchagent programs the current row
			row, there, err := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppRoute).Get(t.Context(), prefix)
			if err != nil {
				t.Fatal(err)
			}
			if delete(asic, prefix); there {
				asic[prefix] = row["nexthop"]
				b.responds(prefix, "protocol=bgp", "nexthop="+row["nexthop"], "ifname=Ethernet0", "weight=1")
			}
		}
		leave := func(prefix string) { // it loses its neighbour, or waits for one
			if row, there, err := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppRoute).Get(t.Context(), prefix); err != nil {
				t.Fatal(err)
			} else if there {
				delete(asic, prefix)
				b.publishes(schema.ResponseUnavailable, prefix, []string{"protocol=bgp", "nexthop=" + row["nexthop"],
					"ifname=Ethernet0", "weight=1"})
			}
		}
		connect()
		for range 60 {
			prefix := fmt.Sprintf("10.%d.0.0/16", rnd.IntN(4))
			switch rnd.IntN(9) {
			case 8:
				leave(prefix)
			case 0:
				b.do(func() { b.sync.Disconnected(io.EOF) })
				connect()
			case 1:
				delete(zebra, prefix)
				delete(answered, prefix)
				b.say(reported(prefix, "", 0))
			case 2, 3, 4:
				zebra[prefix] = fmt.Sprintf("10.0.0.%d", 2+rnd.IntN(3))
				delete(answered, prefix)
				b.say(reported(prefix, zebra[prefix], 3))
			case 5:
				b.pass(time.Second * time.Duration(rnd.IntN(60)))
			default:
				program(prefix)
			}
			check()
		}
		for prefix := range zebra {
			program(prefix)
		}
		check()
		for prefix, hop := range zebra {
			if answered[prefix] != hop {
				t.Fatalf("%s by %s is in the ASIC, and zebra was told %q", prefix, hop, answered[prefix])
			}
		}
		if len(b.sync.owes.messages) != 0 || b.sync.owes.size != 0 {
			t.Fatalf("still owed: %d, of %d bytes", len(b.sync.owes.messages), b.sync.owes.size)
		}
	})
}

// The size of completely kept messages is limited; beyond that only the destination is kept.
func TestShortMessages(t *testing.T) {
	o := newOwes(func([]byte) bool { return true })
	o.size = mostOwed
	raw := reported("10.1.0.0/16", "10.0.0.2", 3)
	o.add(netip.MustParsePrefix("10.1.0.0/16"), raw)
	var got []string
	for m, err := range fpm.Parse([]byte(o.messages[netip.MustParsePrefix("10.1.0.0/16")])) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d %d %d", m.Route.Dest, m.Route.Protocol, m.Route.Table, len(m.Route.Hops)))
	}
	if !slices.Equal(got, []string{"10.1.0.0/16 186 254 0"}) {
		t.Errorf("kept is %q", got)
	}
}

// An FPM client over TCP reads its answer, and a client that does not read blocks nothing.
func TestServeWritesAnswers(t *testing.T) {
	b := newBench(t)
	client, server := net.Pipe()
	done := make(chan error, 1)
	ctx := t.Context()
	go func() { done <- b.sync.listen(ctx, server, b.d.Do) }()
	m := reported("10.1.0.0/16", "10.0.0.2", 3)
	frame := append([]byte{1, 1, 0, byte(4 + len(m))}, m...)
	if _, err := client.Write(frame); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte{1, 1, 0, 4}); err != nil { // it is read after the first
		t.Fatal(err)
	}
	b.step()
	b.responds("10.1.0.0/16", "protocol=bgp")
	answer := make([]byte, len(frame))
	if _, err := io.ReadFull(client, answer); err != nil {
		t.Fatal(err)
	}
	b.sent = [][]byte{answer}
	if got := b.offloaded(); len(got) != 1 {
		t.Errorf("the client has read %q", got)
	}
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
