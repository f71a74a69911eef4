package main

import (
	"fmt"
	"maps"
	"os/exec"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// ecmpStreams is the number of TCP connections for each family. By chance all connections use one link less than once
// in 10^9 runs. ecmpRate is the rate of each connection.
const ecmpStreams, ecmpRate = "16", "1M"

// ecmpZebra makes zebra install routes in Linux without next hop objects. Linux removes the objects of a link that goes
// down, but zebra 8.4 does not notice. Then it could not install the routes when the link is back.
const ecmpZebra = "no zebra nexthop kernel enable\n"

// Two switches have two links between them with equal BGP routes, for IPv4 and IPv6. Linux hosts communicate through
// both, with TCP and a flow of numbered packets with alternate marking, for each family. Each link is cut and restored
// in turn. Each frame that a host sent is received by the other, or counted as lost by a counter of a switch. The
// periods of alternate marking match the packet numbers exactly, or are flagged.
func TestFRRLinkCutECMP(t *testing.T) {
	needFRR(t)
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("iperf3 is not installed")
	}
	n := newCutNet(t, true)
	n.start()
	flows := map[string]*cutFlow{"flow": n.startFlow(), "flow6": n.startFlowTo("2001:db8:2::2")}
	results := map[string]<-chan liveResult{"flow": n.collectOf("flow"), "flow6": n.collectOf("flow6")}
	stop4 := n.startIperf("10.2.0.2", "5201", "-4", "-P", ecmpStreams, "-b", ecmpRate)
	stop6 := n.startIperf("2001:db8:2::2", "5202", "-6", "-P", ecmpStreams, "-b", ecmpRate)
	flows["flow"].await(2 * cutPeriods)
	even := n.readCounters().since(n.began)
	t.Logf("frames from the first switch: %d by the first link, %d by the second", even["s1 Ethernet4 wire sent"],
		even["s1 Ethernet8 wire sent"])
	if min(even["s1 Ethernet4 wire sent"], even["s1 Ethernet8 wire sent"]) < 1000 {
		t.Error("one of two links alike carries hardly anything")
	}

	for _, cut := range []struct {
		what, left string
		down, heal func()
	}{
		{"the first link set down at the first switch", "Ethernet8", n.sets(0, "eth2 down"), n.sets(0, "eth2 up")},
		{"the second link set down at the second switch", "Ethernet4", n.sets(1, "eth3 down"), n.sets(1, "eth3 up")},
		{"the first link deleted", "Ethernet8", func() { mustIn(t, n.sides[0], "ip link del eth2") },
			func() { n.link("eth2") }},
	} {
		for _, turn := range []struct {
			what, over string
			do         func()
		}{{cut.what, cut.left, cut.down}, {cut.what + ", healed", n.links(), cut.heal}} {
			before, missing := n.readCounters(), [2]int{flows["flow"].missing(), flows["flow6"].missing()}
			turn.do()
			took := n.over(turn.over)
			flows["flow"].await(cutPeriods)
			t.Logf("%s: the routes are at %s after %s; lost are %d packets of the flow, %d of that by IPv6; %s", turn.what,
				turn.over,
				took.Round(time.Millisecond), flows["flow"].missing()-missing[0], flows["flow6"].missing()-missing[1],
				n.readCounters().since(before).losses())
		}
	}
	stop4()
	stop6()
	for _, f := range flows {
		f.stop()
	}
	for _, s := range n.switches { // they send keepalives every second, and the counters are read one after the other
		s.kill["bgpd"]()
	}
	all := n.settled()
	t.Logf("the hosts sent %d frames, and %d came; lost: %s", all.sum("h1 sent", "h2 sent"),
		all.sum("h1 received", "h2 received"), all.losses())
	for name, f := range flows {
		f.compare(results[name]) // possibly a flow loses no packet in a cut
	}
}

// links returns the ports at which the other switch is reached while both links are up.
func (n *cutNet) links() string {
	switch {
	case n.both:
		return "Ethernet4,Ethernet8"
	case n.lag:
		return cutLAG
	}
	return "Ethernet4"
}

// prefixes returns the prefixes of the host of switch i.
func (n *cutNet) prefixes(i int) []string {
	list := []string{fmt.Sprintf("10.%d.0.0/24", i)}
	if n.both {
		list = append(list, fmt.Sprintf("2001:db8:%d::/64", i))
	}
	return list
}

func (n *cutNet) addresses(i int) []string {
	list := []string{fmt.Sprintf("10.%d.0.2", i)}
	if n.both {
		list = append(list, fmt.Sprintf("2001:db8:%d::2", i))
	}
	return list
}

// giveIPv6 gives a host static IPv6 addresses, without any additional traffic of its own.
func (n *cutNet) giveIPv6(i int) {
	n.t.Helper()
	quiet := func() error {
		return exec.Command("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0", "net.ipv6.conf.host.disable_ipv6=0",
			"net.ipv6.conf.host.accept_ra=0", "net.ipv6.conf.host.router_solicitations=0").Run()
	}
	err := n.hosts[i].Do(quiet)
	if err == nil {
		err = n.hosts[i].IP(fmt.Sprintf("addr add 2001:db8:%d::2/64 dev host nodad", i+1),
			fmt.Sprintf("-6 route add default via 2001:db8:%d::1", i+1))
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// ecmpConfig adds the configuration of switch n for IPv6.
func ecmpConfig(c device.ConfigDB, n int) device.ConfigDB {
	empty := swss.FieldValues{"NULL": "NULL"}
	maps.Copy(c[schema.CfgInterface], map[string]swss.FieldValues{
		fmt.Sprintf("Ethernet0|2001:db8:%d::1/64", n): empty, fmt.Sprintf("Ethernet4|2001:db8:4::%d/126", n): empty,
		fmt.Sprintf("Ethernet8|2001:db8:8::%d/126", n): empty,
	})
	c[schema.CfgCOPPTrap]["arp"]["trap_ids"] = "arp_req,arp_resp,neigh_discovery"
	from := maps.Clone(c[schema.CfgACLRule]["TAM|flow"])
	delete(from, "IP_PROTOCOL")
	delete(from, "DST_IP")
	from["NEXT_HEADER"], from["DST_IPV6"] = "17", "2001:db8:2::2/128"
	c[schema.CfgACLRule]["TAM|flow6"] = from
	c[schema.CfgTAMFlowGroup]["flow6"] = swss.FieldValues{"id": "2"}
	session := maps.Clone(c[schema.CfgTAMAltMark]["flow"])
	session["flowgroup"] = "flow6"
	c[schema.CfgTAMAltMark]["flow6"] = session
	return c
}

// ecmpBGP returns a BGP configuration with a session of each family over each link, which uses the routes of both
// links.
func ecmpBGP(n int) string {
	return fmt.Sprintf(`router bgp %d
 bgp router-id 10.255.0.%d
 no bgp ebgp-requires-policy
 timers bgp 1 3
 neighbor four peer-group
 neighbor four remote-as external
 neighbor four timers connect 1
 neighbor six peer-group
 neighbor six remote-as external
 neighbor six timers connect 1
 neighbor 10.0.0.%[3]d peer-group four
 neighbor 10.0.0.%[4]d peer-group four
 neighbor 2001:db8:4::%[5]d peer-group six
 neighbor 2001:db8:8::%[5]d peer-group six
 address-family ipv4 unicast
  no neighbor six activate
  network 10.%[2]d.0.0/24
  maximum-paths 2
 exit-address-family
 address-family ipv6 unicast
  neighbor six activate
  neighbor six route-map global in
  network 2001:db8:%[2]d::/64
  maximum-paths 2
 exit-address-family
exit
route-map global permit 10
 set ipv6 next-hop prefer-global
exit
`, 65000+n, n, 2-n, 4-n, 3-n)
}
