package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
)

func newReportLayout(r *config.TAMEvent) reportLayout {
	enterprise := r.Enterprise
	if enterprise == 0 {
		enterprise = ipfix.DefaultEnterprise
	}
	l := reportLayout{
		base:  dropreport.FirstTemplate + uint16(r.Index)*dropreport.Masks,
		fixed: r.Layout != config.ReportFields,
	}
	switch r.Layout {
	case config.ReportIFA:
		l.base = dropreport.IFATemplate
		l.add(&l.always, dropreport.IFA(), dropreport.Length, enterprise)
		return l
	case config.ReportFixed:
		l.add(&l.always, dropreport.Fixed(), dropreport.FixedLength, enterprise)
		return l
	}
	l.add(&l.always, dropreport.Always(), dropreport.Length, enterprise)
	for g := range dropreport.NumGroups {
		l.add(&l.groups[g], g.Fields(), dropreport.Length, enterprise)
	}
	return l
}

// add adds elements to a part of the template, and the type information (RFC 5610) of enterprise-specific elements.
func (l *reportLayout) add(p *templatePart, fields []*ipfix.Element, length func(*ipfix.Element) uint16,
	enterprise uint32) {
	for _, e := range fields {
		p.fields++
		if !e.Own {
			p.bytes = binary.BigEndian.AppendUint16(p.bytes, e.ID)
			p.bytes = binary.BigEndian.AppendUint16(p.bytes, length(e))
			continue
		}
		p.bytes = binary.BigEndian.AppendUint16(p.bytes, e.ID|1<<15)
		p.bytes = binary.BigEndian.AppendUint16(p.bytes, length(e))
		p.bytes = binary.BigEndian.AppendUint32(p.bytes, enterprise)
		b := binary.BigEndian.AppendUint32(nil, enterprise)
		b = binary.BigEndian.AppendUint16(b, e.ID)
		b = append(b, byte(e.Type), byte(e.Semantics))
		b = binary.BigEndian.AppendUint16(b, uint16(e.Units))
		b = append(append(b, byte(len(e.Name))), e.Name...)
		l.info = append(l.info, append(append(b, byte(len(e.Text))), e.Text...))
	}
}

// Set ids of IPFIX, and lengths of headers.
const (
	ipfixVersion            = 10
	setTemplate, setOptions = 2, 3
	ipfixHeader, setHeader  = 16, 4
)

// template appends a set with the template of a record's groups.
func (l *reportLayout) template(b []byte, mask uint16) []byte {
	at := len(b)
	n := l.always.fields
	b = append(b, 0, setTemplate, 0, 0, byte((l.base+mask)>>8), byte(l.base+mask), 0, 0)
	b = append(b, l.always.bytes...)
	for _, g := range reportGroups {
		if mask>>g&1 != 0 {
			n += l.groups[g].fields
			b = append(b, l.groups[g].bytes...)
		}
	}
	binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at))
	binary.BigEndian.PutUint16(b[at+6:], uint16(n))
	return b
}

// reportGroups holds the groups in the order on the wire.
var reportGroups = [dropreport.NumGroups]dropreport.Group{dropreport.In, dropreport.Out, dropreport.Queue,
	dropreport.Flow, dropreport.IPv4, dropreport.IPv6, dropreport.L4, dropreport.MAC, dropreport.Frame}

// infoTemplate appends a set with the template of type information.
func (l *reportLayout) infoTemplate(b []byte) []byte {
	id := l.base | dropreport.InfoMask
	return append(b, 0, setOptions, 0, 10+7*4, byte(id>>8), byte(id), 0, 7, 0, 2,
		346>>8, 346&0xff, 0, 4, 303>>8, 303&0xff, 0, 2, 339>>8, 339&0xff, 0, 1, 344>>8, 344&0xff, 0, 1,
		345>>8, 345&0xff, 0, 2, 341>>8, 341&0xff, 0xff, 0xff, 340>>8, 340&0xff, 0xff, 0xff)
}

// compose creates the headers of reports to a collector. Lengths and checksums are not set.
func (t *sending) compose(own uint64, dscp uint8) {
	r := &t.row
	smac := r.SMAC
	if smac == (config.MAC{}) {
		smac = macOf(own)
	}
	dmac := r.DMAC
	if r.Local && dmac == (config.MAC{}) {
		dmac = macOf(own)
	}
	if r.DSCP != 0 {
		dscp = r.DSCP
	}
	t.dscp = dscp
	const udp, dontFragment, ttl = 17, 0x40, 64
	b := append(append(t.head[:0], dmac[:]...), smac[:]...)
	if r.Src.Is4() {
		b = append(b, etherIPv4>>8, etherIPv4&0xff, 0x45, dscp<<2, 0, 0, 0, 0, dontFragment, 0, ttl, udp, 0, 0)
	} else {
		b = append(b, etherIPv6>>8, etherIPv6&0xff, 0x60|dscp>>2, dscp<<6, 0, 0, 0, 0, udp, ttl)
	}
	b = append(append(b, r.Src.AsSlice()...), r.Dst.AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, r.SrcPort)
	b = binary.BigEndian.AppendUint16(b, r.DstPort)
	t.head = append(b, 0, 0, 0, 0)
}

// room returns the maximum number of bytes of a message.
func (t *sending) room() int { return t.row.MTU - (len(t.head) - ethernetHeader) }

// finish writes lengths and checksums into the headers of a message.
func (t *sending) finish(b []byte) {
	v4 := t.row.Src.Is4()
	ip, udp := b[ethernetHeader:], b[len(t.head)-udpHeader:]
	sum := uint32(17) + uint32(len(udp))
	if v4 {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[10:], 0)
		binary.BigEndian.PutUint16(ip[10:], checksum(ip[:20]))
		sum = addWords(sum, ip[12:20])
	} else {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(udp)))
		sum = addWords(sum, ip[8:40])
	}
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	udp[6], udp[7] = 0, 0
	sum = addWords(sum, udp)
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	if sum = ^sum & 0xffff; sum == 0 {
		sum = 0xffff // in UDP, 0 means that there is no checksum
	}
	binary.BigEndian.PutUint16(udp[6:], uint16(sum))
}

// addWords adds words of 16 bits. An odd last byte is the upper half of a word.
func addWords(sum uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}
