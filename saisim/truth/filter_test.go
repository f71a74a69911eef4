package truth

import (
	"encoding/hex"
	"strings"
	"testing"
)

// frames holds frames by name: IPv4 of a.b.c.d, and IPv6 of 2001:db8::, with and without tags.
var frames = map[string]string{
	"udp4": "020000000002 020000000001 0800 4500001c000000004011 0000 0a000001 0a000002 03e8 0035 0008 0000",
	"tcp4 syn": "020000000002 020000000001 0800 45b80028000000004006 0000 0a000001 0a010002 03e8 0050 00000000 00000000 " +
		"5002 ffff 0000 0000",
	"vlan 10": "020000000002 020000000001 8100 600a 0800 4500001c000000004011 0000 0a000001 0a000002 03e8 0035 0008 0000",
	"later":   "020000000002 020000000001 0800 4500001c000000b94011 0000 0a000001 0a000002 03e8 0035 0008 0000",
	"udp6": "020000000002 020000000001 86dd 6002000100081140 20010db8000000000000000000000001 " +
		"20010db8000000000000000000000002 03e8 0035 0008 0000",
	"hop6": "020000000002 020000000001 86dd 6000000000100040 20010db8000000000000000000000001 " +
		"20010db8000000000000000000000002 1100010400000000 03e8 0035 0008 0000",
	"ping6": "020000000002 020000000001 86dd 6000000000083a40 20010db8000000000000000000000001 " +
		"20010db8000000000000000000000002 8000 0000 00000000",
	"arp":    "ffffffffffff 020000000001 0806 0001 0800 06 04 0001",
	"802.3":  "0180c2000000 020000000001 0026 424203",
	"bad ip": "020000000002 020000000001 0800 4500ffff000000004011 0000 0a000001 0a000002 03e8 0035 0008 0000",
}

// A match selects these frames. Frames arrive at Ethernet4, whose native VLAN is 7.
func TestFilter(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"PRIORITY", "10", "802.3,arp,bad ip,hop6,later,ping6,tcp4 syn,udp4,udp6,vlan 10"},
		{"SRC_IP", "10.0.0.1", "bad ip,later,tcp4 syn,udp4,vlan 10"},
		{"DST_IP", "10.0.0.0/24", "bad ip,later,udp4,vlan 10"},
		{"SRC_IPV6", "2001:db8::/32", "hop6,ping6,udp6"},
		{"DST_IPV6", "2001:db8::2", "hop6,ping6,udp6"},
		{"SRC_MAC", "02:00:00:00:00:01", "802.3,arp,bad ip,hop6,later,ping6,tcp4 syn,udp4,udp6,vlan 10"},
		{"DST_MAC", "01:00:00:00:00:00/01:00:00:00:00:00", "802.3,arp"},
		{"ETHER_TYPE", "0x806", "arp"},
		{"VLAN_ID", "10", "vlan 10"},
		{"VLAN_ID", "7", "802.3,arp,bad ip,hop6,later,ping6,tcp4 syn,udp4,udp6"},
		{"IP_TYPE", "NON_IP", "802.3,arp"},
		{"IP_TYPE", "IPV6ANY", "hop6,ping6,udp6"},
		{"IP_PROTOCOL", "17", "bad ip,hop6,later,udp4,udp6,vlan 10"},
		{"NEXT_HEADER", "58", "ping6"},
		{"DSCP", "46", "tcp4 syn"},
		{"DSCP", "0x20/0x20", "tcp4 syn"},
		{"TTL", "64", "bad ip,hop6,later,ping6,tcp4 syn,udp4,udp6,vlan 10"},
		{"IPV6_FLOW_LABEL", "0x20001", "udp6"},
		{"ICMPV6_TYPE", "128", "ping6"},
		{"ICMP_TYPE", "128", ""},
		{"L4_SRC_PORT", "1000", "bad ip,hop6,tcp4 syn,udp4,udp6,vlan 10"},
		{"L4_DST_PORT_RANGE", "53-79", "bad ip,hop6,udp4,udp6,vlan 10"},
		{"TCP_FLAGS", "0x02/0x12", "tcp4 syn"},
		{"IN_PORTS", "Ethernet0,Ethernet4", "802.3,arp,bad ip,hop6,later,ping6,tcp4 syn,udp4,udp6,vlan 10"},
		{"IN_PORTS", "Ethernet0", ""},
	} {
		f := filter(t, tt.name, tt.value)
		var got []string
		for _, name := range []string{"802.3", "arp", "bad ip", "hop6", "later", "ping6", "tcp4 syn", "udp4", "udp6",
			"vlan 10"} {
			b, err := hex.DecodeString(strings.ReplaceAll(frames[name], " ", ""))
			if err != nil {
				t.Fatal(name, err)
			}
			var x fields
			x.parse(b, len(b), 7)
			if f.match(&x, "Ethernet4") {
				got = append(got, name)
			}
		}
		if g := strings.Join(got, ","); g != tt.want {
			t.Errorf("%s=%s selects %s, want %s", tt.name, tt.value, g, tt.want)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"SRC_IP", "2001:db8::1", `SRC_IP "2001:db8::1": want an address or prefix of IPv4`},
		{"DST_IPV6", "fe80::1%eth0", "want an address or prefix of IPv6"},
		{"L4_SRC_PORT", "65536", "want 0 to 65535"},
		{"L4_SRC_PORT", "1/1", "want 0 to 65535"},
		{"DSCP", "64", "want 0 to 63, or such a value/mask"},
		{"TCP_FLAGS", "2/x", "want 0 to 63"},
		{"L4_DST_PORT_RANGE", "9-1", "want MIN-MAX"},
		{"SRC_MAC", "02:00", "want 02:00:00:00:00:01"},
		{"IP_TYPE", "ARP", "want ANY, IP"},
		{"OUT_PORTS", "Ethernet0", "the oracle does not know this match"},
	} {
		if _, err := ParseFilter(map[string]string{tt.name: tt.value}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v, want %q", tt.name, tt.value, err, tt.want)
		}
	}
}

// FuzzFilter checks that no frame and no match make the oracle panic.
func FuzzFilter(f *testing.F) {
	for _, s := range frames {
		b, _ := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		f.Add(b, "TCP_FLAGS", "2/18")
	}
	f.Fuzz(func(t *testing.T, frame []byte, name, value string) {
		filter, _ := ParseFilter(map[string]string{name: value})
		var x fields
		x.parse(frame, len(frame)+len(value), 1)
		filter.match(&x, name)
		if k := By5Tuple.of(&x, name); x.ip && k.ip == 0 {
			t.Errorf("%+v", k)
		}
	})
}
