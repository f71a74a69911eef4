package device_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/device/packettrace"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A switch predicts the fate of packets by the shell, with the operator's names, and counts none of them.
func TestPacketTraceByShell(t *testing.T) {
	s := devicetest.NewServedSim(t, device.SimConfig{Config: devicetest.RoutedPorts()})
	devicetest.RunUntilIdle(t, s)
	server, shell, out := devicetest.StartNorthbound(t, s)
	ask := func(input string) error {
		_, err := server.Operate(t.Context(), "trace-packet", []byte(input))
		return err
	}
	if err := ask(`{"in":"Ethernet0"}`); status.Code(err) != codes.Unavailable ||
		!strings.Contains(err.Error(), "no answer: syncd") {
		t.Errorf("without syncd: %v", err)
	}
	if err := shell.Exec(t.Context(), "show drops"); err == nil ||
		!strings.Contains(err.Error(), "cannot answer that now: list-drops: no answer") {
		t.Errorf("the server is there, and its answer is told as such: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- packettrace.Serve(ctx, s.Redis, s.Chip, slog.New(slog.DiscardHandler)) }()
	defer func() { stop(); <-done }()
	for status.Code(ask(`{"in":"Ethernet0"}`)) == codes.Unavailable { // it has not subscribed yet
	}
	before := s.Chip.FrameCounts()
	for line, want := range map[string][]string{
		"show packet-trace in Ethernet0 src 10.1.0.5 dst 10.2.0.8": {
			"Fate : sent by Ethernet1", "chip.acl         EDGE         miss", "10.2.0.8/32", "copy 1: ttl 64 -> 63",
			"+1  router-interface Ethernet1 out-packets", "queue            Ethernet1:0  hit"},
		"show packet-trace in Ethernet0 src 10.1.0.5 dst 10.2.0.9 protocol tcp dst-port 80": {
			"Fate : dropped: acl", "EDGE|RULE_1                 drop", "+1  acl EDGE|RULE_1 packets",
			"without ACL rule EDGE|RULE_1: sent by Ethernet1"},
		"show packet-trace in Ethernet0 frame 0180c200000e02000000000188cc00000000 | json": {
			`"fate": "to the CPU (lldp)"`, `"entry": "lldp"`, `"place": "to the CPU (lldp)"`},
		"show packet-trace in Ethernet0 frame " +
			"0200000007e402000000000108004500000000000000401166bf0a0100050a02000804d200500008000000000000": {
			"Fate : dropped: ip-header", "Note : the length in the IP header is not valid", "EDGE      miss"},
		"show packet-trace in Ethernet0 src 10.1.0.5 dst 10.2.0.8 ttl 1": {"Fate : to the CPU (ttl_error)", "ttl_error"},
	} {
		out.Reset()
		if err := shell.Exec(t.Context(), line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s lacks %q:\n%s", line, w, out)
			}
		}
	}
	for input, want := range map[string]string{
		`{"in":"Ethernet99","src":"10.1.0.5","dst":"10.2.0.8"}`:           `in is "Ethernet99": the chip has no such port`,
		`{"in":"Ethernet0","src":"10.1.0.5","dst":"10.2.0.8","ttl":"no"}`: "ttl",
		`{"in":"Ethernet0","id":"a|b"}`: `id is "\"a|b\"", want 1 to 64 letters, digits ` +
			`and dashes`,
		`{"src":"10.1.0.5"}`: "in is missing",
	} {
		if err := ask(input); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
	if err := ask(`{"in":"Ethernet0","src":"10.1.0.5","dst":"10.2.0.8","id":"mine"}`); err != nil {
		t.Error(err)
	}
	path := &gpb.Path{Origin: "sonic-db", Elem: []*gpb.PathElem{{Name: "STATE_DB"}, {Name: "localhost"},
		{Name: "TAMTAM_PACKET_TRACE"}, {Name: "mine"}}}
	if found, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{path},
		Encoding: gpb.Encoding_JSON_IETF}); err != nil ||
		!strings.Contains(found.String(), "sent by Ethernet1") {
		t.Errorf("the answer by gNMI: %v, %v", found, err)
	}
	if s.Chip.FrameCounts() != before {
		t.Errorf("the books are %+v, were %+v", s.Chip.FrameCounts(), before)
	}
}

// If the longest route to a packet's destination, configured or from FRR, is not in the chip, the answer contains the
// reason. If the chip has the route, there is no such text.
func TestPacketTraceNamesPendingRoute(t *testing.T) {
	config := devicetest.RoutedPorts()
	config["STATIC_ROUTE"]["10.9.1.0/24"] = swss.FieldValues{"nexthop": "10.2.0.99", "ifname": "Ethernet1"}
	s := devicetest.NewSim(t, device.SimConfig{Config: config})
	routes := swss.NewProducerState(s.Redis.DB(swss.ApplDB), schema.AppRoute)
	for key, hop := range map[string]string{"10.9.2.0/24": "10.2.0.98", "10.9.1.7": "10.2.0.97", "10.9.3.0/24": "10.2.0.8",
		"10.9.4.0/24": "10.2.0.8"} {
		fields := swss.Pairs(swss.FieldValues{"protocol": "bgp", "nexthop": hop, "ifname": "Ethernet1"})
		devicetest.NoError(t, routes.Set(t.Context(), key, fields))
	}
	devicetest.RunUntilIdle(t, s)
	for dst, want := range map[string]string{
		"10.9.1.1": "route 10.9.1.0/24 is pending: no neighbour 10.2.0.99 on Ethernet1",
		"10.9.1.7": "route 10.9.1.7/32 is pending: no neighbour 10.2.0.97 on Ethernet1",
		"10.9.2.1": "route 10.9.2.0/24 is pending: no neighbour 10.2.0.98 on Ethernet1",
		"10.9.3.1": "", "10.9.9.1": "", "10.2.0.8": "", "192.0.2.1": "",
	} {
		a, err := packettrace.Of(t.Context(), s.Redis, s.Chip, packettrace.Request{In: "Ethernet0", Src: "10.1.0.5",
			Dst: dst})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && a.Pending != "" || !strings.HasPrefix(a.Pending, want) {
			t.Errorf("to %s: %q, want %q", dst, a.Pending, want)
		}
	}
}

// For a dropped packet, the answer names single entries whose change would let it pass.
func TestWhichEntryIsInTheWay(t *testing.T) {
	routed, bridged := devicetest.RoutedPorts(), devicetest.TwoPorts()
	down := devicetest.RoutedPorts()
	down["PORT"]["Ethernet1"]["admin_status"] = "down"
	number := func(n uint16) *uint16 { return &n }
	size := 1600
	hole := devicetest.RoutedPorts()
	hole["STATIC_ROUTE"]["10.3.0.0/16"] = swss.FieldValues{"blackhole": "true"}
	long := devicetest.RoutedPorts()
	long["PORT"]["Ethernet0"]["mtu"] = "9100"
	to := func(dst string) packettrace.Request {
		return packettrace.Request{In: "Ethernet0", Src: "10.1.0.5", Dst: dst}
	}
	in := to("10.2.0.8")
	in.Size = &size
	vlan := to("10.2.0.8")
	vlan.VLAN, vlan.DstMAC = number(20), "02:00:00:00:00:77"
	noVLAN := vlan
	noVLAN.VLAN = number(30)
	source := to("10.2.0.8")
	source.SrcMAC = "01:00:00:00:00:01"
	strict := devicetest.TwoPorts()
	strict["VLAN_MEMBER"] = map[string]swss.FieldValues{
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan20|Ethernet1": {"tagging_mode": "tagged"},
	}
	for name, tt := range map[string]struct {
		config     device.ConfigDB
		request    packettrace.Request
		fate, want string // want "" means that no change of one entry would let it pass
	}{
		"a rule": {routed, to("10.2.0.9"), "dropped: acl", "without ACL rule EDGE|RULE_1: sent by Ethernet1"},
		"a port": {down, to("10.2.0.8"), "dropped: egress-port-down", "Ethernet1 up: sent by Ethernet1"},
		"no route": {routed, to("10.3.0.9"), "dropped: no-route",
			"a route 10.3.0.9/32 via 10.2.0.8 at Ethernet1: sent by Ethernet1\n" +
				"a route 10.3.0.9/32 via 10.2.0.9 at Ethernet1: sent by Ethernet1"},
		"a blackhole": {hole, to("10.3.0.9"), "dropped: blackhole",
			"a route 10.3.0.9/32 via 10.2.0.8 at Ethernet1: sent by Ethernet1\n" +
				"a route 10.3.0.9/32 via 10.2.0.9 at Ethernet1: sent by Ethernet1"},
		"an MTU":         {long, in, "dropped: l3-mtu (l3_mtu_error)", "Ethernet1 with an MTU of 9216: sent by Ethernet1"},
		"no such VLAN":   {bridged, noVLAN, "dropped: no-vlan", ""},
		"not in a VLAN":  {strict, vlan, "dropped: not-vlan-member", "Ethernet0 a member of Vlan20: sent by Ethernet1"},
		"its own source": {routed, source, "dropped: source-address", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := devicetest.NewSim(t, device.SimConfig{Config: tt.config})
			devicetest.RunUntilIdle(t, s)
			a, err := packettrace.Of(t.Context(), s.Redis, s.Chip, tt.request)
			if err != nil {
				t.Fatal(err)
			}
			if a.Fate != tt.fate || a.WouldPass == nil {
				t.Fatalf("%s, want %s; would pass %+v", a.Fate, tt.fate, a.WouldPass)
			}
			var all []string
			for _, c := range a.WouldPass.If {
				all = append(all, c.Change+": "+c.Fate)
			}
			if got := strings.Join(all, "\n"); got != tt.want || a.WouldPass.NotTried > 0 {
				t.Errorf("would pass %q, want %q; %d tried, %d not", got, tt.want, a.WouldPass.Tried, a.WouldPass.NotTried)
			}
		})
	}
}

// A switch reports why packets were dropped, and the fates of a flow's packets from the first request on. It names
// deleted rules, and marks them as deleted.
func TestWhyByShell(t *testing.T) {
	s := devicetest.NewServedSim(t, device.SimConfig{Config: devicetest.RoutedPorts()})
	devicetest.RunUntilIdle(t, s)
	show := devicetest.StartShows(t, s)
	want := func(line string, words ...string) {
		t.Helper()
		text := show(line)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %q:\n%s", line, w, text)
			}
		}
	}
	port, router := s.Chip.Ports()[0], [6]byte{}
	for _, i := range s.Chip.Tables().Interfaces {
		router = i.MAC
	}
	src, longer, wrong := byte(5), byte(0), byte(0)
	send := func(dst byte, ttl byte) {
		f := append(append([]byte{}, router[:]...), 2, 0, 0, 0, 0, 1, 8, 0)
		ip := []byte{0x45, 0, longer, 28, 0, 0, 0, 0, ttl, 17, 0, 0, 10, 1, 0, src, 10, 2, 0, dst}
		sum := uint32(0)
		for i := 0; i < 20; i += 2 {
			sum += uint32(ip[i])<<8 | uint32(ip[i+1])
		}
		sum = sum>>16 + sum&0xffff
		ip[10], ip[11] = byte(^sum>>8)^wrong, byte(^sum)
		f = append(append(f, ip...), 0, 7, 0, 9, 0, 8, 0, 0)
		f = append(f, make([]byte, 60-len(f))...)
		devicetest.NoError(t, s.Chip.Receive(port, s.Chip.Now(), saisim.Frame{Data: f}))
		s.Chip.Advance(s.Chip.Now() + 100_000)
	}
	want("show tam why flow 10.1.0.5 10.2.0.8", "No packet of it is known", "10.1.0.5 > 10.2.0.8")
	want("show drops", "No packet was dropped since 1970-01-01T00:00:00.000000Z, when the chip began.")
	send(9, 64)
	send(9, 64)
	send(8, 64)
	want("show tam why flow 10.1.0.5 10.2.0.8", "sent", "Ethernet1", "10.2.0.8/32", "chip.ipv4_route")
	want("show tam why flow 10.1.0.5 10.2.0.9 protocol udp src-port 7 dst-port 9", "dropped: acl", "EDGE|RULE_1  -> drop",
		"dropped: acl  Ethernet0   2  ")
	want("show tam why flow 10.1.0.5 10.2.0.9 src-port 8", "No packet of it is known")
	want("show drops", "Dropped  : 2 since 1970-01-01T00:00:00.000000Z", "acl", "an ingress ACL entry drops it",
		"in Ethernet0, 60 bytes: dropped")
	want("show drops by rule last 0", "ACL rule EDGE|RULE_1", "acl 2")
	want("show drops by flow last 0 | json", `"10.1.0.5:7 > 10.2.0.9:9 udp"`, `"forgotten": 0`)
	want("show drops by port", "Ethernet0")
	want(`show drops by flow where "src-ip in 10.1.0.0/16 and drop.reason = acl and bytes = 60 and queue is none"`,
		"Matched  : 2 of these; of 0 more", "2        10.1.0.5:7 > 10.2.0.9:9 udp", "in Ethernet0, 60 bytes: dropped")
	want(`show drops last 1 where "in-port = Ethernet0 and drop.rule ~ RULE_1 and protocol = udp"`,
		"Matched  : 2 of these", "an ingress ACL entry drops it")
	want(`show drops where "dst-port = 10"`, "Matched  : 0 of these", "No drop that is kept meets the filter.")
	want(`show drops where "bytes = 60 and drop.rea?`, "drop.reason  why the packet was dropped")
	want(`show drops where "drop.reason = no-v?`, "no-vlan")
	want(`show drops where "drop.reason = acI"`, `filter, character 15, "acI": perhaps acl? want a value of drop.reason`)
	for line, word := range map[string]string{
		"show tam why flow 10.1.0.5 2001:db8::1":           "addresses of one family",
		"show tam why flow 10.1.0.5 10.2.0.9 protocol 256": "protocol is",
		// Packets of ICMP have no ports, so no packet could ever match.
		"show tam why flow 10.1.0.5 10.2.0.9 protocol icmp src-port 8": "src-port is 8, and protocol is icmp: want tcp, " +
			"udp, 33",
	} {
		want(line, word)
	}
	devicetest.NoError(t, s.Redis.DB(swss.ConfigDB).Client().Del(t.Context(), "ACL_RULE|EDGE|RULE_1").Err())
	devicetest.RunUntilIdle(t, s)
	want("show drops by rule", "EDGE|RULE_1 (gone)")
	send(8, 64) // a table without rows is still named
	want("show tam why flow 10.1.0.5 10.2.0.8 last 1", "miss  EDGE\n")

	// If TAM_SWITCH_TABLE requests it, all packets are kept, also those of flows without a request.
	keeps := func(fields swss.FieldValues, all bool) {
		t.Helper()
		configRow(t, s, "TAM_SWITCH_TABLE|global", fields)
		for strings.Contains(show("show drops"), "all are kept, the last ") != all { // syncd lacks the setting
		}
	}
	keeps(swss.FieldValues{"keep-packets": "all"}, true)
	src = 6
	send(8, 64)
	want("show tam why flow 10.1.0.6 10.2.0.8", "sent")
	keeps(nil, false)
	src = 7
	send(8, 64)
	want("show tam why flow 10.1.0.7 10.2.0.8", "No packet of it is known")

	// The packets from before the gap are kept; the number during the gap is unknown.
	want("show tam why flow 10.1.0.6 10.2.0.8", "sent", ">= 1 ")
	src = 6
	send(8, 64)
	want("show tam why flow 10.1.0.6 10.2.0.8", ">= 2 ")
	src = 7
	send(8, 64)
	want("show tam why flow 10.1.0.7 10.2.0.8", "sent      Ethernet1   1  ")

	// A packet whose IP length exceeds its frame belongs to the flow in its header. A packet with a wrong checksum may
	// belong to any flow.
	src, longer = 8, 1
	send(8, 64)
	want("show tam why flow 10.1.0.8 10.2.0.8 src-port 7", "dropped: ip-header  Ethernet0   1  ")
	want("show drops by flow last 0", "10.1.0.8:7 > 10.2.0.8:9 udp")
	want("show tam why flow 10.1.0.8 10.2.0.8 src-port 8", "No packet of it is known")
	src, longer, wrong = 9, 0, 1
	send(8, 64)
	want("show tam why flow 10.1.0.9 10.2.0.8", "dropped: ip-header  Ethernet0   1  ")
	want("show tam why flow 10.1.0.10 10.2.0.8", "Damaged : 1 more have an IP header that is damaged",
		"No other packet is known that is of it")
	want("show tam why flow 10.1.0.8 10.2.0.8", "dropped: ip-header  Ethernet0   >= 1 ")
}

// configRow replaces a row of CONFIG_DB; nil deletes it.
func configRow(t *testing.T, s *device.Sim, key string, fields swss.FieldValues) {
	t.Helper()
	db := s.Redis.DB(swss.ConfigDB).Client()
	err := db.Del(t.Context(), key).Err()
	if fields != nil && err == nil {
		err = db.HSet(t.Context(), key, map[string]string(fields)).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	devicetest.RunUntilIdle(t, s)
}
