package schema

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var ignoreAddrs = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
}

func TestACLRule(t *testing.T) {
	tests := []struct {
		typ, in, want string
	}{
		{"L3", "PRIORITY=10 SRC_IP=10.1.2.3/8 PACKET_ACTION=drop", "PRIORITY=10 SRC_IP=10.0.0.0/8 PACKET_ACTION=DROP"},
		{"L3", "priority=0x10 DST_IP=10.1.2.3 packet_action=FORWARD", "PRIORITY=16 DST_IP=10.1.2.3/32 PACKET_ACTION=FORWARD"},
		{"L3", "SRC_IP=10.1.2.3 SRC_IP_MASK=255.0.255.0 PACKET_ACTION=COPY",
			"PRIORITY=0 SRC_IP=10.0.2.0 SRC_IP_MASK=255.0.255.0 PACKET_ACTION=COPY"},
		{"L3", "SRC_IP=10.1.2.3 SRC_IP_MASK=255.255.0.0 PACKET_ACTION=COPY",
			"PRIORITY=0 SRC_IP=10.1.0.0/16 PACKET_ACTION=COPY"},
		{"L3", "L4_SRC_PORT=010 L4_DST_PORT=0x50 PACKET_ACTION=DROP",
			"PRIORITY=0 L4_SRC_PORT=8 L4_DST_PORT=80 PACKET_ACTION=DROP"},
		{"L3", "L4_SRC_PORT_RANGE=1-1024 L4_DST_PORT_RANGE=0-65535 PACKET_ACTION=DROP",
			"PRIORITY=0 L4_SRC_PORT_RANGE=1-1024 L4_DST_PORT_RANGE=0-65535 PACKET_ACTION=DROP"},
		{"L3", "TCP_FLAGS=0x02 PACKET_ACTION=DROP", "PRIORITY=0 TCP_FLAGS=0x2 IP_PROTOCOL=6 PACKET_ACTION=DROP"},
		{"L3", "TCP_FLAGS=0x12/0x12 IP_PROTOCOL=17 PACKET_ACTION=DROP",
			"PRIORITY=0 TCP_FLAGS=0x12/0x12 IP_PROTOCOL=17 PACKET_ACTION=DROP"},
		{"L3V6", "TCP_FLAGS=2 PACKET_ACTION=DROP", "PRIORITY=0 TCP_FLAGS=0x2 NEXT_HEADER=6 PACKET_ACTION=DROP"},
		{"L3V6", "SRC_IPV6=2001:DB8::1/33 IP_PROTOCOL=17 PACKET_ACTION=DROP",
			"PRIORITY=0 SRC_IPV6=2001:db8::/33 NEXT_HEADER=17 PACKET_ACTION=DROP"},
		{"L3V6", "DST_IPV6=2001:db8::1 DST_IPV6_MASK=ffff::ffff PACKET_ACTION=DROP",
			"PRIORITY=0 DST_IPV6=2001::1 DST_IPV6_MASK=ffff::ffff PACKET_ACTION=DROP"},
		{"L3", "VLAN_ID=4095 IP_TYPE=ipv4any ETHER_TYPE=2048 ICMP_TYPE=8 ICMP_CODE=0 PACKET_ACTION=DO_NOT_NAT",
			"PRIORITY=0 VLAN_ID=4095 IP_TYPE=IPV4ANY ETHER_TYPE=0x800 ICMP_TYPE=8 ICMP_CODE=0 PACKET_ACTION=DO_NOT_NAT"},
		{"L3", "SRC_IP=10.0.0.1 PACKET_ACTION=REDIRECT:Ethernet8", "PRIORITY=0 SRC_IP=10.0.0.1/32 REDIRECT_ACTION=Ethernet8"},
		{"L3", "SRC_IP=10.0.0.1 REDIRECT_ACTION=10.0.0.1@Ethernet0,2001:db8::1@Vlan10",
			"PRIORITY=0 SRC_IP=10.0.0.1/32 REDIRECT_ACTION=10.0.0.1@Ethernet0,2001:db8::1@Vlan10"},
		{"L3", "SRC_IP=10.0.0.1 PACKET_ACTION=FORWARD POLICER_ACTION=p1",
			"PRIORITY=0 SRC_IP=10.0.0.1/32 PACKET_ACTION=FORWARD POLICER_ACTION=p1"},
		{"MIRROR", "DSCP=8/0x38 MIRROR_ACTION=s1", "PRIORITY=0 DSCP=8/0x38 MIRROR_INGRESS_ACTION=s1"},
		{"SAMPLE", "DST_IPV6=2001::1 PACKET_ACTION=DROP SAMPLE_INGRESS_ACTION=256 SAMPLE_EGRESS_ACTION=8388608",
			"PRIORITY=0 DST_IPV6=2001::1/128 PACKET_ACTION=DROP SAMPLE_INGRESS_ACTION=256 SAMPLE_EGRESS_ACTION=8388608"},
		{"DTEL_FLOW_WATCHLIST",
			"TUNNEL_VNI=5 INNER_SRC_IP=10.0.0.0/24 FLOW_OP=int INT_SESSION=x DROP_REPORT_ENABLE=true FLOW_SAMPLE_PERCENT=10",
			"PRIORITY=0 TUNNEL_VNI=5 INNER_SRC_IP=10.0.0.0/24 FLOW_OP=INT INT_SESSION=x DROP_REPORT_ENABLE=TRUE " +
				"FLOW_SAMPLE_PERCENT=10"},
		{"TAM", "NULL=NULL", "PRIORITY=100"},
		{"TAM", "IN_PORTS=", "PRIORITY=100"},
		{"TAM", "PRIORITY=1024 SRC_MAC=02-00-00-00-00-01 DST_MAC=02:00:00:AA:00:01/ff:ff:ff:00:00:00 HOP_LIMIT=64 DSCP=0/3 " +
			"IN_PORTS@=Ethernet12,Ethernet4,PortChannel1",
			"PRIORITY=1024 SRC_MAC=02:00:00:00:00:01 DST_MAC=02:00:00:00:00:00/ff:ff:ff:00:00:00 TTL=64 DSCP=0/0x3 " +
				"IN_PORTS=Ethernet4,Ethernet12,PortChannel1"},
		{"TAM", "SRC_IP=10.0.0.1 PACKET_ACTION=int_insert", "PRIORITY=100 SRC_IP=10.0.0.1/32"},
		{"TAM", "SRC_IPV6=2001::1 IP_PROTOCOL=6", "PRIORITY=100 SRC_IPV6=2001::1/128 NEXT_HEADER=6"},
		{"TAM", "ETHER_TYPE=0x86dd TCP_FLAGS=1", "PRIORITY=100 ETHER_TYPE=0x86dd NEXT_HEADER=6 TCP_FLAGS=0x1"},
		{"TAM", "IP_PROTOCOL=17 IPV6_FLOW_LABEL=0x12345", "PRIORITY=100 NEXT_HEADER=17 IPV6_FLOW_LABEL=0x12345"},
	}
	for _, tt := range tests {
		t.Run(tt.typ+" "+tt.in, func(t *testing.T) {
			r, err := ParseACLRule(builtin(tt.typ), "T|R", fieldsOf(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(fieldsOf(tt.want), r.Fields()); d != "" {
				t.Error(d)
			}
			again, err := ParseACLRule(builtin(tt.typ), ConfigKey("T:R"), r.Fields())
			if err != nil || !cmp.Equal(again, r, ignoreAddrs) {
				t.Errorf("parsed again: %+v, %v", again, err)
			}
		})
	}
}

func TestInvalidACLRule(t *testing.T) {
	const drop = " PACKET_ACTION=DROP"
	tests := []struct {
		typ, in, want string
	}{
		{"L3", "SRC_IP=10.0.0.1", `PACKET_ACTION is missing: want an action; only rules of TAM tables need none`},
		{"L3", "PACKET_ACTION=DROP", `SRC_IP is missing: want at least one match`},
		{"L3", "SRC_IP=10.0.0.256" + drop,
			`SRC_IP "10.0.0.256": want an IPv4 address or prefix such as 192.0.2.1 or 192.0.2.0/24`},
		{"L3", "SRC_IP=2001::1" + drop, `SRC_IP "2001::1": want an IPv4 address or prefix such as 192.0.2.1 or 192.0.2.0/24`},
		{"L3", "SRC_IP=10.0.0.0/8 SRC_IP_MASK=255.0.0.0" + drop,
			`SRC_IP "10.0.0.0/8": want either a prefix length or a mask, not both`},
		{"L3", "SRC_IP_MASK=255.0.0.0 DST_IP=10.0.0.1" + drop,
			`SRC_IP_MASK "255.0.0.0": want a mask only together with SRC_IP`},
		{"L3", "L4_SRC_PORT=65536 L4_DST_PORT=09" + drop,
			`L4_SRC_PORT "65536": want a number in 0..65535; L4_DST_PORT "09": want a number in 0..65535`},
		{"L3", "L4_SRC_PORT_RANGE=9-8" + drop, `L4_SRC_PORT_RANGE "9-8": want min-max in 0..65535`},
		{"L3", "TCP_FLAGS=0x40" + drop, `TCP_FLAGS "0x40": want a number in 0..63, or value/mask`},
		{"L3", "VLAN_ID=0" + drop, `VLAN_ID "0": want a number in 1..4095`},
		{"L3", "IP_TYPE=IPX" + drop, `IP_TYPE "IPX": want ANY, IP, NON_IP, IPV4ANY, NON_IPV4, IPV6ANY or NON_IPV6`},
		{"L3", "SRC_IPV6=2001::1" + drop, `SRC_IPV6 "2001::1": want a match that a table of type L3 has`},
		{"L3", "SRC_MAC=02:00:00:00:00:01" + drop, `SRC_MAC "02:00:00:00:00:01": want a match that a table of type L3 has`},
		{"L3", "SRC_IPS=10.0.0.1 DST_IP=10.0.0.1" + drop,
			`SRC_IPS "10.0.0.1": want a field of the table; the nearest is SRC_IP`},
		{"L3", "SRC_IP=10.0.0.1 PACKET_ACTION=PASS",
			`PACKET_ACTION "PASS": want FORWARD, DROP, COPY, REDIRECT:target, DO_NOT_NAT or DISABLE_TRIM`},
		{"L3", "SRC_IP=10.0.0.1 PACKET_ACTION=DROP REDIRECT_ACTION=Ethernet0",
			`REDIRECT_ACTION "given": want one action, and at most a policer and sampling`},
		{"SAMPLE", "SRC_IP=10.0.0.1 SAMPLE_INGRESS_ACTION=255", `SAMPLE_INGRESS_ACTION "255": want a number in 256..8388608`},
		{"L3", "SRC_IP=10.0.0.1 SAMPLE_EGRESS_ACTION=256",
			`SAMPLE_EGRESS_ACTION "256": want an action that a table of type L3 has`},
		{"L3", "SRC_IP=10.0.0.1 MIRROR_ACTION=s", `MIRROR_ACTION "s": want an action that a table of type L3 has`},
		{"L3", "PRIORITY=1000000 SRC_IP=10.0.0.1" + drop, `PRIORITY "1000000": want a number in 0..999999`},
		{"TAM", "PRIORITY=0", `PRIORITY "0": want a number in 1..1024`},
		{"TAM", "PRIORITY=1025 DSCP=64 SRC_IP=x",
			`PRIORITY "1025": want a number in 1..1024; SRC_IP "x": want an IPv4 address or prefix such as 192.0.2.1 or ` +
				`192.0.2.0/24; DSCP "64": want a number in 0..63, or value/mask`},
		{"TAM", "PACKET_ACTION=DROP",
			`PACKET_ACTION "DROP": want no action but FORWARD in a table of type TAM: the sessions that use the flow group ` +
				`give it`},
		{"TAM", "SRC_IP=10.0.0.1 DST_IPV6=2001::1", `DST_IPV6 "given": want matches of one IP version; SRC_IP is of IPv4`},
		{"TAM", "SRC_MAC=02:00:00:00:00",
			`SRC_MAC "02:00:00:00:00": want a MAC address or address/mask such as 52:54:00:00:00:00/ff:ff:ff:00:00:00`},
		{"TAM", "TTL=1 HOP_LIMIT=2", `HOP_LIMIT "2": want either TTL or HOP_LIMIT, which are one field of the packet`},
	}
	for _, tt := range tests {
		t.Run(tt.typ+" "+tt.in, func(t *testing.T) {
			_, err := ParseACLRule(builtin(tt.typ), "T|R", fieldsOf(tt.in))
			if got := Reason(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Every match has a value that is accepted, formatted and parsed again.
func TestEveryMatch(t *testing.T) {
	values := map[matchKind]string{
		kindNumber: "7", kindMasked: "3/7", kindMaskedOnly: "0x10/0xf0", kindIPv4: "10.0.0.0/8", kindIPv6: "2001:db8::/32",
		kindMAC: "02:00:00:00:00:01", kindMaskedMAC: "02:00:00:00:00:00/ff:00:00:00:00:00", kindRange: "5-9",
		kindPorts: "Ethernet0,PortChannel1", kindPort: "Ethernet4", kindIPType: "IP", kindBool: "true",
	}
	for f := range matchCount {
		v := values[matchSpecs[f].kind]
		m, want := parseMatch(f, v, "")
		if want != "" {
			t.Errorf("%s %s: want %s", f, v, want)
		}
		out := map[string]string{}
		m.format(out)
		again, _ := parseMatch(f, out[f.String()], "")
		if !cmp.Equal(m, again, ignoreAddrs) {
			t.Errorf("%s: %+v, then %+v", f, m, again)
		}
	}
}

func BenchmarkParseACLRule(b *testing.B) {
	typ := builtin("TAM")
	f := fieldsOf("PRIORITY=10 SRC_IP=10.0.0.1/32 DST_IP=10.0.0.2/32 IP_PROTOCOL=6 L4_DST_PORT=236")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseACLRule(typ, "TAM|F1", f); err != nil {
			b.Fatal(err)
		}
	}
}
