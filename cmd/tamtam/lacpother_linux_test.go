package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// needLACP skips the tests against other LACP implementations unless they are requested, since each takes a minute.
func needLACP(t *testing.T, tools ...string) {
	if os.Getenv(frrWanted) == "" {
		t.Skipf("%s is not set: make lacp-test runs LACP against others", frrWanted)
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces are root's")
	}
	for _, tool := range append(tools, "ip", "redis-server", "ping") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// An otherLACP is another implementation, in a namespace, with the links o1 and o2.
type otherLACP struct {
	ns string
	// sees returns the implementation's view of its partner at a link: the partner's port number, and whether it sends
	// to the partner. mute makes the implementation stop LACP while its links stay up.
	sees func(link int) (port string, sends bool)
	mute func()
}

// LACP works with Open vSwitch in user space, which is an independent implementation.
func TestLACPWithOpenVSwitch(t *testing.T) {
	needLACP(t, "ovs-vswitchd", "ovsdb-server", "ovs-vsctl", "ovsdb-tool", "ovs-appctl")
	ns, dir := namespace(t, "ovs"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) string {
		t.Helper()
		out, err := in(t, ns, args...)
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return out
	}
	sw := twoLinks(t, ns)
	run("ovsdb-tool", "create", at("conf.db"), "/usr/share/openvswitch/vswitch.ovsschema")
	startIn(t, ns, "OVS_RUNDIR="+dir, "ovsdb-server", at("conf.db"), "--remote=punix:"+at("db.sock"),
		"--unixctl="+at("ovsdb.ctl"))
	vsctl := func(args ...string) {
		t.Helper()
		run(append([]string{"ovs-vsctl", "--retry", "--timeout=20", "--db=unix:" + at("db.sock")}, args...)...)
	}
	vsctl("--no-wait", "init")
	startIn(t, ns, "OVS_RUNDIR="+dir, "ovs-vswitchd", "unix:"+at("db.sock"), "--unixctl="+at("vs.ctl"), "--disable-system")
	vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
	vsctl("add-bond", "br0", "bond0", "o1", "o2", "lacp=active", "bond_mode=balance-tcp")
	// br0 has the address and answers ARP requests. Without this, the kernel would also answer at the links, with their
	// MACs.
	for _, link := range []string{"o1", "o2"} {
		run("ip", "link", "set", link, "arp", "off")
	}
	run("ip", "link", "set", "br0", "up")
	run("ip", "addr", "add", "10.0.2.2/24", "dev", "br0")
	member := regexp.MustCompile(`(?s)member: o([12]): (\w+).*?may_enable: (\w+).*?partner port_id: (\d+)`)
	lacpWith(t, sw, otherLACP{ns: ns,
		sees: func(link int) (string, bool) {
			out, err := in(t, ns, "ovs-appctl", "-t", at("vs.ctl"), "lacp/show")
			for _, m := range member.FindAllStringSubmatch(out, -1) {
				if m[1] == fmt.Sprint(link) && err == nil {
					return m[4], m[2] == "current" && m[3] == "true"
				}
			}
			return "", false
		},
		mute: func() { vsctl("set", "port", "bond0", "lacp=off") },
	})
}

// LACP works with Linux' bonding driver, if the kernel has one.
func TestLACPWithLinuxBond(t *testing.T) {
	needLACP(t)
	ns := namespace(t, "bond")
	if out, err := in(t, ns, "ip", "link", "add", "bond0", "type", "bond", "mode", "802.3ad", "miimon", "100", "lacp_rate",
		"slow"); err != nil {
		t.Skipf("this kernel makes no bond: %v: %s", err, out)
	}
	sw := twoLinks(t, ns)
	for _, command := range []string{
		"ip link set o1 down", "ip link set o1 master bond0", "ip link set o2 down", "ip link set o2 master bond0",
		"ip link set bond0 up", "ip addr add 10.0.2.2/24 dev bond0",
	} {
		mustIn(t, ns, command)
	}
	lacpWith(t, sw, otherLACP{ns: ns,
		sees: func(link int) (string, bool) {
			_, part, _ := strings.Cut(mustIn(t, ns, "cat /proc/net/bonding/bond0"), fmt.Sprintf("Slave Interface: o%d", link))
			part, _, _ = strings.Cut(part, "Slave Interface:")
			_, partner, _ := strings.Cut(part, "details partner lacp pdu:")
			port := regexp.MustCompile(`port number: (\d+)`).FindStringSubmatch(partner)
			if port == nil {
				return "", false
			}
			return port[1], strings.Contains(part, "port state: 61") || strings.Contains(part, "port state: 63")
		},
		mute: func() {
			mustIn(t, ns, "tc qdisc add dev o1 root netem loss 100%")
			mustIn(t, ns, "tc qdisc add dev o2 root netem loss 100%")
		},
	})
}

// twoLinks creates a namespace for a switch, with the links eth1 and eth2 to o1 and o2 of another one.
func twoLinks(t *testing.T, other string) string {
	ns := namespace(t, "sw")
	for i := 1; i <= 2; i++ {
		ip(t, fmt.Sprintf("-n %s link add eth%d type veth peer name o%d netns %s", ns, i, i, other))
		mustIn(t, ns, fmt.Sprintf("ip link set eth%d up", i))
		mustIn(t, other, fmt.Sprintf("ip link set o%d up", i))
	}
	return ns
}

// lacpWith makes a switch aggregate two links with another implementation. They agree on their partners. One link is
// cut and restored. Each daemon in turn is killed and restarted. Finally the other implementation falls silent.
func lacpWith(t *testing.T, ns string, other otherLACP) {
	server := swsstest.StartServer(t)
	s := &frrSwitch{t: t, ns: ns, redis: server.Open(), unix: "unix:" + server.Unix, dir: t.TempDir(),
		kill: map[string]func(){}, logs: map[string]*processLog{}}
	empty := swss.FieldValues{"NULL": "NULL"}
	port := func(lane string) swss.FieldValues {
		return swss.FieldValues{"lanes": lane, "speed": "10000", "admin_status": "up", "mtu": "1500"}
	}
	if err := (device.ConfigDB{
		schema.CfgDeviceMetadata:       {"localhost": {"mac": "02:00:00:00:00:01"}},
		schema.CfgPort:                 {"Ethernet0": port("0"), "Ethernet4": port("4")},
		schema.CfgPortChannel:          {cutLAG: {"admin_status": "up", "mtu": "1500", "fast_rate": "true"}},
		schema.CfgPortChannelMbr:       {cutLAG + "|Ethernet0": empty, cutLAG + "|Ethernet4": empty},
		schema.CfgPortChannelInterface: {cutLAG: empty, cutLAG + "|10.0.2.1/24": empty},
	}).Load(t.Context(), s.redis); err != nil {
		t.Fatal(err)
	}
	cpu := []string{"--cpu-port", filepath.Join(s.dir, "cpu.sock")}
	syncd := append([]string{"syncd", "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2"}, cpu...)
	hostd := append([]string{"hostd"}, cpu...)
	for _, args := range [][]string{syncd, {"orchagent"}, {"tammgrd"}, hostd} {
		s.start(args...)
	}
	does := func(port string) string {
		return s.row(swss.ApplDB, schema.AppLAGMember, cutLAG+":"+port)[schema.FieldOperStatus]
	}
	both := func(what, first, second string) {
		t.Helper()
		took := s.until(what+": "+first+", "+second, func() bool {
			p1, sends1 := other.sees(1)
			p2, sends2 := other.sees(2)
			return does("Ethernet0") == first && does("Ethernet4") == second &&
				(first != schema.OperUp || p1 == "1" && sends1) &&
				(second != schema.OperUp || p2 == "5" && sends2)
		})
		t.Logf("%s: %s and %s after %s", what, first, second, took.Round(10*time.Millisecond))
	}
	answers := func(what string) {
		t.Helper()
		took := s.until(what+": the switch answers", func() bool {
			_, err := in(t, other.ns, "ping", "-c", "1", "-W", "1", "10.0.2.1")
			return err == nil
		})
		t.Logf("%s: the switch answers after %s", what, took.Round(10*time.Millisecond))
	}
	both("in the beginning", schema.OperUp, schema.OperUp)
	answers("in the beginning")
	mustIn(t, other.ns, "ip link set o1 down")
	both("o1 is cut", schema.OperDown, schema.OperUp)
	answers("o1 is cut")
	mustIn(t, other.ns, "ip link set o1 up")
	both("o1 heals", schema.OperUp, schema.OperUp)

	changed := func() string {
		return s.row(swss.StateDB, schema.StateLACP, cutLAG)["links"] + does("Ethernet0") + does("Ethernet4")
	}
	var began time.Time
	s.kill["hostd"]()
	s.start(hostd...)
	began = time.Now()
	s.until("hostd speaks again", func() bool {
		if now := changed(); now != "2upup" {
			t.Fatalf("hostd was killed, and the PortChannel is %s", now)
		}
		return time.Since(began) > 5*time.Second
	})
	both("hostd was killed", schema.OperUp, schema.OperUp)
	for _, name := range []string{"orchagent", "tammgrd"} {
		s.restart(name)
		both(name+" was killed", schema.OperUp, schema.OperUp)
	}

	before, _, _ := daemons.ReadState(t.Context(), s.redis, "syncd")
	s.kill["syncd"]()
	s.until("the CPU port is free", func() bool {
		c, err := net.Dial("unixpacket", cpu[1])
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	s.start(syncd...)
	began = time.Now()
	was := ""
	s.until("syncd is there", func() bool {
		if now := changed(); now != was {
			was = now
			t.Logf("syncd was killed: %s after %s", now, time.Since(began).Round(10*time.Millisecond))
		}
		now, heard, err := daemons.ReadState(t.Context(), s.redis, "syncd")
		return err == nil && heard && now.Owner != before.Owner && now.State == daemons.StateReady &&
			time.Since(began) > 8*time.Second
	})
	both("syncd was killed", schema.OperUp, schema.OperUp)
	answers("syncd was killed")
	for _, port := range []string{"Ethernet0", "Ethernet4"} { // hostd's counters start again after it was killed
		if n := s.row(swss.CountersDB, schema.CountersLACP, cutLAG+":"+port)["changed"]; n != "0" {
			t.Errorf("%s began or ceased to carry traffic %s times when daemons were killed", port, n)
		}
	}

	other.mute()
	both("the other is silent", schema.OperDown, schema.OperDown)
	if why := s.row(swss.StateDB, schema.StateLACPMember, cutLAG+"|Ethernet0")[schema.FieldReason]; !strings.Contains(why,
		"nothing more was heard of partner") &&
		!strings.Contains(why, "no LACPDU has come in") {
		t.Errorf("Ethernet0 is not in because %q", why)
	}
	if lag := s.row(swss.ApplDB, schema.AppLAG, cutLAG)[schema.FieldOperStatus]; lag != schema.OperDown {
		t.Errorf("the PortChannel is %s", lag)
	}
}
