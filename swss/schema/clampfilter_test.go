package schema

import "testing"

// The filter matches the segments with SYN in the reverse direction that limit the segments of a flow group. If a
// filter cannot express that exactly, it matches more segments.
func TestClampFilter(t *testing.T) {
	for _, tt := range []struct{ rule, want, wrong string }{
		{rule: "", want: "protocol=6"},
		{rule: "SRC_IP=10.0.0.1 DST_IP=10.1.0.0/16 L4_SRC_PORT=1000 L4_DST_PORT=80",
			want: "src-ip=10.1.0.0/16,dst-ip=10.0.0.1/32,src-port=80,dst-port=1000,protocol=6"},
		{rule: "SRC_IPV6=2001:db8::/32 L4_DST_PORT_RANGE=80-90 NEXT_HEADER=6",
			want: "dst-ip=2001:db8::/32,src-port=80-90,protocol=6"},
		{rule: "L4_SRC_PORT_RANGE=1-2 IP_TYPE=NON_IPV6", want: "dst-port=1-2,protocol=6,ip=4"},
		{rule: "ETHER_TYPE=0x86dd IP_PROTOCOL=6", want: "protocol=6,ip=6"},
		{rule: "IP_TYPE=IP", want: "protocol=6"},
		// The filter matches more if the rule has a port of the switch, a VLAN, flags, or a mask that is not a prefix.
		{rule: "IN_PORTS=Ethernet0 VLAN_ID=7 DSCP=8 TTL=64 TCP_FLAGS=0x10/0x10 SRC_MAC=02:00:00:00:00:01",
			want: "protocol=6"},
		{rule: "SRC_IP=10.7.0.1 SRC_IP_MASK=255.254.0.255", want: "dst-ip=10.6.0.0/15,protocol=6"},
		{rule: "DST_IP=10.7.0.1 DST_IP_MASK=0.0.0.255", want: "src-ip=0.0.0.0/0,protocol=6"},

		{rule: "IP_PROTOCOL=17 ETHER_TYPE=0x806",
			wrong: `ETHER_TYPE "0x806": want 0x0800, 0x86DD or none: clamp-mss is for TCP; IP_PROTOCOL "17": want 6 or none: ` +
				`clamp-mss is for TCP`},
		{rule: "IP_TYPE=NON_IP", wrong: `IP_TYPE "NON_IP": want any but NON_IP: clamp-mss is for TCP`},
		{rule: "ICMPV6_TYPE=1", wrong: `ICMPV6_TYPE "1": want no such match: clamp-mss is for TCP`},
	} {
		rule, err := ParseACLRule(builtin(ACLTypeTAM), "TAM|F", fieldsOf(tt.rule))
		if err != nil {
			t.Fatal(err)
		}
		f, err := ClampFilter(rule)
		switch {
		case tt.wrong != "" && (err == nil || Reason(err) != tt.wrong):
			t.Errorf("%s: %v, want %s", tt.rule, err, tt.wrong)
		case tt.wrong == "" && (err != nil || f.String() != tt.want):
			t.Errorf("%s: %s, %v, want %s", tt.rule, f, err, tt.want)
		}
	}
}
