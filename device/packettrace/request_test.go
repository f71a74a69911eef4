package packettrace

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/saisim"
)

// A stage is a scene with one neighbour, and at most one router interface.
type stage struct{ mac net.HardwareAddr }

func (s stage) router(saisim.PortID, *uint16) (net.HardwareAddr, bool) { return s.mac, s.mac != nil }

func (s stage) neighbor(ip netip.Addr) (net.HardwareAddr, bool) {
	return net.HardwareAddr{2, 0, 0, 0, 0, 9}, ip == netip.MustParseAddr("10.0.0.9")
}

var routed = stage{net.HardwareAddr{2, 0, 0, 0, 0, 0xff}}

// Frames built from fields equal gopacket's, checksums included.
func TestFramesOfFields(t *testing.T) {
	for _, tt := range []struct {
		request string
		want    []gopacket.SerializableLayer
	}{
		{`{"in":"Ethernet0","src":"10.0.0.1","dst":"10.0.1.1"}`, []gopacket.SerializableLayer{
			ether("02:00:00:00:00:01", layers.EthernetTypeIPv4), ip4("10.0.0.1", 0, 64, layers.IPProtocolUDP),
			&layers.UDP{SrcPort: 10000, DstPort: 20000}}},
		{`{"in":"Ethernet0","src":"10.0.0.9","dst":"10.0.1.1","protocol":"tcp","dst-port":80,"vlan":7,"ttl":3,"dscp":46,` +
			`"size":101}`,
			[]gopacket.SerializableLayer{
				ether("02:00:00:00:00:09", layers.EthernetTypeDot1Q),
				&layers.Dot1Q{VLANIdentifier: 7, Type: layers.EthernetTypeIPv4},
				ip4("10.0.0.9", 46<<2, 3, layers.IPProtocolTCP),
				&layers.TCP{SrcPort: 10000, DstPort: 80, Seq: 1, Ack: 1, ACK: true, Window: 0xffff},
				gopacket.Payload(make([]byte, 43))}},
		{`{"in":"Ethernet0","src":"10.0.0.1","dst":"10.0.1.1","protocol":"icmp"}`, []gopacket.SerializableLayer{
			ether("02:00:00:00:00:01", layers.EthernetTypeIPv4), ip4("10.0.0.1", 0, 64, layers.IPProtocolICMPv4),
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 1, Seq: 1}}},
		{`{"in":"Ethernet0","src":"2001:db8::1","dst":"2001:db8::2","src-mac":"02:00:00:00:00:07","dscp":10,"src-port":1,` +
			`"dst-port":2}`,
			[]gopacket.SerializableLayer{
				ether("02:00:00:00:00:07", layers.EthernetTypeIPv6), &layers.IPv6{Version: 6, TrafficClass: 40, HopLimit: 64,
					NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP("2001:db8::1"), DstIP: net.ParseIP("2001:db8::2")},
				&layers.UDP{SrcPort: 1, DstPort: 2}}},
	} {
		r, err := ParseRequest([]byte(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.frame(0, routed)
		if err != nil {
			t.Fatal(err)
		}
		if want := serialized(t, tt.want); !bytes.Equal(got, want) {
			t.Errorf("%s:\ngot  %x\nwant %x", tt.request, got, want)
		}
	}
}

func ether(src string, kind layers.EthernetType) *layers.Ethernet {
	mac, _ := net.ParseMAC(src)
	return &layers.Ethernet{DstMAC: routed.mac, SrcMAC: mac, EthernetType: kind}
}

func ip4(src string, tos, ttl uint8, proto layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, IHL: 5, TOS: tos, TTL: ttl, Protocol: proto, Flags: layers.IPv4DontFragment,
		SrcIP: net.ParseIP(src), DstIP: net.ParseIP("10.0.1.1")}
}

func serialized(t *testing.T, all []gopacket.SerializableLayer) []byte {
	var network gopacket.NetworkLayer
	for _, l := range all {
		if n, ok := l.(gopacket.NetworkLayer); ok {
			network = n
		}
		switch l := l.(type) {
		case *layers.UDP:
			_ = l.SetNetworkLayerForChecksum(network)
		case *layers.TCP:
			_ = l.SetNetworkLayerForChecksum(network)
		}
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		all...); err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(b.Bytes())
	return append(out, make([]byte, max(0, minSize-len(out)))...)
}

// Errors contain the wrong value and what would be valid.
func TestRequestsThatAreRefused(t *testing.T) {
	const ips = `"in":"Ethernet0","src":"10.0.0.1","dst":"10.0.1.1"`
	for _, tt := range []struct {
		request, want string
		bridged       bool
	}{
		{request: `{}`, want: "in is missing, want a port"},
		{request: `{"in":"Ethernet0","color":"red"}`, want: `unknown field "color"`},
		{request: `{"in":"Ethernet0","src":"10.0.0.1"}`, want: `dst is "", want an IP address`},
		{request: `{"in":"Ethernet0","src":"10.0.0.1","dst":"2001:db8::1"}`, want: "want addresses of one family"},
		{request: `{"in":"Ethernet0","src":"fe80::1%a","dst":"2001:db8::1"}`, want: `src is "fe80::1%a"`},
		{request: `{` + ips + `}`, bridged: true, want: "dst-mac is missing: Ethernet0 is at no router interface"},
		{request: `{` + ips + `,"dst-mac":"1:2"}`, want: `dst-mac is "1:2", want six bytes`},
		{request: `{` + ips + `,"vlan":4095}`, want: "vlan is 4095, want 0 to 4094"},
		{request: `{` + ips + `,"dscp":64}`, want: "dscp is 64, want 0 to 63"},
		{request: `{` + ips + `,"ttl":256}`, want: "ttl"},
		{request: `{` + ips + `,"size":41}`, want: "size is 41, want 42 to 9216"},
		{request: `{` + ips + `,"protocol":"sctpx"}`, want: `protocol is "sctpx", want tcp, udp, icmp or 0 to 255`},
		{request: `{` + ips + `,"protocol":"icmp","dst-port":7}`,
			want: "dst-port is 7, and protocol is icmp: want tcp or udp, or no ports"},
		{request: `{` + ips + `,"protocol":"47","src-port":7}`, want: "src-port is 7, and protocol is 47: want tcp or udp"},
		{request: `{` + ips + `,"tcp-flags":2}`, want: "tcp-flags is 2, and protocol is udp: want tcp, or no tcp-flags"},
		{request: `{"in":"Ethernet0","frame":"0102"}`, want: `frame is "0102" (4 characters), want 14 to 9216 bytes`},
		{request: `{"in":"Ethernet0","frame":"` + strings.Repeat("0", 28) + `","ttl":1}`, want: "ttl is given beside frame"},
	} {
		s := routed
		if tt.bridged {
			s = stage{}
		}
		r, err := ParseRequest([]byte(tt.request))
		if err == nil {
			_, err = r.frame(0, s)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.request, err, tt.want)
		}
	}
}

// Differing header fields are reported, for frames of any bytes.
func TestRewrites(t *testing.T) {
	in, _ := hex.DecodeString("02000000000a02000000000b81000007080045b80014000040004006000a0a0000010a000002")
	out, _ := hex.DecodeString("02000000000c02000000000b08004500001400004000ff06000a0a0000010a000002")
	got, _ := json.Marshal(rewrites(in, out))
	const want = `[{"field":"dst-mac","was":"02:00:00:00:00:0a","is":"02:00:00:00:00:0c"},{"field":"vlan","was":"7",` +
		`"is":""},{"field":"pcp","was":"0","is":""}`
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("got  %s\nwant %s ...", got, want)
	}
}

// Every request is either rejected or gives a frame within the limits.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"in":"Ethernet0","src":"10.0.0.1","dst":"10.0.1.1","protocol":"tcp","size":80}`,
		`{"in":"e","frame":"0200000000010200000000020800"}`, `{"in":"e","src":"::1","dst":"::2","vlan":1,"protocol":"58"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRequest([]byte(text))
		if err != nil {
			return
		}
		b, err := r.frame(0, routed)
		if err == nil && (len(b) < 14 || len(b) > maxSize) {
			t.Errorf("%q: %d bytes", text, len(b))
		}
		rewrites(b, b[:len(b)/2])
	})
}

// Requests with any text are answered or rejected, and answers stay short.
func FuzzQuestions(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"by":"rule","last":0}`, `{"by":"port","last":-1}`,
		`{"src":"10.0.0.1","dst":"10.0.0.2","protocol":"icmp","last":1000}`,
		`{"src":"2001:db8::1","dst":"2001:db8::2","src-port":1,"dst-port":65535}`,
		`{"src":"::ffff:1.2.3.4","dst":"fe80::1%eth0"}`,
		`{"src":"10.0.0.1","dst":"10.0.0.2","protocol":"256"}`, `{"by":1}`, `{"by":"rule"} {}`, `[`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var drops DropsRequest
		err := decode(text, &drops)
		if err == nil {
			var by string
			var last int
			if by, last, err = drops.options(); err == nil && (by == "" || last < 0 || last > mostEnds) {
				t.Errorf("%q: by %q, last %d", text, by, last)
			}
		}
		short(t, text, err)
		var flow FlowRequest
		if err = decode(text, &flow); err == nil {
			var x saisim.Flow
			var last int
			if x, last, err = flow.flow(); err == nil && (x.Src.Is4() != x.Dst.Is4() || !x.Src.IsValid() || last < 1 ||
				last > mostEnds) {
				t.Errorf("%q: %+v, last %d", text, x, last)
			}
		}
		short(t, text, err)
	})
}

// short checks that an error fits one or two lines, for any request.
func short(t *testing.T, text string, err error) {
	if err != nil && len(err.Error()) > 1000 && len(text) < 500 {
		t.Errorf("%q: %d bytes of error", text, len(err.Error()))
	}
}

// Text that follows a request is not silently ignored.
func TestOneRequest(t *testing.T) {
	for text, want := range map[string]string{
		`{"by":"rule"} {"by":"port"}`: "something behind it",
		`{"bye":"rule"}`:              `unknown field "bye"`,
		`{"by":7}`:                    "by is number, want string",
		``:                            "EOF",
	} {
		if err := decode(text, &DropsRequest{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The declaration of kept drops is complete, and an unfinished filter has completions.
func TestKeptDrops(t *testing.T) {
	if err := keptDrops.Check(); err != nil {
		t.Fatal(err)
	}
	c := keptDrops.Complete("src-ip in 10.0.0.0/8 and drop.reason = no-v", nil)
	if len(c.Candidates) != 1 || c.Candidates[0].Text != "no-vlan" {
		t.Errorf("%+v", c)
	}
}
