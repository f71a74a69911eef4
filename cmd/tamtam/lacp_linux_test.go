package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// cutLAG is the PortChannel in the test of aggregated links.
const cutLAG = "PortChannel1"

// Two switches have two links between them that LACP aggregates, with BGP over the PortChannel. Linux hosts communicate
// through both switches, with TCP, and a flow of numbered packets with alternate marking. Each link is cut and
// restored, in three ways. The other link carries all traffic meanwhile, and BGP is not affected. Each frame that a
// host sent is received by the other, or counted as lost by a counter of a switch. The periods of alternate marking
// match the packet numbers exactly, or are flagged. At last both links are cut, which affects BGP.
func TestFRRLACP(t *testing.T) {
	needFRR(t)
	n := newCutNet(t, false)
	n.lag = true
	n.start()
	flow := n.startFlow()
	results := n.collect()
	stopTCP := n.startTCP()
	flow.await(2 * cutPeriods)

	for i, what := range []string{"set down at the first switch", "set down at the second switch",
		"set down at the second switch", "deleted"} {
		port, link := n.busier(i == 2) // TCP uses one link, and the flow uses the same or the other link
		sessions := n.sessions()
		down := map[string]func(){
			"set down at the first switch": n.sets(0, link+" down"), "set down at the second switch": n.sets(1, link+" down"),
			"deleted": func() { mustIn(t, n.sides[0], "ip link del "+link) },
		}[what]
		heal := map[string]func(){
			"set down at the first switch": n.sets(0, link+" up"), "set down at the second switch": n.sets(1, link+" up"),
			"deleted": func() { n.link(link) },
		}[what]
		before, missing := n.readCounters(), flow.missing()
		down()
		took := n.member(port, schema.OperDown)
		flow.await(cutPeriods)
		t.Logf("%s %s: the other link has all after %s; %d packets of the flow lost; %s", port, what,
			took.Round(time.Millisecond), flow.missing()-missing, n.readCounters().since(before).losses())
		before, missing = n.readCounters(), flow.missing()
		heal()
		took = n.member(port, schema.OperUp)
		flow.await(cutPeriods)
		lost := flow.missing() - missing
		for began := time.Now(); lost > 0 && time.Since(began) < time.Second; { // a packet may still be in flight
			<-time.After(10 * time.Millisecond)
			lost = flow.missing() - missing
		}
		t.Logf("%s %s, healed: both links carry traffic after %s; %d packets of the flow lost; %s", port, what,
			took.Round(time.Millisecond), lost, n.readCounters().since(before).losses())
		if lost > 0 {
			t.Errorf("%d packets of the flow were lost when the link had healed: nobody may send before the other receives",
				lost)
		}
		if now := n.sessions(); now != sessions {
			t.Errorf("BGP has noticed: sessions were made %s times, and then %s", sessions, now)
		}
	}
	before, missing := n.readCounters(), flow.missing()
	n.sets(0, "eth2 down")()
	n.sets(0, "eth3 down")()
	for _, s := range n.switches {
		s.until("the PortChannel is down", func() bool {
			return s.row(swss.ApplDB, schema.AppLAG, cutLAG)[schema.FieldOperStatus] == schema.OperDown
		})
	}
	flow.await(1)
	n.sets(0, "eth2 up")()
	n.sets(0, "eth3 up")()
	took := n.over(cutLAG)
	flow.await(cutPeriods)
	t.Logf("both set down, and healed: the routes are back after %s; %d packets of the flow lost; %s",
		took.Round(time.Millisecond), flow.missing()-missing, n.readCounters().since(before).losses())
	stopTCP()
	flow.stop()
	for _, s := range n.switches { // wait until no frames are in flight
		s.kill["bgpd"]()
	}
	<-time.After(cutRest)
	for _, s := range n.switches {
		s.setLAG("down")
	}
	all := n.settled()
	t.Logf("the hosts sent %d frames, and %d came", all.sum("h1 sent", "h2 sent"), all.sum("h1 received", "h2 received"))
	t.Logf("LACP sent %d, received %d; lost: %s", all.sum("s1 * cpu from LACP", "s2 * cpu from LACP"),
		all.sum("s1 * cpu to LACP", "s2 * cpu to LACP"), all.losses())
	if flow.compare(results) == 0 {
		t.Error("no period with losses could be compared")
	}
}

// lagConfig returns cutConfig with the two links as one PortChannel.
func lagConfig(n int) device.ConfigDB {
	empty := swss.FieldValues{"NULL": "NULL"}
	config := cutConfig(n)
	for key := range config[schema.CfgInterface] {
		if strings.HasPrefix(key, "Ethernet4") || strings.HasPrefix(key, "Ethernet8") {
			delete(config[schema.CfgInterface], key)
		}
	}
	config[schema.CfgPortChannel] = map[string]swss.FieldValues{cutLAG: {"admin_status": "down", "mtu": "1500"}}
	config[schema.CfgPortChannelMbr] = map[string]swss.FieldValues{cutLAG + "|Ethernet4": empty,
		cutLAG + "|Ethernet8": empty}
	config[schema.CfgPortChannelInterface] = map[string]swss.FieldValues{cutLAG: empty,
		fmt.Sprintf("%s|10.0.0.%d/31", cutLAG, n-1): empty}
	return config
}

// lagBGP returns a BGP configuration with a session over the PortChannel.
func lagBGP(n int) string {
	return fmt.Sprintf(`router bgp %d
 bgp router-id 10.255.0.%d
 no bgp ebgp-requires-policy
 timers bgp 1 3
 neighbor %[3]s remote-as external
 neighbor %[3]s timers connect 1
 address-family ipv4 unicast
  network 10.%[2]d.0.0/24
 exit-address-family
exit
`, 65000+n, n, fmt.Sprintf("10.0.0.%d", 2-n))
}

// setLAG sets the PortChannel up or down.
func (s *frrSwitch) setLAG(status string) {
	s.t.Helper()
	if err := swss.NewTable(s.redis.DB(swss.ConfigDB), schema.CfgPortChannel).Set(s.t.Context(), cutLAG,
		swss.FieldValues{"admin_status": status}); err != nil {
		s.t.Fatal(err)
	}
}

// lacp returns how many frames LACP has received and sent at a port.
func (s *frrSwitch) lacp(port string) (received, sent int64) {
	for field, text := range s.row(swss.CountersDB, schema.CountersLACP, cutLAG+":"+port) {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		switch {
		case field == "lacpdu-sent" || field == "marker-response-sent":
			sent += v
		case strings.HasSuffix(field, "-received") || strings.HasPrefix(field, "discarded-"):
			received += v
		case field == "drop-cpu-port":
			sent -= v
		}
	}
	return received, sent
}

// member waits until a member of the PortChannel has a state at both switches, and returns how long that took.
func (n *cutNet) member(port, does string) time.Duration {
	n.t.Helper()
	var took time.Duration
	for _, s := range n.switches {
		took += s.until(port+" is "+does, func() bool {
			return s.row(swss.ApplDB, schema.AppLAGMember, cutLAG+":"+port)[schema.FieldOperStatus] == does
		})
	}
	return took
}

// busier returns the member on which the first switch sends most, and its link. If other is true, it returns the other
// member and link.
func (n *cutNet) busier(other bool) (port, link string) {
	n.t.Helper()
	sent := func(port string) int64 {
		v, err := strconv.ParseInt(n.switches[0].wireRow(port)[schema.WireSent], 10, 64)
		if err != nil {
			n.t.Fatal(err)
		}
		return v
	}
	four, eight := sent("Ethernet4"), sent("Ethernet8")
	n.switches[0].until("something is sent", func() bool { return sent("Ethernet4")+sent("Ethernet8") > four+eight+200 })
	if (sent("Ethernet4")-four > sent("Ethernet8")-eight) != other {
		return "Ethernet4", "eth2"
	}
	return "Ethernet8", "eth3"
}

// sessions returns how often the first switch established its BGP session.
func (n *cutNet) sessions() string {
	n.t.Helper()
	out, err := in(n.t, n.sides[0], "vtysh", "--vty_socket", n.switches[0].dir, "-c", "show bgp neighbors 10.0.0.1 json")
	if err != nil {
		n.t.Fatalf("%v: %s", err, out)
	}
	at := regexp.MustCompile(`"connectionsEstablished":([0-9]+)`).FindStringSubmatch(out)
	if at == nil {
		n.t.Fatalf("there is no session: %s", out)
	}
	return at[1]
}
