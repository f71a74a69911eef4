package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/internal/netns"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// Parameters of the tests that cut links.
const (
	cutInterval = altmark.Interval(0)    // a second
	cutMaxDelay = 300 * time.Millisecond // maximum delay of a packet between the switches
	cutPeriods  = 4                      // number of periods for which each state of the links lasts
	cutRate     = "20M"                  // TCP's rate in bits per second
	// cutRest is the time after which all counters have been written, and hostifd has reported its losses. cutCounts is
	// the maximum time for that.
	cutRest, cutCounts = 11 * time.Second, 15 * time.Second
)

// Two switches have two links between them, of which BGP prefers the first. Linux hosts communicate through both
// switches, with TCP, and a flow of numbered packets with alternate marking. The first link is cut and restored: at
// this switch, at the other, and by deletion of its interfaces. Each frame that a host sent is received by the other,
// or counted as lost by a counter of a switch. The periods of alternate marking match the packet numbers exactly, or
// are flagged.
func TestFRRLinkCut(t *testing.T) {
	needFRR(t)
	n := newCutNet(t, false)
	n.start()
	flow := n.startFlow()
	results := n.collect()
	stopTCP := n.startTCP()
	flow.await(2 * cutPeriods)

	cuts := []struct {
		what       string
		down, heal func()
	}{
		{"set down at the first switch", n.sets(0, "eth2 down"), n.sets(0, "eth2 up")},
		{"set down at the second switch", n.sets(1, "eth2 down"), n.sets(1, "eth2 up")},
		{"deleted", func() { mustIn(t, n.sides[0], "ip link del eth2") }, func() { n.link("eth2") }},
	}
	for _, cut := range cuts {
		before := n.readCounters()
		missing := flow.missing()
		cut.down()
		took := n.over("Ethernet8")
		flow.await(cutPeriods)
		t.Logf("%s: the routes are at the second link after %s; %d packets of the flow lost; %s", cut.what,
			took.Round(time.Millisecond), flow.missing()-missing, n.readCounters().since(before).losses())
		before, missing = n.readCounters(), flow.missing()
		cut.heal()
		took = n.over("Ethernet4")
		flow.await(cutPeriods)
		t.Logf("%s, healed: the routes are at the first link after %s; %d packets of the flow lost; %s", cut.what,
			took.Round(time.Millisecond), flow.missing()-missing, n.readCounters().since(before).losses())
	}
	stopTCP()
	flow.stop()
	for _, s := range n.switches { // they send keepalives every second, and the counters are read one after the other
		s.kill["bgpd"]()
	}
	all := n.settled()
	t.Logf("the hosts sent %d frames, and %d came", all.sum("h1 sent", "h2 sent"), all.sum("h1 received", "h2 received"))
	t.Logf("to Linux %d, from Linux %d; lost: %s", all.sum("s1 * cpu to Linux", "s2 * cpu to Linux"),
		all.sum("s1 * cpu from Linux", "s2 * cpu from Linux"), all.losses())
	if flow.compare(results) == 0 {
		t.Error("no period with losses could be compared")
	}
}

// A cutNet is the two switches and their hosts.
type cutNet struct {
	t        *testing.T
	sides    [2]string
	hosts    [2]*netns.Namespace
	switches [2]*frrSwitch
	both     bool     // true if IPv6 is used too, and both links equally
	lag      bool     // true if the links are one PortChannel, which is down at first
	began    counters // counters before BGP started
}

// newCutNet creates the namespaces and links. eth1 of a switch leads to its host. eth2, eth3 and, for gNMI, mgmt lead
// to the other switch.
func newCutNet(t *testing.T, both bool) *cutNet {
	n := &cutNet{t: t, both: both, sides: [2]string{namespace(t, "s1"), namespace(t, "s2")}}
	for i, side := range n.sides {
		h, err := netns.New()
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(h.Close)
		n.hosts[i] = h
		mustIn(t, side, "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.arp_ignore=2 net.ipv4.conf.all.arp_announce=1 "+
			"net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.forwarding=1")
		ip(t, fmt.Sprintf("-n %s link add eth1 type veth peer name host netns %s", side, h.Path()))
		// Linux counts a TCP segment that is not yet split by GSO as one frame. Here its counters are compared with
		// those of the switch, so it must split segments first.
		mustIn(t, side, "ip link set eth1 gso_max_size 1000 up")
		quiet := func() error {
			return os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
		}
		if err := h.Do(quiet); err != nil && !os.IsNotExist(err) && !both {
			t.Fatal(err)
		}
		if err := h.IP("link set lo up", "link set host gso_max_segs 1", "link set host up",
			fmt.Sprintf("addr add 10.%d.0.2/24 dev host", i+1),
			fmt.Sprintf("route add default via 10.%d.0.1", i+1)); err != nil {
			t.Fatal(err)
		}
		if both {
			n.giveIPv6(i)
		}
	}
	n.link("eth2")
	n.link("eth3")
	n.link("mgmt")
	for i, side := range n.sides {
		mustIn(t, side, fmt.Sprintf("ip addr add 192.0.2.%d/30 dev mgmt", i+1))
	}
	return n
}

// link creates a link between the switches.
func (n *cutNet) link(name string) {
	n.t.Helper()
	ip(n.t, fmt.Sprintf("-n %s link add %s type veth peer name %s netns %s", n.sides[0], name, name, n.sides[1]))
	for i := range n.sides {
		n.sets(i, name+" up")()
	}
}

// sets returns a function that sets an interface of a switch.
func (n *cutNet) sets(i int, what string) func() {
	return func() { n.t.Helper(); mustIn(n.t, n.sides[i], "ip link set "+what) }
}

// start starts the switches, and returns once the routes exist and the sessions are active.
func (n *cutNet) start() {
	var bgps [2]string
	for i := range n.sides {
		config, bgp, addrs := cutConfig(i+1), cutBGP(i+1), 2
		switch {
		case n.both:
			config, bgp = ecmpConfig(config, i+1), ecmpBGP(i+1)
		case n.lag:
			config, bgp, addrs = lagConfig(i+1), lagBGP(i+1), 1
		}
		bgps[i] = bgp
		s := newFRRSwitch(n.t, n.sides[i], config,
			"--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2", "--port", "Ethernet8=eth3")
		n.switches[i] = s
		s.start("mgmtd", "--gnmi", fmt.Sprintf("192.0.2.%d:8080", i+1), "--insecure", "--no-login", "--data",
			filepath.Join(s.dir, "data"))
		s.until("the host interfaces are there", func() bool {
			out, err := in(n.t, s.ns, "ip", "-br", "addr")
			return err == nil && strings.Count(out, "10.0.0.") == addrs && strings.Contains(out, fmt.Sprintf("10.%d.0.1", i+1))
		})
	}
	n.began = n.unmoved()
	for i, s := range n.switches {
		if n.lag {
			s.setLAG("up")
		}
		s.runFRR(ecmpZebra+"no fpm use-next-hop-groups\nfpm address 127.0.0.1 port 2620\n", bgps[i])
	}
	n.over(n.links())
	for i, s := range n.switches {
		s.until("the sessions are active", func() bool {
			rows, err := swss.NewTable(s.redis.DB(swss.StateDB), schema.StateTAMAltMark).Dump(n.t.Context())
			return err == nil && active(rows["flow"]) && (!n.both || active(rows["flow6"]))
		})
		for _, to := range n.addresses(2 - i) {
			s.until("the other host answers", func() bool {
				return n.hosts[i].Do(func() error {
					return exec.CommandContext(n.t.Context(), "ping", "-c", "1", "-W", "1", to).Run()
				}) == nil
			})
		}
	}
}

// over waits until the chip of each switch reaches the other switch's host by a port, and returns how long that took.
func (n *cutNet) over(port string) time.Duration {
	n.t.Helper()
	var took time.Duration
	for i, s := range n.switches {
		for _, prefix := range n.prefixes(2 - i) {
			took += s.until("the other's host is reached by "+port, func() bool {
				return s.route(prefix)["ifname"] == port && s.inASIC(prefix)
			})
		}
	}
	return took
}

func (s *frrSwitch) inASIC(prefix string) bool {
	keys, err := s.redis.DB(swss.ASICDB).AllKeys(s.t.Context())
	return err == nil && strings.Contains(strings.Join(keys, "\n"), `"dest":"`+prefix+`"`)
}

// cutConfig returns the configuration of switch n, in which all ports route. Nothing is copied to the CPU, so each
// frame has only one destination.
func cutConfig(n int) device.ConfigDB {
	empty := swss.FieldValues{"NULL": "NULL"}
	role, from := "initiator", swss.FieldValues{"IN_PORTS": "Ethernet0"}
	if n == 2 {
		role, from = "terminator", swss.FieldValues{}
	}
	maps.Copy(from, swss.FieldValues{"PRIORITY": "100", "IP_PROTOCOL": "17", "DST_IP": "10.2.0.2/32"})
	port := func(lane string) swss.FieldValues {
		return swss.FieldValues{"lanes": lane, "speed": "10000", "admin_status": "up", "mtu": "1500"}
	}
	trap := func(ids string) swss.FieldValues {
		return swss.FieldValues{"trap_ids": ids, "trap_group": "trapped", "always_enabled": "true"}
	}
	return device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"mac": fmt.Sprintf("02:00:00:00:00:%02d", n)}},
		schema.CfgPort:           {"Ethernet0": port("0"), "Ethernet4": port("4"), "Ethernet8": port("8")},
		schema.CfgInterface: {
			"Ethernet0": empty, fmt.Sprintf("Ethernet0|10.%d.0.1/24", n): empty,
			"Ethernet4": empty, fmt.Sprintf("Ethernet4|10.0.0.%d/31", n-1): empty,
			"Ethernet8": empty, fmt.Sprintf("Ethernet8|10.0.0.%d/31", n+1): empty,
		},
		schema.CfgCOPPGroup: {"trapped": {"trap_action": "trap", "queue": "4", "trap_priority": "4"}},
		schema.CfgCOPPTrap: {
			"bgp": trap("bgp,bgpv6"), "arp": trap("arp_req,arp_resp"), "ip2me": trap("ip2me"),
			"unknown": trap("neighbor_miss,ttl_error,l3_mtu_error"),
		},
		schema.CfgTAMFeature:   {"ALTMARK": {"status": "ACTIVE"}},
		schema.CfgTAMFlowGroup: {"flow": {"id": "1"}},
		schema.CfgACLRule:      {"TAM|flow": from},
		schema.CfgTAMAltMark: {"flow": {"flowgroup": "flow", "role": role, "method": "double",
			"interval": strconv.Itoa(int(cutInterval)),
			"mark":     "dscp0", "mark2": "dscp1", "delay-max": fmt.Sprint(cutMaxDelay.Nanoseconds())}},
	}
}

// cutBGP returns a BGP configuration with a session over each link, which prefers the routes of the first.
func cutBGP(n int) string {
	return fmt.Sprintf(`router bgp %d
 bgp router-id 10.255.0.%d
 no bgp ebgp-requires-policy
 timers bgp 1 3
 neighbor %[3]s remote-as external
 neighbor %[4]s remote-as external
 neighbor %[3]s timers connect 1
 neighbor %[4]s timers connect 1
 address-family ipv4 unicast
  neighbor %[3]s weight 200
  network 10.%[2]d.0.0/24
 exit-address-family
exit
`, 65000+n, n, fmt.Sprintf("10.0.0.%d", 2-n), fmt.Sprintf("10.0.0.%d", 4-n))
}

// startTCP sends with iperf3 from the first host to the second, if it is installed. The returned function stops it and
// logs the result.
func (n *cutNet) startTCP() (stop func()) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		n.t.Log("iperf3 is not installed: there is no TCP beside the flow")
		return func() {}
	}
	return n.startIperf("10.2.0.2", "5201", "-b", cutRate)
}

// startIperf sends with options to a port of the second host.
func (n *cutNet) startIperf(to, port string, options ...string) (stop func()) {
	server := exec.Command("iperf3", "-s", "-1", "-p", port)
	client := exec.Command("iperf3", append([]string{"-c", to, "-p", port, "-t", "600", "-J"}, options...)...)
	var out strings.Builder
	client.Stdout = &out
	if err := n.hosts[1].Do(server.Start); err != nil {
		n.t.Fatal(err)
	}
	listening := func() bool {
		sockets := exec.Command("ss", "-Htln", "sport = :"+port)
		var list []byte
		err := n.hosts[1].Do(func() (err error) { list, err = sockets.Output(); return err })
		return err == nil && len(list) > 0
	}
	n.switches[1].until("iperf3 listens", listening)
	if err := n.hosts[0].Do(client.Start); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = client.Process.Kill(); _ = server.Process.Kill(); _ = server.Wait() })
	return func() {
		_ = client.Process.Signal(os.Interrupt)
		_ = client.Wait()
		n.t.Logf("TCP to %s: %s", to, tcpResult(out.String()))
	}
}

// counters maps the names of counters, with the switch or host that has them, to their values.
type counters map[string]int64

// readCounters reads all counters.
func (n *cutNet) readCounters() counters {
	b := counters{}
	for i, h := range n.hosts {
		var err error
		var received, sent uint64
		received, sent, err = h.Counts("host")
		if err != nil {
			n.t.Fatal(err)
		}
		b[fmt.Sprintf("h%d received", i+1)], b[fmt.Sprintf("h%d sent", i+1)] = int64(received), int64(sent)
	}
	for i, s := range n.switches {
		s.read(b, fmt.Sprintf("s%d ", i+1))
	}
	return b
}

// read reads the counters of a switch: of its wires, of its chip's ports, and of the interfaces of its own Linux.
func (s *frrSwitch) read(b counters, who string) {
	s.t.Helper()
	number := func(row swss.FieldValues, field string) int64 {
		v, err := strconv.ParseInt(row[field], 10, 64)
		if err != nil {
			s.t.Fatalf("%s%s is %q: %v", who, field, row[field], err)
		}
		return v
	}
	b[who+"host interfaces lost"] = s.lostAtHost()
	lldp := s.row(swss.CountersDB, schema.CountersHost, "hostifd")
	b[who+"cpu from LLDP"] = number(lldp, "lldp-sent") - number(lldp, "drop-cpu-port")
	linux := linuxCounters(s.t, s.ns)
	for _, port := range cutPorts() {
		wire, stats := s.wireRow(port), s.portStats(port)
		lost := int64(0)
		for i, why := range schema.WireLosses {
			b[who+port+" wire "+why.Name] = number(wire, schema.WireLost+why.Name)
			if i < firstLostOut {
				lost += number(wire, schema.WireLost+why.Name)
			}
		}
		b[who+port+" wire received"], b[who+port+" wire sent"] = number(wire, schema.WireReceived),
			number(wire, schema.WireSent)
		b[who+port+" discards in"] = number(stats, "SAI_PORT_STAT_IF_IN_DISCARDS") - lost
		b[who+port+" discards out"] = number(stats, "SAI_PORT_STAT_IF_OUT_DISCARDS")
		dropped := int64(0)
		for field := range wire {
			if why, ok := strings.CutPrefix(field, schema.WireDropped); ok {
				b[who+port+" chip "+why] = number(wire, field)
				dropped += number(wire, field)
			}
		}
		b[who+port+" chip, all reasons"] = dropped
		b[who+port+" errors in"] = number(stats, "SAI_PORT_STAT_IF_IN_ERRORS")
		b[who+port+" cpu to Linux"], b[who+port+" cpu from Linux"] = linux[port].received, linux[port].sent
		b[who+port+" cpu to LACP"], b[who+port+" cpu from LACP"] = s.lacp(port)
	}
	b[who+cutLAG+" cpu to Linux"], b[who+cutLAG+" cpu from Linux"] = linux[cutLAG].received, linux[cutLAG].sent
}

func cutPorts() []string { return []string{"Ethernet0", "Ethernet4", "Ethernet8"} }

// wireRow returns the row of a port's wire, or nil if there is none.
func (s *frrSwitch) wireRow(port string) swss.FieldValues {
	return s.row(swss.StateDB, schema.StateWire, port)
}

// portStats returns a port's SAI statistics, or nil if there are none.
func (s *frrSwitch) portStats(port string) swss.FieldValues {
	oids, err := s.redis.DB(swss.CountersDB).Client().HGetAll(s.t.Context(), schema.CountersPortNameMap).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	row := s.row(swss.CountersDB, "COUNTERS", oids[port])
	if row["SAI_PORT_STAT_IF_IN_DISCARDS"] == "" {
		return nil
	}
	return row
}

func (s *frrSwitch) row(db swss.DBName, table, key string) swss.FieldValues {
	row, there, err := swss.NewTable(s.redis.DB(db), table).Get(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	if !there {
		return nil
	}
	return row
}

// counts reports whether all counters of a port exist. They do once the chip has the port.
func (s *frrSwitch) counts(port string) bool {
	runts := s.wireRow(port)[schema.WireDropped+drop.Runt.String()]
	return runts != "" && runts != schema.WireUnknown && s.portStats(port) != nil
}

// lostAtHost returns how many frames were lost between Linux and the chip, by the total in syncd's log.
func (s *frrSwitch) lostAtHost() (sum int64) {
	said := strings.Split(s.logs["syncd"].String(), "frames were lost at the host interfaces, in all")
	if len(said) == 1 {
		return 0
	}
	line, _, _ := strings.Cut(said[len(said)-1], "\n")
	for _, digits := range regexp.MustCompile(`[0-9]+ `).FindAllString(line, -1) {
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// firstLostOut is the index of the first wire loss that concerns frames to be sent.
var firstLostOut = slices.IndexFunc(schema.WireLosses[:], func(l schema.WireLoss) bool {
	return l.Name == "exceeds-mtu"
})

type linuxCount struct{ received, sent int64 }

// linuxCounters returns the counters of the interfaces of a namespace.
func linuxCounters(t *testing.T, ns string) map[string]linuxCount {
	t.Helper()
	all := map[string]linuxCount{}
	for _, line := range strings.Split(mustIn(t, ns, "cat /proc/net/dev"), "\n") {
		name, counts, ok := strings.Cut(strings.TrimSpace(line), ":")
		if f := strings.Fields(counts); ok && len(f) > 9 {
			received, err := strconv.ParseInt(f[1], 10, 64)
			sent, err2 := strconv.ParseInt(f[9], 10, 64)
			if err != nil || err2 != nil {
				t.Fatalf("%s: %s", ns, line)
			}
			all[name] = linuxCount{received, sent}
		}
	}
	return all
}

// since returns the differences to an earlier reading.
func (b counters) since(then counters) counters {
	d := counters{}
	for name, n := range b {
		d[name] = n - then[name]
	}
	return d
}

// sum adds up the counters with these names; * stands for any port.
func (b counters) sum(names ...string) (sum int64) {
	for _, name := range names {
		if before, after, any := strings.Cut(name, "*"); any {
			for _, port := range cutPorts() {
				sum += b.at(before + port + after)
			}
			continue
		}
		sum += b.at(name)
	}
	return sum
}

func (b counters) at(name string) int64 {
	n, ok := b[name]
	if !ok {
		panic("no counter " + name)
	}
	return n
}

// lostAt returns the names of a switch's loss counters, for received frames or for those to be sent.
func lostAt(who, port string, in bool) (names []string) {
	for i, why := range schema.WireLosses {
		if i < firstLostOut == in {
			names = append(names, who+port+" wire "+why.Name)
		}
	}
	return names
}

// dropsAt returns the names of the discard counters of a switch's chip.
func dropsAt(who, port string) []string {
	return []string{who + port + " discards in", who + port + " discards out", who + port + " errors in"}
}

// losses describes which losses occurred where.
func (b counters) losses() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		_, after, at := strings.Cut(name, " wire ")
		lost := at && slices.ContainsFunc(schema.WireLosses[:], func(l schema.WireLoss) bool { return l.Name == after }) ||
			strings.Contains(name, " chip ") || strings.HasSuffix(name, "host interfaces lost")
		if lost && b[name] != 0 {
			list = append(list, fmt.Sprintf("%s %d", name, b[name]))
		}
	}
	return strings.Join(list, ", ")
}

// An account states that the frames counted at one place are the frames counted at other places.
type account struct {
	what     string
	in, outs []string
}

// accounts returns the accounts of hosts, links and switches. Together they cover the whole path from host to host.
func accounts() (list []account) {
	for i := 1; i <= 2; i++ {
		s, h := fmt.Sprintf("s%d ", i), fmt.Sprintf("h%d ", i)
		other := fmt.Sprintf("s%d ", 3-i)
		list = append(list,
			account{h + "to " + s, []string{h + "sent"}, append(lostAt(s, "Ethernet0", true), s+"Ethernet0 wire received")},
			account{s + "discards", dropsAt(s, "*"), []string{s + "* chip, all reasons"}},
			account{s + "to " + h, []string{s + "Ethernet0 wire sent"}, []string{h + "received"}},
			account{s, []string{s + "* wire received", s + "* cpu from Linux", s + cutLAG + " cpu from Linux",
				s + "* cpu from LACP", s + "cpu from LLDP"},
				slices.Concat(lostAt(s, "*", false), dropsAt(s, "*"), []string{s + "* wire sent", s + "* cpu to Linux",
					s + cutLAG + " cpu to Linux", s + "* cpu to LACP", s + "host interfaces lost"})})
		for _, port := range []string{"Ethernet4", "Ethernet8"} {
			list = append(list, account{s + "to " + other + "by " + port, []string{s + port + " wire sent"},
				append(lostAt(other, port, true), other+port+" wire received")})
		}
	}
	return list
}

// unmoved waits until no counter changes any more, and returns the counters. So frames from before both switches
// listened can be excluded.
func (n *cutNet) unmoved() counters {
	n.t.Helper()
	for _, s := range n.switches {
		for _, port := range cutPorts() {
			s.until("the counters of "+port+" are there", func() bool { return s.counts(port) })
		}
		s.until("the counters of LLDP are there", func() bool {
			return s.row(swss.CountersDB, schema.CountersHost, "hostifd") != nil
		})
	}
	before := n.readCounters()
	for began := time.Now(); time.Since(began) < 4*frrTime; {
		<-time.After(cutRest)
		now := n.readCounters()
		if maps.Equal(before, now) {
			return now
		}
		before = now
	}
	n.t.Fatalf("without BGP and hosts there is no rest: %s", n.readCounters().since(before).losses())
	return nil
}

// settled waits until no frame is under way and all accounts hold for the counts since the beginning. It reports
// accounts that do not hold.
func (n *cutNet) settled() counters {
	n.t.Helper()
	for began := time.Now(); ; <-time.After(500 * time.Millisecond) {
		b := n.readCounters().since(n.began)
		var wrong []string
		for _, a := range accounts() {
			if in, out := b.sum(a.in...), b.sum(a.outs...); in != out {
				wrong = append(wrong, fmt.Sprintf("%s: %d, but %d: %d unaccounted for", a.what, in, out, in-out))
			}
		}
		if len(wrong) == 0 {
			return b
		}
		if time.Since(began) > cutCounts {
			n.t.Errorf("not every frame is accounted for:\n%s", strings.Join(wrong, "\n"))
			return b
		}
	}
}

// tcpResult returns the relevant part of iperf3's output.
func tcpResult(text string) string {
	var r struct {
		End struct {
			Sent struct {
				Bytes       int64   `json:"bytes"`
				Rate        float64 `json:"bits_per_second"`
				Retransmits int64   `json:"retransmits"`
			} `json:"sum_sent"`
		} `json:"end"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.1f Mbit/s, %d bytes, %d segments sent again %s", r.End.Sent.Rate/1e6, r.End.Sent.Bytes,
		r.End.Sent.Retransmits, r.Error)
}
