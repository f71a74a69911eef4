package schema

import (
	"fmt"
	"net/netip"

	"tamtam/tam/erspan"
)

// Directions of a mirror session that copies packets of ports.
const (
	MirrorRX   = "RX"
	MirrorTX   = "TX"
	MirrorBoth = "BOTH"
)

// GRE protocol types of mirror sessions: that of ERSPAN type II, and of type III.
const (
	DefaultGREType = erspan.GREType
	ERSPAN3GREType = erspan.GREType3
)

// MirrorSession is a row of MIRROR_SESSION and MIRROR_SESSION_TABLE. A SPAN session has DstPort. An ERSPAN session
// has the fields from SrcIP on.
type MirrorSession struct {
	Name      string
	DstPort   string   // EthernetN; "" for an ERSPAN session
	SrcPorts  []string // ports and PortChannels whose packets are copied; nil means only those of ACL rules
	Direction string   // MirrorRX, MirrorTX or MirrorBoth, for SrcPorts
	Queue     uint8    // traffic class of the copies, 0..15

	SrcIP, DstIP netip.Addr // unicast, of one family
	GREType      uint16     // default DefaultGREType
	DSCP         uint8      // 0..63; default 8
	TTL          uint8      // 1..255; default 255
}

const erspanOnly = " Of ERSPAN."

func (m *MirrorSession) layout() layout {
	return layout{
		table: CfgMirrorSession,
		key:   named(&m.Name),
		fields: []field{
			number("queue", 0, maxQueue, 0, &m.Queue, "The traffic class of the copies."),
			list("src_port", "ports and PortChannels", &m.SrcPorts,
				func(p string) bool { return IsPortName(p) || IsPortChannelName(p) },
				"Whose packets are copied; without it, those of ACL rules alone."),
			own("direction", "RX, TX or BOTH", "Which packets of src_port.", func(r *reader) {
				m.Direction = r.word("direction", MirrorBoth, MirrorRX, MirrorTX, MirrorBoth)
				if len(m.SrcPorts) == 0 {
					m.Direction = MirrorBoth // the direction has no meaning without ports
				}
			}, func() string {
				if len(m.SrcPorts) == 0 {
					return ""
				}
				return m.Direction
			}).or(MirrorBoth),
			unsupported("policer", "0", noMirrorField, "Every packet is copied."),
			unsupported("sample_rate", "0", noMirrorField, "Every packet is copied."),
			unsupported("truncate_size", "0", noMirrorField, "Packets are copied whole."),
			own("type", "ERSPAN or SPAN", "Into a tunnel, or to a port of the switch.", nil, nil).or("ERSPAN"),
			own("dst_port", "EthernetN", "Where the copies go. Of SPAN.", nil, nil),
			own("src_ip", "an address", "The tunnel's end at the switch."+erspanOnly, nil, nil),
			own("dst_ip", "an address", "The tunnel's other end."+erspanOnly, nil, nil),
			within("gre_type", 0, 1<<16-1,
				"The GRE protocol type: 0x88be is ERSPAN type II, 0x22eb type III; with others the frame follows."+
					erspanOnly, nil, nil).or(utoa(uint16(DefaultGREType))),
			within("dscp", 0, maxDSCP, "Of the tunnel's packets."+erspanOnly, nil, nil).or("8"),
			within("ttl", 1, 255, "Of the tunnel's packets."+erspanOnly, nil, nil).or("255"),
		},
		check: func(r *reader) {
			if r.word("type", "ERSPAN", "ERSPAN", "SPAN") == "SPAN" {
				r.span(m)
			} else {
				r.erspan(m)
			}
		},
		format: m.format,
	}
}

const noMirrorField = "no such field: every packet is copied, whole"

func (r *reader) span(m *MirrorSession) {
	m.DstPort = r.text("dst_port")
	if !IsPortName(m.DstPort) {
		r.bad("dst_port", m.DstPort, "EthernetN")
	}
	for _, p := range m.SrcPorts {
		if p == m.DstPort {
			r.bad("src_port", p, "ports other than dst_port")
		}
	}
}

func (r *reader) erspan(m *MirrorSession) {
	addr := func(field string) netip.Addr {
		v, _ := r.value(field)
		a, err := netip.ParseAddr(v)
		if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() {
			r.bad(field, v, "the unicast IPv4 or IPv6 address of one end of the tunnel")
			return netip.Addr{}
		}
		return a.Unmap()
	}
	m.SrcIP, m.DstIP = addr("src_ip"), addr("dst_ip")
	if m.SrcIP.IsValid() && m.DstIP.IsValid() && m.SrcIP.Is4() != m.DstIP.Is4() {
		r.bad("dst_ip", m.DstIP.String(), "an address of the family of src_ip, "+m.SrcIP.String())
	}
	m.GREType = uint16(r.number("gre_type", 0, 1<<16-1, DefaultGREType))
	if other := erspan.Other(m.GREType); other != "" {
		r.bad("gre_type", fmt.Sprintf("%#04x", m.GREType), "a type that does not stand for "+other+
			", such as 0x88be, 0x22eb, 0x6558 or 0x8949")
	}
	m.DSCP = uint8(r.number("dscp", 0, maxDSCP, 8))
	m.TTL = uint8(r.number("ttl", 1, 255, 255))
	r.value("dst_port")
	if v := r.fields["dst_port"]; v != "" {
		r.bad("dst_port", v, "no such field, or type SPAN")
	}
}

func (m *MirrorSession) format(f map[string]string) {
	if m.DstPort != "" {
		f["type"], f["dst_port"] = "SPAN", m.DstPort
		return
	}
	f["type"], f["src_ip"], f["dst_ip"] = "ERSPAN", m.SrcIP.String(), m.DstIP.String()
	f["gre_type"], f["dscp"], f["ttl"] = utoa(m.GREType), utoa(m.DSCP), utoa(m.TTL)
}

// Status words of mirror sessions in STATE_DB, as in SONiC.
const (
	MirrorActive   = "active"
	MirrorInactive = "inactive"
)
