package schema

import (
	"net/netip"
	"strings"
)

// Directions of a mirror session that copies ports.
const (
	MirrorRX   = "RX"
	MirrorTX   = "TX"
	MirrorBoth = "BOTH"
)

// DefaultGREType is the GRE protocol type of ERSPAN type II.
const DefaultGREType = 0x88be

// MirrorSession is a row of MIRROR_SESSION and MIRROR_SESSION_TABLE. A SPAN
// session has DstPort, an ERSPAN session the rest from SrcIP on.
type MirrorSession struct {
	Name      string
	DstPort   string   // EthernetN; "": the session is ERSPAN
	SrcPorts  []string // ports and PortChannels whose packets are copied; nil: those of ACL rules alone
	Direction string   // MirrorRX, MirrorTX or MirrorBoth: which packets of SrcPorts
	Queue     uint8    // traffic class of the copies, 0..15

	SrcIP, DstIP netip.Addr // unicast, of one family
	GREType      uint16     // DefaultGREType if not given
	DSCP         uint8      // 0..63; 8 if not given
	TTL          uint8      // 1..255; 255 if not given
}

// ParseMirrorSession reads MIRROR_SESSION.
func ParseMirrorSession(key string, fields map[string]string) (MirrorSession, error) {
	r := newReader(CfgMirrorSession, key, fields)
	r.named(key)
	m := MirrorSession{
		Name:      key,
		Queue:     uint8(r.number("queue", 0, maxQueue, 0)),
		SrcPorts:  r.list("src_port"),
		Direction: r.word("direction", MirrorBoth, MirrorRX, MirrorTX, MirrorBoth),
	}
	SortNames(m.SrcPorts)
	for _, p := range m.SrcPorts {
		if !IsPortName(p) && !IsPortChannelName(p) {
			r.bad("src_port", p, "ports and PortChannels")
		}
	}
	if len(m.SrcPorts) == 0 {
		m.Direction = MirrorBoth // it says which packets of the ports: without ports, none
	}
	for _, f := range []string{"policer", "sample_rate", "truncate_size"} {
		if v, ok := r.take(f); ok && v != "0" {
			r.bad(f, v, "no such field: every packet is copied, whole")
		}
	}
	if r.word("type", "ERSPAN", "ERSPAN", "SPAN") == "SPAN" {
		r.span(&m)
	} else {
		r.erspan(&m)
	}
	r.unknown()
	return m, r.err()
}

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
		v, _ := r.take(field)
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
	m.DSCP = uint8(r.number("dscp", 0, maxDSCP, 8))
	m.TTL = uint8(r.number("ttl", 1, 255, 255))
	r.take("dst_port")
	if v := r.fields["dst_port"]; v != "" {
		r.bad("dst_port", v, "no such field, or type SPAN")
	}
}

// Fields formats the row.
func (m MirrorSession) Fields() map[string]string {
	f := map[string]string{"queue": utoa(m.Queue)}
	if len(m.SrcPorts) > 0 {
		f["src_port"], f["direction"] = strings.Join(m.SrcPorts, ","), m.Direction
	}
	if m.DstPort != "" {
		f["type"], f["dst_port"] = "SPAN", m.DstPort
		return f
	}
	f["type"], f["src_ip"], f["dst_ip"] = "ERSPAN", m.SrcIP.String(), m.DstIP.String()
	f["gre_type"], f["dscp"], f["ttl"] = utoa(m.GREType), utoa(m.DSCP), utoa(m.TTL)
	return f
}

// Status words of mirror sessions in STATE_DB, as SONiC has them.
const (
	MirrorActive   = "active"
	MirrorInactive = "inactive"
)
