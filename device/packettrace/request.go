package packettrace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/saisim"
)

// A Request describes a packet and the port where it enters, as bytes or by fields. A missing field is nil or "".
type Request struct {
	In       string  `json:"in"`                 // port
	Frame    string  `json:"frame,omitempty"`    // hexadecimal, without FCS; "" means that the fields below apply
	Src      string  `json:"src,omitempty"`      // IP address
	Dst      string  `json:"dst,omitempty"`      // IP address
	Protocol string  `json:"protocol,omitempty"` // tcp, udp, icmp or a number; by default udp
	SrcPort  *uint16 `json:"src-port,omitempty"` // by default 10000
	DstPort  *uint16 `json:"dst-port,omitempty"` // by default 20000
	VLAN     *uint16 `json:"vlan,omitempty"`     // VLAN of a tag; nil means no tag
	TTL      *uint8  `json:"ttl,omitempty"`      // by default 64
	DSCP     *uint8  `json:"dscp,omitempty"`     // by default 0
	Size     *int    `json:"size,omitempty"`     // bytes of the frame without FCS; by default the minimum
	// SrcMAC is by default the MAC address of the neighbour Src. If there is no such neighbour, it is
	// 02:00:00:00:00:01.
	SrcMAC   string `json:"src-mac,omitempty"`
	DstMAC   string `json:"dst-mac,omitempty"`   // by default that of the router interface of the port
	TCPFlags *uint8 `json:"tcp-flags,omitempty"` // by default 0x10: ACK
}

// Limits of a frame's length in bytes, without FCS.
const (
	minSize = 60
	maxSize = 9216
)

// ParseRequest parses a JSON request.
func ParseRequest(text []byte) (r Request, err error) {
	if err := decode(string(text), &r); err != nil {
		return r, err
	}
	if r.In == "" {
		return r, fmt.Errorf("in is missing, want a port such as Ethernet0")
	}
	return r, nil
}

// A scene provides the facts on which a frame's defaults depend.
type scene interface {
	// router returns the MAC address of a port's router interface. tag is the VLAN of a tagged frame.
	router(port saisim.PortID, tag *uint16) (net.HardwareAddr, bool)
	// neighbor returns the MAC address of a neighbour.
	neighbor(netip.Addr) (net.HardwareAddr, bool)
}

// frame builds the frame.
func (r *Request) frame(port saisim.PortID, s scene) ([]byte, error) {
	if r.Frame != "" {
		return r.bytes()
	}
	src, dst, err := r.addresses()
	if err != nil {
		return nil, err
	}
	dmac, smac, err := r.macs(port, src, s)
	if err != nil {
		return nil, err
	}
	proto, err := r.protocol(dst.Is4())
	if err != nil {
		return nil, err
	}
	if err := r.fieldsFit(proto); err != nil {
		return nil, err
	}
	head := append(append([]byte{}, dmac...), smac...)
	if r.VLAN != nil {
		head = append(head, 0x81, 0, byte(*r.VLAN>>8), byte(*r.VLAN))
	}
	payload := r.transport(proto)
	least := len(head) + 2 + ipHeader(dst.Is4()) + len(payload)
	size := max(minSize, least)
	if r.Size != nil {
		if size = *r.Size; size < least || size > maxSize {
			return nil, fmt.Errorf("size is %d, want %d to %d", size, least, maxSize)
		}
		payload = append(payload, make([]byte, size-least)...)
	}
	b := append(head, r.network(src, dst, proto, payload)...)
	return append(b, make([]byte, max(0, size-len(b)))...), nil
}

// fieldsFit returns an error for fields that the protocol lacks, and for values out of range.
func (r *Request) fieldsFit(proto uint8) error {
	if r.TCPFlags != nil && proto != protoTCP {
		return fmt.Errorf("tcp-flags is %d, and protocol is %s: want tcp, or no tcp-flags", *r.TCPFlags, r.protocolText())
	}
	if r.VLAN != nil && *r.VLAN > 4094 {
		return fmt.Errorf("vlan is %d, want 0 to 4094", *r.VLAN)
	}
	if r.DSCP != nil && *r.DSCP > 63 {
		return fmt.Errorf("dscp is %d, want 0 to 63", *r.DSCP)
	}
	return r.portsFit(proto, "tcp or udp", protoTCP, protoUDP)
}

func (r *Request) bytes() ([]byte, error) {
	for name, given := range map[string]bool{
		"src": r.Src != "", "dst": r.Dst != "", "protocol": r.Protocol != "", "src-port": r.SrcPort != nil,
		"dst-port": r.DstPort != nil, "vlan": r.VLAN != nil, "ttl": r.TTL != nil, "dscp": r.DSCP != nil,
		"size": r.Size != nil, "src-mac": r.SrcMAC != "", "dst-mac": r.DstMAC != "", "tcp-flags": r.TCPFlags != nil,
	} {
		if given {
			return nil, fmt.Errorf("%s is given beside frame, which has all of the packet", name)
		}
	}
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "").Replace(r.Frame))
	if err != nil || len(b) < 14 || len(b) > maxSize {
		return nil, fmt.Errorf("frame is %.40q (%d characters), want 14 to %d bytes in hexadecimal", r.Frame, len(r.Frame),
			maxSize)
	}
	return b, nil
}

// addresses returns the IP addresses of the packet.
func (r *Request) addresses() (src, dst netip.Addr, err error) {
	for _, x := range []struct {
		name, text string
		to         *netip.Addr
	}{{"src", r.Src, &src}, {"dst", r.Dst, &dst}} {
		if *x.to, err = netip.ParseAddr(x.text); err != nil || x.to.Zone() != "" || x.to.Is4In6() {
			return src, dst, fmt.Errorf("%s is %.80q, want an IP address, or the whole packet as frame", x.name, x.text)
		}
	}
	if src.Is4() != dst.Is4() {
		return src, dst, fmt.Errorf("src is %s and dst is %s, want addresses of one family", src, dst)
	}
	return src, dst, nil
}

func (r *Request) macs(port saisim.PortID, src netip.Addr, s scene) (dmac, smac net.HardwareAddr, err error) {
	parse := func(name, text string) (net.HardwareAddr, error) {
		m, err := net.ParseMAC(text)
		if err != nil || len(m) != 6 {
			return nil, fmt.Errorf("%s is %.80q, want six bytes such as 02:00:00:00:00:01", name, text)
		}
		return m, nil
	}
	smac = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	if r.SrcMAC != "" {
		if smac, err = parse("src-mac", r.SrcMAC); err != nil {
			return nil, nil, err
		}
	} else if m, ok := s.neighbor(src); ok {
		smac = m
	}
	if r.DstMAC != "" {
		dmac, err = parse("dst-mac", r.DstMAC)
		return dmac, smac, err
	}
	if m, ok := s.router(port, r.VLAN); ok {
		return m, smac, nil
	}
	return nil, nil, fmt.Errorf("dst-mac is missing: %s is at no router interface whose address it could be", r.In)
}

// Protocols of IP.
const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58
)

func (r *Request) protocol(v4 bool) (uint8, error) {
	switch strings.ToLower(r.Protocol) {
	case "tcp":
		return protoTCP, nil
	case "", "udp":
		return protoUDP, nil
	case "icmp":
		if v4 {
			return protoICMP, nil
		}
		return protoICMPv6, nil
	}
	n, err := strconv.ParseUint(r.Protocol, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("protocol is %.80q, want tcp, udp, icmp or 0 to 255", r.Protocol)
	}
	return uint8(n), nil
}

// portsFit returns an error if ports are given for a protocol that has none.
func (r *Request) portsFit(proto uint8, want string, having ...uint8) error {
	if slices.Contains(having, proto) {
		return nil
	}
	for _, x := range []struct {
		name string
		port *uint16
	}{{"src-port", r.SrcPort}, {"dst-port", r.DstPort}} {
		if x.port != nil {
			return fmt.Errorf("%s is %d, and protocol is %s: want %s, or no ports", x.name, *x.port, r.protocolText(), want)
		}
	}
	return nil
}

// protocolText returns the protocol as text.
func (r *Request) protocolText() string { return cmp.Or(r.Protocol, "udp") }
