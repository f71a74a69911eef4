package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// Requirements of the test of FRR: it takes a minute and needs root and FRR, so it is not part of the gate.
const (
	frrWanted  = "TAMTAM_FRR"
	frrDaemons = "/usr/lib/frr"
	frrTime    = time.Minute // the maximum time for any expected change
)

// A frrSwitch is a switch in a separate network namespace, with host interfaces and FRR.
type frrSwitch struct {
	t     *testing.T
	name  string // used in a network of several switches
	ns    string
	redis *swss.Redis
	unix  string
	dir   string
	kill  map[string]func() // kills each daemon
	logs  map[string]*processLog
	args  map[string][]string // arguments of each daemon
}

// in runs a command in a network namespace.
func in(t *testing.T, ns string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ip", append([]string{"netns", "exec", ns}, args...)...).CombinedOutput()
	return string(out), err
}

func mustIn(t *testing.T, ns, command string) string {
	t.Helper()
	out, err := in(t, ns, strings.Fields(command)...)
	if err != nil {
		t.Fatalf("%s: %s: %v: %s", ns, command, err, out)
	}
	return out
}

// namespace creates a network namespace for the duration of the test.
func namespace(t *testing.T, name string) string {
	t.Helper()
	ns := fmt.Sprintf("tamtam-%d-%s", os.Getpid(), name)
	if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
		t.Skipf("no network namespace may be made here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
			t.Errorf("%s stays: %v: %s", ns, err, out)
		}
	})
	mustIn(t, ns, "ip link set lo up")
	return ns
}

// A processLog is the output of a process.
type processLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
func (l *processLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *processLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startIn starts a process in a network namespace, and returns a function that kills it. Its output is shown if the
// test fails.
func startIn(t *testing.T, ns string, env string, args ...string) (kill func(), log *processLog) {
	t.Helper()
	log = &processLog{}
	// ip then executes that command in its own process
	cmd := exec.Command("ip", append([]string{"netns", "exec", ns}, args...)...)
	cmd.Env = append(os.Environ(), env)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		ended := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
		if t.Failed() {
			t.Logf("%s %v:\n%s", ns, args, log.String())
		}
	})
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // until its end the process has its sockets and devices
	}
	return kill, log
}

// needFRR skips the test if it is not requested or cannot run.
func needFRR(t *testing.T) {
	if os.Getenv(frrWanted) == "" {
		t.Skipf("%s is not set: make frr-test runs BGP between two switches", frrWanted)
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces, TAP devices and FRR are root's")
	}
	for _, tool := range []string{"ip", "redis-server", "ping", frrDaemons + "/zebra", frrDaemons + "/bgpd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// startFRRSwitch starts switch n: Ethernet0 leads to its host, Ethernet4 to the other switch.
func startFRRSwitch(t *testing.T, n int, ns string) *frrSwitch {
	s := newFRRSwitch(t, ns, frrConfig(n), "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2")
	s.until("the host interfaces are there", func() bool {
		out, err := in(t, ns, "ip", "addr", "show", "Ethernet4")
		return err == nil && strings.Contains(out, "LOWER_UP") && strings.Contains(out, "10.0.0.")
	})
	s.startFRR(n)
	return s
}

// newFRRSwitch starts the daemons of a switch, with wires.
func newFRRSwitch(t *testing.T, ns string, config device.ConfigDB, wires ...string) *frrSwitch {
	server := swsstest.StartServer(t)
	dir, err := os.MkdirTemp("", "frr") // the directory of a test is not accessible to FRR's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &frrSwitch{t: t, ns: ns, redis: server.Open(), unix: "unix:" + server.Unix, dir: dir,
		kill: map[string]func(){}, logs: map[string]*processLog{}, args: map[string][]string{}}
	if err := config.Load(t.Context(), s.redis); err != nil {
		t.Fatal(err)
	}
	cpu := []string{"--cpu-port", filepath.Join(s.dir, "cpu.sock")}
	s.start(append(append([]string{"syncd"}, wires...), cpu...)...)
	s.start("orchagent")
	s.start("tammgrd")
	s.start(append([]string{"hostifd"}, cpu...)...)
	s.start("fpmsyncd")
	return s
}

// start starts a daemon of tamtam.
func (s *frrSwitch) start(args ...string) {
	s.args[args[0]] = args
	s.kill[args[0]], s.logs[args[0]] = startIn(s.t, s.ns, asTamtam+"=1",
		append([]string{os.Args[0], "run", args[0], "--redis", s.unix}, args[1:]...)...)
}

// restart kills a daemon, starts it again, and waits until it reports that it is ready.
func (s *frrSwitch) restart(name string) {
	s.t.Helper()
	before, _, err := daemons.ReadState(s.t.Context(), s.redis, name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.kill[name]()
	s.start(s.args[name]...)
	s.until(name+" is ready again", func() bool {
		now, heard, err := daemons.ReadState(s.t.Context(), s.redis, name)
		return err == nil && heard && now.Owner != before.Owner && now.State == daemons.StateReady
	})
}

// frrConfig returns the configuration of switch n. The first switch routes at the port of its host, the second switch
// in a VLAN.
func frrConfig(n int) device.ConfigDB {
	empty := swss.FieldValues{"NULL": "NULL"}
	trap := func(ids, group string) swss.FieldValues {
		return swss.FieldValues{"trap_ids": ids, "trap_group": group, "always_enabled": "true"}
	}
	config := device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"mac": fmt.Sprintf("02:00:00:00:00:%02d", n)}},
		schema.CfgPort: {
			"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
			"Ethernet4": {"lanes": "4", "speed": "10000", "admin_status": "up"},
		},
		schema.CfgInterface: {
			"Ethernet4": empty, fmt.Sprintf("Ethernet4|10.0.0.%d/31", n-1): empty,
			fmt.Sprintf("Ethernet4|2001:db8::%d/126", n): empty,
		},
		schema.CfgCOPPGroup: {
			"trapped": {"trap_action": "trap", "queue": "4", "trap_priority": "4"},
			"copied":  {"trap_action": "copy", "queue": "4", "trap_priority": "4"},
		},
		schema.CfgCOPPTrap: {
			"bgp": trap("bgp,bgpv6", "trapped"), "arp": trap("arp_req,arp_resp,neigh_discovery", "copied"),
			"ip2me": trap("ip2me", "trapped"), "unknown": trap("neighbor_miss,ttl_error,l3_mtu_error", "trapped"),
		},
	}
	name, to := "Ethernet0", config[schema.CfgInterface]
	if n == 2 {
		config[schema.CfgVLAN] = map[string]swss.FieldValues{"Vlan10": {"vlanid": "10"}}
		config[schema.CfgVLANMember] = map[string]swss.FieldValues{"Vlan10|Ethernet0": {"tagging_mode": "untagged"}}
		name, to = "Vlan10", map[string]swss.FieldValues{}
		config[schema.CfgVLANInterface] = to
	}
	to[name], to[fmt.Sprintf("%s|10.%d.0.1/24", name, n)], to[fmt.Sprintf("%s|2001:db8:%d::1/64", name, n)] = empty, empty,
		empty
	return config
}

// startFRR starts FRR with a session for IPv4 and one for IPv6 at Ethernet4.
func (s *frrSwitch) startFRR(n int) {
	peer4, peer6 := fmt.Sprintf("10.0.0.%d", 2-n), fmt.Sprintf("2001:db8::%d", 3-n)
	zebra := "fpm address 127.0.0.1 port 2620\n"
	if n == 2 { // as in SONiC; the first switch uses FRR's default
		zebra = "no fpm use-next-hop-groups\n" + zebra
	}
	bgp := fmt.Sprintf(`router bgp %d
 bgp router-id 10.255.0.%d
 no bgp ebgp-requires-policy
 timers bgp 1 3
 neighbor %[3]s remote-as external
 neighbor %[4]s remote-as external
 neighbor %[3]s timers connect 1
 neighbor %[4]s timers connect 1
 address-family ipv4 unicast
  no neighbor %[4]s activate
  redistribute connected
  redistribute kernel
 exit-address-family
 address-family ipv6 unicast
  neighbor %[4]s activate
  neighbor %[4]s route-map global in
  redistribute connected
 exit-address-family
exit
route-map global permit 10
 set ipv6 next-hop prefer-global
exit
`, 65000+n, n, peer4, peer6)
	s.runFRR(zebra, bgp)
}

// runFRR starts zebra and bgpd with these configurations, and separate files and sockets.
func (s *frrSwitch) runFRR(zebra, bgp string) {
	for name, text := range map[string]string{"zebra.conf": zebra, "bgpd.conf": bgp} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	if out, err := exec.Command("chown", "-R", "frr:frr", s.dir).CombinedOutput(); err != nil {
		s.t.Skipf("FRR's user: %v: %s", err, out)
	}
	for _, d := range [][]string{{"zebra", "-M", "dplane_fpm_nl"}, {"bgpd"}} {
		at := func(suffix string) string { return filepath.Join(s.dir, suffix) }
		s.kill[d[0]], s.logs[d[0]] = startIn(s.t, s.ns, "", append([]string{
			filepath.Join(frrDaemons, d[0]), "-A", "127.0.0.1", "--vty_socket", s.dir, "-z", at("zserv.api"),
			"-i", at(d[0] + ".pid"), "-f", at(d[0] + ".conf"), "--log", "stdout",
		}, d[1:]...)...)
		s.until(d[0]+" is there", func() bool { _, err := os.Stat(at(d[0] + ".vty")); return err == nil })
	}
}

// until polls ok and returns once it is true. It returns how long that took.
func (s *frrSwitch) until(what string, ok func() bool) time.Duration {
	s.t.Helper()
	return s.untilElse(what, ok, s.routes)
}

// untilElse does the same as until. If it fails, it also prints the text that why returns.
func (s *frrSwitch) untilElse(what string, ok func() bool, why func() string) time.Duration {
	s.t.Helper()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		<-tick.C
		if time.Since(began) > frrTime {
			s.t.Fatalf("%s: %s: not within %s\n%.20000s", s.ns, what, frrTime, why())
		}
	}
	return time.Since(began)
}

// routes returns all existing routes, for a failure message.
func (s *frrSwitch) routes() string {
	rows, err := swss.NewTable(s.redis.DB(swss.ApplDB), schema.AppRoute).Dump(s.t.Context())
	keys, err2 := s.redis.DB(swss.ASICDB).AllKeys(s.t.Context())
	asic := slices.DeleteFunc(keys, func(k string) bool { return !strings.Contains(k, "ROUTE_ENTRY") })
	fib, _ := in(s.t, s.ns, "ip", "route")
	return fmt.Sprintf("ROUTE_TABLE %v %v\nASIC_DB %s %v\nLinux %s", rows, err, strings.Join(asic, "\n"), err2, fib)
}

// route returns a row of ROUTE_TABLE, or nil if there is none.
func (s *frrSwitch) route(prefix string) swss.FieldValues {
	row, _, err := swss.NewTable(s.redis.DB(swss.ApplDB), schema.AppRoute).Get(s.t.Context(), prefix)
	if err != nil {
		s.t.Fatal(err)
	}
	return row
}

// byBGP waits until routes to the other switch's host exist, or no longer exist, in ROUTE_TABLE and in the ASIC.
func (s *frrSwitch) byBGP(n int, there bool) time.Duration {
	s.t.Helper()
	v4, v6 := fmt.Sprintf("10.%d.0.0/24", 3-n), fmt.Sprintf("2001:db8:%d::/64", 3-n)
	return s.until(fmt.Sprintf("routes by BGP are there: %v", there), func() bool {
		keys, err := s.redis.DB(swss.ASICDB).AllKeys(s.t.Context())
		if err != nil {
			return false
		}
		all := strings.Join(keys, "\n")
		for prefix, hop := range map[string]string{v4: fmt.Sprintf("10.0.0.%d", 2-n), v6: fmt.Sprintf("2001:db8::%d", 3-n)} {
			row := s.route(prefix)
			reported := row["protocol"] == "bgp" && row["ifname"] == "Ethernet4" && row["nexthop"] == hop
			if inASIC := strings.Contains(all, `"dest":"`+prefix+`"`); reported != there || inASIC != there ||
				!there && len(row) > 0 {
				return false
			}
		}
		return true
	})
}

// received returns how many frames Linux has received at its host interfaces.
func (s *frrSwitch) received() (sum int) {
	for _, line := range strings.Split(mustIn(s.t, s.ns, "cat /proc/net/dev"), "\n") {
		name, counts, _ := strings.Cut(strings.TrimSpace(line), ":")
		if schema.InterfaceTable(name) == "" {
			continue
		}
		n, err := strconv.Atoi(strings.Fields(counts)[1])
		if err != nil {
			s.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// Two switches run FRR on their host interfaces, with a host at each. Routes that they exchange by BGP get into their
// chips, and the hosts reach each other through both chips. The link between them is cut and restored. A configured
// route replaces BGP's route. When it is removed, BGP's route returns.
func TestFRR(t *testing.T) {
	needFRR(t)
	sides := map[int]string{1: namespace(t, "s1"), 2: namespace(t, "s2")}
	hosts := map[int]string{1: namespace(t, "h1"), 2: namespace(t, "h2")}
	ip(t, fmt.Sprintf("-n %s link add eth2 type veth peer name eth2 netns %s", sides[1], sides[2]))
	for n, side := range sides {
		ip(t, fmt.Sprintf("-n %s link add eth1 type veth peer name eth0 netns %s", side, hosts[n]))
		mustIn(t, side, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.arp_ignore=2 "+
			"net.ipv4.conf.all.arp_announce=1 net.ipv6.conf.eth1.disable_ipv6=1 net.ipv6.conf.eth2.disable_ipv6=1")
		mustIn(t, side, "ip link set eth1 up")
		mustIn(t, side, "ip link set eth2 up")
		mustIn(t, hosts[n], "ip link set eth0 up")
		mustIn(t, hosts[n], fmt.Sprintf("ip addr add 10.%d.0.2/24 dev eth0", n))
		mustIn(t, hosts[n], fmt.Sprintf("ip addr add 2001:db8:%d::2/64 dev eth0 nodad", n))
		mustIn(t, hosts[n], fmt.Sprintf("ip route add default via 10.%d.0.1", n))
		mustIn(t, hosts[n], fmt.Sprintf("ip -6 route add default via 2001:db8:%d::1", n))
	}
	left, right := startFRRSwitch(t, 1, sides[1]), startFRRSwitch(t, 2, sides[2])
	both := func(there bool) time.Duration { return max(left.byBGP(1, there), right.byBGP(2, there)) }
	reach := func(what string) {
		t.Helper()
		for _, to := range []string{"10.2.0.2", "2001:db8:2::2"} {
			took := left.until(what+": "+to+" answers", func() bool {
				_, err := in(t, hosts[1], "ping", "-c", "1", "-W", "1", to)
				return err == nil
			})
			t.Logf("%s: %s answers after %s", what, to, took.Round(time.Millisecond))
		}
	}
	t.Logf("the routes are in both chips %s after BGP began", both(true).Round(time.Millisecond))
	reach("at the beginning")

	before := left.received() + right.received()
	const pings = 100
	out := mustIn(t, hosts[1], fmt.Sprintf("ping -q -i 0.02 -c %d 10.2.0.2", pings))
	if !strings.Contains(out, " 0% packet loss") {
		t.Errorf("between the hosts: %s", out)
	}
	for n, host := range hosts { // frames from a host to the router reach the chip
		neighbors := mustIn(t, host, "ip neigh")
		for _, router := range []string{fmt.Sprintf("10.%d.0.1", n), fmt.Sprintf("2001:db8:%d::1", n)} {
			if want := fmt.Sprintf("%s dev eth0 lladdr 02:00:00:00:00:%02d", router, n); !strings.Contains(neighbors, want) {
				t.Errorf("host %d has neighbours %s, want %s", n, neighbors, want)
			}
		}
	}
	if n := left.received() + right.received() - before; n >= pings {
		t.Errorf("Linux received %d frames beside %d pings: they should go through the chips", n, pings)
	}
	t.Logf("host to host through two chips: %s", lastLine(out))
	t.Logf("switch to switch over the CPU ports: %s", lastLine(mustIn(t, sides[1],
		fmt.Sprintf("ping -q -i 0.02 -c %d 10.0.0.1", pings))))

	mustIn(t, sides[1], "ip link set eth2 down")
	t.Logf("cut: the routes have left both chips after %s", both(false).Round(time.Millisecond))
	mustIn(t, sides[1], "ip link set eth2 up")
	t.Logf("healed: the routes are in both chips after %s", both(true).Round(time.Millisecond))
	reach("after the cut")

	right.restart("fpmsyncd")
	if out := mustIn(t, hosts[2], "ping -q -i 0.02 -c 50 10.1.0.2"); !strings.Contains(out, " 0% packet loss") {
		t.Errorf("after fpmsyncd was killed: %s", out)
	}

	static := swss.NewTable(left.redis.DB(swss.ConfigDB), schema.CfgStaticRoute)
	if err := static.Set(t.Context(), "10.2.0.0/24", swss.FieldValues{"nexthop": "10.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	left.until("the configured route is there", func() bool {
		return left.route(
			"10.2.0.0/24")[schema.FieldConfigKey] != ""
	})
	if err := static.Del(t.Context(), "10.2.0.0/24"); err != nil {
		t.Fatal(err)
	}
	t.Logf("no more configured: BGP's route is back after %s", left.byBGP(1, true).Round(time.Millisecond))
	reach("at the end")

	// No frame has gone to this next hop yet, so Linux must resolve it.
	mustIn(t, hosts[1], "ip addr add 10.1.0.77/24 dev eth0")
	if err := static.Set(t.Context(), "10.77.0.0/24", swss.FieldValues{"nexthop": "10.1.0.77"}); err != nil {
		t.Fatal(err)
	}
	left.until("a route to a silent next hop is in the ASIC", func() bool {
		keys, err := left.redis.DB(swss.ASICDB).AllKeys(t.Context())
		return err == nil && strings.Contains(strings.Join(keys, "\n"), `"dest":"10.77.0.0/24"`)
	})

	// zebra receives the route from Linux, and BGP announces it. zebra also returns it to the switch. The returned
	// route does not replace the configured one, and does not remain after it.
	right.until("the other has the configured route by BGP", func() bool {
		return right.route("10.77.0.0/24")["protocol"] == "bgp"
	})
	if row := left.route("10.77.0.0/24"); row[schema.FieldConfigKey] == "" {
		t.Errorf("the configured route is %v", row)
	}
	if err := static.Del(t.Context(), "10.77.0.0/24"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*frrSwitch{left, right} {
		took := s.until("the configured route has gone", func() bool { return len(s.route("10.77.0.0/24")) == 0 })
		t.Logf("no more configured: %s has no route after %s", s.ns, took.Round(time.Millisecond))
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
