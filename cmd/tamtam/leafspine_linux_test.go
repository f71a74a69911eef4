package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/internal/netns"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Sizes and limits of the leaf-spine test.
const (
	spineRoutes = 20_000
	// spineAgain is the maximum time until traffic is complete again after syncd was killed while routes are added.
	spineAgain = 5 * time.Second
	// spineLines is the maximum number of lines that a daemon logs during that time.
	spineLines = 50
)

// A leafSpine is four switches with FRR, a host at each leaf, and BIRD as an external router at the second leaf.
//
//	h1 -- leaf1 == spine1, spine2 == leaf2 -- h2
//	                                      \-- bird
type leafSpine struct {
	t        *testing.T
	switches map[string]*frrSwitch
	hosts    map[string]*netns.Namespace
	bird     string                    // BIRD's namespace
	dir      string                    // BIRD's files
	base     map[string][]netip.Prefix // by switch: the chip's routes that are not from BGP
	traffic  *spineTraffic
	began    time.Time // start of the step
}

func spineNames() []string { return []string{"leaf1", "leaf2", "spine1", "spine2"} }

// Four switches run FRR with unnumbered BGP for IPv4 and IPv6, with hosts, and BIRD outside. After each step traffic
// must be complete again. Linux, APPL_DB and the chip of each switch must have the same routes, all of them active.
func TestFRRLeafSpine(t *testing.T) {
	needFRR(t)
	if _, err := exec.LookPath("bird"); err != nil {
		t.Skip("bird is not installed: Debian's package bird2 has it")
	}
	n := newLeafSpine(t)
	n.links()
	n.linkLocal()
	n.mtu()
	n.daemons()
	n.manyRoutes()
}

func newLeafSpine(t *testing.T) *leafSpine {
	n := &leafSpine{
		t: t, switches: map[string]*frrSwitch{}, hosts: map[string]*netns.Namespace{}, base: map[string][]netip.Prefix{},
	}
	sides := map[string]string{}
	for _, name := range spineNames() {
		sides[name] = namespace(t, name)
		mustIn(t, sides[name], "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "+
			"net.ipv4.conf.all.arp_ignore=2 net.ipv4.conf.all.arp_announce=1 net.ipv6.conf.default.disable_ipv6=1 "+
			"net.ipv4.fib_multipath_hash_policy=1")
	}
	n.bird = namespace(t, "bird")
	wire := func(a, ifA, b, ifB string) {
		ip(t, fmt.Sprintf("-n %s link add %s type veth peer name %s netns %s", a, ifA, ifB, b))
		ip(t, fmt.Sprintf("-n %s link set %s up", a, ifA))
		ip(t, fmt.Sprintf("-n %s link set %s up", b, ifB))
	}
	for leaf := range 2 {
		for spine := range 2 {
			wire(sides[fmt.Sprintf("leaf%d", leaf+1)], fmt.Sprintf("w%d", 4+4*spine),
				sides[fmt.Sprintf("spine%d", spine+1)], fmt.Sprintf("w%d", 4+4*leaf))
		}
	}
	wire(sides["leaf2"], "w12", n.bird, "eth0")
	for i := range 2 {
		h, err := netns.New()
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(h.Close)
		n.hosts[fmt.Sprintf("h%d", i+1)] = h
		leaf := sides[fmt.Sprintf("leaf%d", i+1)]
		ip(t, fmt.Sprintf("-n %s link add w0 type veth peer name host netns %s", leaf, h.Path()))
		ip(t, fmt.Sprintf("-n %s link set w0 up", leaf))
		if err := h.IP("link set lo up", "link set host up", fmt.Sprintf("addr add 10.%d.0.2/24 dev host", i+1),
			fmt.Sprintf("route add default via 10.%d.0.1", i+1), fmt.Sprintf("addr add 2001:db8:%d::2/64 dev host nodad", i+1),
			fmt.Sprintf("-6 route add default via 2001:db8:%d::1", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range spineNames() {
		mustIn(t, sides[name], "sysctl -qw net.ipv6.conf.default.disable_ipv6=0") // for host interfaces, not wires
		n.startSwitch(name, sides[name])
	}
	n.startBIRD()
	n.traffic = newSpineTraffic(t)
	for _, way := range [][2]string{{"10.2.0.2", "2001:db8:2::2"}, {"10.1.0.2", "2001:db8:1::2"}} {
		from, to := n.hosts["h1"], n.hosts["h2"]
		if way[0] == "10.1.0.2" {
			from, to = to, from
		}
		for _, addr := range way {
			n.reach(from, addr)
			n.traffic.add(from, to, addr)
		}
	}
	n.began = time.Now()
	for _, s := range n.switches {
		s.until("what is besides BGP's routes is known", func() bool {
			rows, chip, linux, err := s.allRoutes()
			n.base[s.name] = minus(chip, rows)
			return err == nil && len(linux) > 0 && slices.Equal(rows, linux) && len(minus(rows, chip)) == 0
		})
	}
	n.settled("at the beginning")
	return n
}

// reach waits until a host receives an answer from an address.
func (n *leafSpine) reach(from *netns.Namespace, addr string) {
	n.t.Helper()
	n.switches["leaf1"].until(addr+" answers", func() bool {
		return from.Do(exec.CommandContext(n.t.Context(), "ping", "-c", "1", "-W", "1", addr).Run) == nil
	})
}

// startSwitch starts a switch, and FRR once its interfaces exist. zebra may miss addresses that are added while it
// starts.
func (n *leafSpine) startSwitch(name, ns string) {
	wires := []string{"--port", "Ethernet4=w4", "--port", "Ethernet8=w8"}
	if strings.HasPrefix(name, "leaf") {
		wires = append(wires, "--port", "Ethernet0=w0")
	}
	if name == "leaf2" {
		wires = append(wires, "--port", "Ethernet12=w12")
	}
	s := newFRRSwitch(n.t, ns, spineConfig(name), wires...)
	s.name = name
	n.switches[name] = s
	s.start("mgmtd", "--data", filepath.Join(s.dir, "data"))
	s.until("the host interfaces are there", func() bool {
		out, err := in(n.t, ns, "ip", "-br", "addr")
		addrs := regexp.MustCompile(`(?m)^(Ethernet|Vlan|Loopback)\d+ .* (\d+\.|fe80|2001:)`).FindAllString(out, -1)
		return err == nil && len(addrs) == len(spineInterfaces(name)) && s.ready() == ""
	})
	s.runFRR(ecmpZebra+"fpm address 127.0.0.1 port 2620\nno fpm use-next-hop-groups\n", spineBGP(name))
}

func spineNumber(name string) int { return slices.Index(spineNames(), name) + 1 }

// spineInterfaces returns the interfaces of a switch with their addresses, by name. Interfaces of unnumbered sessions
// have none.
func spineInterfaces(name string) map[string][]string {
	n := spineNumber(name)
	list := map[string][]string{"Ethernet4": nil, "Ethernet8": nil,
		"Loopback0": {fmt.Sprintf("10.255.0.%d/32", n), fmt.Sprintf("2001:db8:ff::%d/128", n)}}
	switch name {
	case "leaf1":
		list["Vlan10"] = []string{"10.1.0.1/24", "2001:db8:1::1/64"}
	case "leaf2":
		list["Ethernet0"] = []string{"10.2.0.1/24", "2001:db8:2::1/64"}
		list["Ethernet12"] = []string{"10.9.0.2/24", "2001:db8:9::2/64"}
	}
	return list
}

func spineConfig(name string) device.ConfigDB {
	empty := swss.FieldValues{"NULL": "NULL"}
	config := frrConfig(1)
	config[schema.CfgDeviceMetadata]["localhost"] = swss.FieldValues{
		"hostname": name, "mac": fmt.Sprintf("02:00:00:00:00:%02d", spineNumber(name)),
	}
	config[schema.CfgPort] = map[string]swss.FieldValues{}
	for _, lane := range []string{"0", "4", "8", "12"} {
		config[schema.CfgPort]["Ethernet"+lane] = swss.FieldValues{
			"lanes": lane, "speed": "10000", "admin_status": "up", "mtu": "1500",
		}
	}
	config[schema.CfgInterface] = map[string]swss.FieldValues{}
	for name, addrs := range spineInterfaces(name) {
		table, row := schema.InterfaceTable(name), empty
		if len(addrs) == 0 {
			row = swss.FieldValues{"ipv6_use_link_local_only": "enable"}
		}
		if config[table] == nil {
			config[table] = map[string]swss.FieldValues{}
		}
		config[table][name] = row
		for _, a := range addrs {
			config[table][name+"|"+a] = empty
		}
	}
	if name == "leaf1" {
		config[schema.CfgVLAN] = map[string]swss.FieldValues{"Vlan10": {"vlanid": "10"}}
		config[schema.CfgVLANMember] = map[string]swss.FieldValues{"Vlan10|Ethernet0": {"tagging_mode": "untagged"}}
	}
	return config
}

func spineBGP(name string) string {
	asn, neighbors := 65100, []string{"Ethernet4", "Ethernet8"}
	if strings.HasPrefix(name, "leaf") {
		asn = 65000 + spineNumber(name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "frr defaults datacenter\nrouter bgp %d\n bgp router-id 10.255.0.%d\n no bgp ebgp-requires-policy\n"+
		" bgp bestpath as-path multipath-relax\n", asn, spineNumber(name))
	for _, i := range neighbors {
		fmt.Fprintf(&b, " neighbor %s interface remote-as external\n neighbor %[1]s timers connect 1\n", i)
	}
	outside := map[string]string{}
	if name == "leaf2" {
		outside = map[string]string{"ipv4": "10.9.0.1", "ipv6": "2001:db8:9::1"}
		for _, af := range []string{"ipv4", "ipv6"} {
			fmt.Fprintf(&b, " neighbor %s remote-as 65200\n neighbor %[1]s timers connect 1\n", outside[af])
		}
	}
	for _, af := range []string{"ipv4", "ipv6"} {
		fmt.Fprintf(&b, " address-family %s unicast\n  redistribute connected\n  maximum-paths 8\n", af)
		for _, i := range neighbors {
			fmt.Fprintf(&b, "  neighbor %s activate\n", i)
		}
		for of, i := range outside {
			if of == af {
				fmt.Fprintf(&b, "  neighbor %s activate\n", i)
			} else {
				fmt.Fprintf(&b, "  no neighbor %s activate\n", i)
			}
		}
		fmt.Fprint(&b, " exit-address-family\n")
	}
	return b.String() + "exit\n"
}

// startBIRD starts the external router, which announces its address 10.99.0.1.
func (n *leafSpine) startBIRD() {
	dir, err := os.MkdirTemp("", "bird")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { os.RemoveAll(dir) })
	n.dir = dir
	for _, command := range []string{"ip addr add 10.9.0.1/24 dev eth0", "ip addr add 2001:db8:9::1/64 dev eth0 nodad",
		"ip addr add 10.99.0.1/32 dev lo", "ip addr add 2001:db8:60::1/128 dev lo"} {
		mustIn(n.t, n.bird, command)
	}
	n.birdRoutes()
	startIn(n.t, n.bird, "", "bird", "-f", "-c", filepath.Join(dir, "bird.conf"), "-s", filepath.Join(dir, "ctl"))
}

// birdRoutes makes BIRD announce these routes besides its own.
func (n *leafSpine) birdRoutes(routes ...string) {
	text := `router id 10.99.0.1;
protocol device {}
protocol direct { ipv4; ipv6; interface "lo"; }
protocol kernel { ipv4 { export where source = RTS_BGP && net != 10.9.0.0/24; import none; }; }
protocol kernel { ipv6 { export where source = RTS_BGP && net != 2001:db8:9::/64; import none; }; }
protocol static { ipv4;
` + strings.Join(routes, "\n") + `
}
protocol bgp {
 local 10.9.0.1 as 65200; neighbor 10.9.0.2 as 65002; connect retry time 1; ipv4 { import all; export all; };
}
protocol bgp {
 local 2001:db8:9::1 as 65200; neighbor 2001:db8:9::2 as 65002; connect retry time 1; ipv6 { import all; export all; };
}
`
	if err := os.WriteFile(filepath.Join(n.dir, "bird.conf"), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(n.dir, "ctl")); err == nil {
		mustIn(n.t, n.bird, "birdc -s "+filepath.Join(n.dir, "ctl")+" configure")
	}
}

func minus(a, b []netip.Prefix) (list []netip.Prefix) {
	of := map[netip.Prefix]bool{}
	for _, p := range b {
		of[p] = true
	}
	for _, p := range a {
		if !of[p] {
			list = append(list, p)
		}
	}
	return list
}

var destOfRoute = regexp.MustCompile(`ROUTE_ENTRY:.*"dest":"([^"]+)"`)

// allRoutes returns the routes of BGP in ROUTE_TABLE and in Linux, and all routes of the chip, sorted.
func (s *frrSwitch) allRoutes() (rows, chip, linux []netip.Prefix, err error) {
	table, err := swss.NewTable(s.redis.DB(swss.ApplDB), schema.AppRoute).Dump(s.t.Context())
	if err != nil {
		return nil, nil, nil, err
	}
	for key, row := range table {
		if r, err := schema.ParseRoute(key, row); err == nil && row["protocol"] == "bgp" {
			rows = append(rows, r.Prefix)
		}
	}
	keys, err := s.redis.DB(swss.ASICDB).AllKeys(s.t.Context())
	if err != nil {
		return nil, nil, nil, err
	}
	for _, key := range keys {
		if m := destOfRoute.FindStringSubmatch(key); m != nil {
			p, err := netip.ParsePrefix(m[1])
			if err != nil {
				return nil, nil, nil, err
			}
			chip = append(chip, p)
		}
	}
	for _, family := range []string{"-4", "-6"} {
		out, err := in(s.t, s.ns, "ip", "-j", family, "route", "show", "proto", "bgp")
		var list []struct{ Dst string }
		if err != nil || json.Unmarshal([]byte(out), &list) != nil {
			return nil, nil, nil, fmt.Errorf("ip route: %v: %.100s", err, out)
		}
		for _, r := range list {
			p, err := netip.ParsePrefix(r.Dst)
			if a, alone := netip.ParseAddr(r.Dst); alone == nil {
				p, err = netip.PrefixFrom(a, a.BitLen()), nil
			}
			if err != nil {
				return nil, nil, nil, err
			}
			linux = append(linux, p)
		}
	}
	for _, list := range [][]netip.Prefix{rows, chip, linux} {
		slices.SortFunc(list, netip.Prefix.Compare)
	}
	return rows, slices.Compact(chip), slices.Compact(linux), nil
}

// ready returns the name of a daemon that is not ready, or "" if all are.
func (s *frrSwitch) ready() string {
	for name := range s.args {
		if name == "fpmsyncd" && s.kill["zebra"] == nil {
			continue
		}
		now, heard, err := daemons.ReadState(s.t.Context(), s.redis, name)
		if err != nil || !heard || now.State != daemons.StateReady {
			return fmt.Sprintf("%s is not ready: %s %v", name, now.Reason, err)
		}
	}
	return ""
}

// disagree describes how Linux, ROUTE_TABLE and the chip differ, or which daemon is not ready. It returns "" if there
// is no difference. pending are routes that are not in the chip.
func (n *leafSpine) disagree(s *frrSwitch, pending ...netip.Prefix) string {
	rows, chip, linux, err := s.allRoutes()
	if err != nil {
		return err.Error()
	}
	for what, more := range map[string][]netip.Prefix{
		"in Linux, not in ROUTE_TABLE":        minus(linux, rows),
		"in ROUTE_TABLE, not in Linux":        minus(rows, linux),
		"in ROUTE_TABLE, not in the chip":     minus(minus(rows, chip), pending),
		"in the chip, not in ROUTE_TABLE":     minus(minus(chip, rows), n.base[s.name]),
		"not in the chip though it always is": minus(n.base[s.name], chip),
	} {
		if len(more) > 0 {
			return fmt.Sprintf("%s: %d routes are %s, such as %s", s.name, len(more), what, more[0])
		}
	}
	return s.ready()
}

// settled waits until the tables of all switches agree and traffic is complete again. It logs the losses of the step.
func (n *leafSpine) settled(what string, pending ...netip.Prefix) (longest time.Duration) {
	n.t.Helper()
	lost, why, from := 0, "", n.began
	n.switches["leaf1"].untilElse(what+": tables agree", func() bool {
		for _, name := range spineNames() {
			only := pending
			if name != "leaf2" {
				only = nil
			}
			if why = n.disagree(n.switches[name], only...); why != "" {
				return false
			}
		}
		return true
	}, func() string { return why })
	agree := time.Since(from)
	n.switches["leaf1"].until(what+": traffic is whole", func() bool {
		var whole bool
		lost, longest, whole = n.traffic.since(from)
		return whole
	})
	n.t.Logf("%s: tables agree after %s; %d packets lost, a flow for at most %s", what,
		agree.Round(time.Millisecond), lost, longest.Round(time.Millisecond))
	n.began = time.Now()
	return longest
}

// does runs a step and waits until everything works again.
func (n *leafSpine) does(what string, do func(), pending ...netip.Prefix) time.Duration {
	n.t.Helper()
	n.began = time.Now()
	do()
	return n.settled(what, pending...)
}

// session reports whether a switch's neighbour at a port has announced routes.
func (n *leafSpine) session(name, port string) bool {
	rows, err := swss.NewTable(n.switches[name].redis.DB(swss.ApplDB), schema.AppRoute).Dump(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, row := range rows {
		if row["protocol"] == "bgp" && slices.Contains(strings.Split(row["ifname"], ","), port) {
			return true
		}
	}
	return false
}

// setPort sets fields of a port in CONFIG_DB.
func (s *frrSwitch) setPort(name string, fields swss.FieldValues) {
	s.t.Helper()
	if err := swss.NewTable(s.redis.DB(swss.ConfigDB), schema.CfgPort).Set(s.t.Context(), name, fields); err != nil {
		s.t.Fatal(err)
	}
}

// links cuts a link at either end, and shuts a port down.
func (n *leafSpine) links() {
	leaf, spine := n.switches["leaf1"], n.switches["spine1"]
	port := func(status string) func() {
		return func() { leaf.setPort("Ethernet4", swss.FieldValues{"admin_status": status}) }
	}
	wire := func(s *frrSwitch, state string) func() {
		return func() { mustIn(n.t, s.ns, "ip link set w4 "+state) }
	}
	for _, cut := range []struct {
		what       string
		down, heal func()
	}{
		{"link cut at the leaf", wire(leaf, "down"), wire(leaf, "up")},
		{"link cut at the spine", wire(spine, "down"), wire(spine, "up")},
		{"port shut down at the leaf", port("down"), port("up")},
	} {
		n.began = time.Now()
		cut.down()
		for _, name := range []string{"leaf1", "spine1"} {
			took := n.switches[name].until("routes have left the link", func() bool { return !n.session(name, "Ethernet4") })
			n.t.Logf("%s: %s leads nothing by it after %s", cut.what, name, took.Round(time.Millisecond))
		}
		n.traffic.await(2 * spineWhole)
		n.t.Log(cut.what + ": " + n.traffic.cost(n.began))
		n.does(cut.what+", healed", func() {
			cut.heal()
			for _, name := range []string{"leaf1", "spine1"} {
				n.switches[name].until("routes lead by the link again", func() bool { return n.session(name, "Ethernet4") })
			}
		})
	}
}

// linkLocal makes BIRD announce routes with a next hop on the link, and with a next hop that does not answer.
func (n *leafSpine) linkLocal() {
	leaf := n.switches["leaf2"]
	n.reach(n.hosts["h1"], "2001:db8:60::1")
	row := leaf.route("2001:db8:60::1")
	if !strings.HasPrefix(row["nexthop"], "fe80::") {
		n.t.Errorf("the next hop is %s, want one of the link", row["nexthop"])
	}
	silent := netip.MustParsePrefix("43.0.0.0/24")
	n.does("a next hop that does not answer", func() {
		n.birdRoutes(`route 43.0.0.0/24 via 10.9.0.77;`)
		leaf.until("the route is pending", func() bool {
			row := leaf.row(swss.StateDB, schema.StateRoute, "43.0.0.0/24")
			return row["status"] == "pending" && strings.Contains(row["reason"], "10.9.0.77")
		})
	}, silent)
	n.does("it answers", func() {
		mustIn(n.t, n.bird, "ip addr add 10.9.0.77/24 dev eth0")
		leaf.until("the route is in the chip", func() bool { return leaf.inASIC("43.0.0.0/24") })
	})
	n.does("it is withdrawn", func() {
		n.birdRoutes()
		leaf.until("the route has left", func() bool { return !leaf.inASIC("43.0.0.0/24") })
	})
}

// mtu sets MTUs of ports above and below those of the wires.
func (n *leafSpine) mtu() {
	leaf, spine := n.switches["leaf1"], n.switches["spine1"]
	set := func(s *frrSwitch, port, mtu string) { s.setPort(port, swss.FieldValues{"mtu": mtu}) }
	n.does("MTU 9100 on wires of 1500, and 2,000 routes", func() {
		set(leaf, "Ethernet4", "9100")
		set(spine, "Ethernet4", "9100")
		leaf.until("there is an alarm", func() bool {
			return leaf.row(swss.StateDB, schema.StateAlarm, "Ethernet4-mtu-above-wire") != nil
		})
		n.birdRoutes(manyRoutes(2_000)...)
		leaf.until("the routes are there", func() bool { return leaf.inASIC("20.0.7.207/32") })
	})
	if out := mustIn(n.t, leaf.ns, "ip link show Ethernet4"); !strings.Contains(out, "mtu 1500 ") {
		n.t.Errorf("Linux has %s, want an MTU of 1500", out)
	}
	n.does("they are withdrawn", func() {
		n.birdRoutes()
		leaf.until("the routes have gone", func() bool { return !leaf.inASIC("20.0.7.207/32") })
	})
	set(leaf, "Ethernet4", "1400")
	set(leaf, "Ethernet8", "1400")
	set(spine, "Ethernet4", "1500")
	h1 := n.hosts["h1"]
	leaf.until("a packet that is too large is answered", func() bool {
		var out []byte
		_ = h1.Do(func() (err error) {
			ping := exec.CommandContext(n.t.Context(), "ping", "-M", "do", "-s", "1472", "-c", "1", "-W", "1", "10.2.0.2")
			out, err = ping.CombinedOutput()
			return err
		})
		return strings.Contains(string(out), "1400")
	})
	set(leaf, "Ethernet4", "1500")
	set(leaf, "Ethernet8", "1500")
	n.settled("MTU 1400, and 1500 again")
}

// daemons kills each daemon of a spine, one after the other.
func (n *leafSpine) daemons() {
	s := n.switches["spine1"]
	for _, name := range []string{"mgmtd", "fpmsyncd", "tammgrd", "orchagent", "syncd", "hostifd"} {
		n.does(name+" of a spine killed", func() { s.restart(name) })
	}
	n.does("FRR of a spine killed", func() {
		s.kill["bgpd"]()
		s.kill["zebra"]()
		for _, d := range []string{"zebra", "bgpd"} {
			_ = os.Remove(filepath.Join(s.dir, d+".vty"))
		}
		s.runFRR(ecmpZebra+"fpm address 127.0.0.1 port 2620\nno fpm use-next-hop-groups\n", spineBGP(s.name))
		for _, prefix := range []string{"10.1.0.0/24", "10.2.0.0/24"} {
			s.until("zebra has BGP's routes again", func() bool {
				out, err := in(n.t, s.ns, "vtysh", "--vty_socket", s.dir, "-c", "show ip route "+prefix)
				return err == nil && strings.Contains(out, `Known via "bgp"`)
			})
		}
	})
}

func manyRoutes(count int) (list []string) {
	for i := range count {
		list = append(list, fmt.Sprintf("route 20.%d.%d.%d/32 blackhole;", i>>16, i>>8&255, i&255))
	}
	return list
}

// manyRoutes makes BIRD announce and withdraw many routes. syncd of a spine is killed while they are added, and once
// all exist.
func (n *leafSpine) manyRoutes() {
	last := fmt.Sprintf("20.0.%d.%d/32", (spineRoutes-1)>>8, (spineRoutes-1)&255)
	all := func(there bool) {
		for _, s := range n.switches {
			s.until("20,000 routes are in the chip, or have left it", func() bool { return s.inASIC(last) == there })
		}
	}
	spine := n.switches["spine1"]
	lines := func() int { return strings.Count(spine.logs["orchagent"].String(), "\n") }
	again := func(what string, took time.Duration, since int) {
		if took > spineAgain {
			n.t.Errorf("%s: a flow was lost for %s, want at most %s", what, took, spineAgain)
		}
		if more := lines() - since; more > spineLines {
			n.t.Errorf("%s: orchagent has logged %d lines, want at most %d", what, more, spineLines)
		}
	}
	n.does("20,000 routes announced", func() { n.birdRoutes(manyRoutes(spineRoutes)...); all(true) })
	before := lines()
	again("syncd killed with 20,000 routes", n.does("syncd of a spine killed with 20,000 routes", func() {
		spine.restart("syncd")
	}), before)
	n.does("20,000 routes withdrawn", func() { n.birdRoutes(); all(false) })

	before = lines()
	again("syncd killed amid 20,000 routes", n.does("syncd of a spine killed amid 20,000 routes", func() {
		n.birdRoutes(manyRoutes(spineRoutes)...)
		spine.until("some routes are in the chip", func() bool {
			size, err := spine.redis.DB(swss.ASICDB).Client().DBSize(n.t.Context()).Result()
			return err == nil && size > spineRoutes/10
		})
		spine.restart("syncd")
		all(true)
	}), before)
	n.does("20,000 routes withdrawn", func() { n.birdRoutes(); all(false) })
}
