package reference

import (
	"encoding/binary"
	"math/big"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
)

// A dropRecord is the content of a report.
type dropRecord struct {
	event                     dropreport.Event
	at, first, last           uint64 // in NTP format
	timing                    uint8  // flags that qualify first and last
	delta, total              uint64
	flow                      flowName
	frame                     []byte
	length                    int // length of the frame before truncation
	framed, queued, withTimes bool
	queue                     uint8
	depth                     int
	fillers                   []filler
}

// A flowName is the key by which flows of drops differ.
type flowName struct {
	ip      *flowIP
	noIP    *[14]byte // destination, source, EtherType after the tags
	in, out uint32
	why     drop.Reason
	stage   dropreport.Stage
	flags   uint8
}

type flowIP struct {
	version  int
	src, dst [16]byte
	protocol uint8
	ports    bool
	from, to uint16
}

func (a flowName) equal(b flowName) bool {
	same := func() bool {
		switch {
		case (a.ip == nil) != (b.ip == nil) || (a.noIP == nil) != (b.noIP == nil):
			return false
		case a.ip != nil && *a.ip != *b.ip || a.noIP != nil && *a.noIP != *b.noIP:
			return false
		}
		return true
	}
	return same() && a.in == b.in && a.out == b.out && a.why == b.why && a.stage == b.stage && a.flags == b.flags
}

// recordOf returns the record of a drop.
func (c *Chip) recordOf(x pendingDrop) dropRecord {
	r := dropRecord{frame: x.Data, length: x.Len, framed: true, queue: x.Queue, depth: int(x.Depth), fillers: x.fillers,
		queued: x.stage() == dropreport.StageMMU}
	if !r.queued {
		r.queue = 0
	}
	r.at, r.timing = c.ntp(x.At)
	r.flow = flowName{in: x.in, out: x.out, why: x.Why, stage: x.stage(), flags: x.flags()}
	if len(x.Data) < 14 {
		return r
	}
	h := parse(x.Data, x.Len)
	if h.ip == nil {
		var b [14]byte
		putMAC(b[0:], h.dmac)
		putMAC(b[6:], h.smac)
		binary.BigEndian.PutUint16(b[12:], h.etherType)
		r.flow.noIP = &b
		return r
	}
	r.flow.ip = &flowIP{version: h.ip.version, src: h.ip.src, dst: h.ip.dst, protocol: h.ip.protocol}
	if h.l4 != nil {
		r.flow.ip.ports, r.flow.ip.from, r.flow.ip.to = true, h.l4.src, h.l4.dst
	}
	return r
}

// ntp returns the clock reading at a cycle in NTP's format, and the flags for its defects.
func (c *Chip) ntp(at saisim.Cycle) (uint64, uint8) {
	t := c.timeOfDay(at)
	flags := uint8(0)
	if !c.clockAt(at).synchronised {
		flags = dropreport.FlagUnsynchronised
	}
	if t.Seconds+2208988800 >= 1<<32 {
		return 0, flags | dropreport.FlagNoTime
	}
	ns := new(big.Int).Lsh(big.NewInt(int64(t.Nanoseconds)), 32)
	ns.Add(ns, big.NewInt(999_999_999)) // rounded up
	return (t.Seconds+2208988800)<<32 | ns.Div(ns, big.NewInt(1_000_000_000)).Uint64(), flags
}

// A messenger makes the messages of one report for one collector.
type messenger struct {
	chip   *Chip
	e      config.TAMEvent
	to     config.TAMCollector
	stream *stream
	send   *send
	domain uint32
}

// elements returns the elements of a record in wire order, and the mask of their groups.
func (m *messenger) elements(r *dropRecord) (mask uint16, list []*ipfix.Element) {
	if m.e.Layout == config.ReportFixed {
		return 0, dropreport.Fixed()
	} else if m.e.Layout == config.ReportIFA {
		return 0, dropreport.IFA()
	}
	list = dropreport.Always()
	for _, x := range []struct {
		has bool
		g   dropreport.Group
	}{
		{r.flow.in != 0, dropreport.In}, {r.flow.out != 0, dropreport.Out}, {r.queued, dropreport.Queue},
		{r.withTimes, dropreport.Flow}, {r.flow.ip != nil && r.flow.ip.version == 4, dropreport.IPv4},
		{r.flow.ip != nil && r.flow.ip.version == 6, dropreport.IPv6}, {r.flow.ip != nil && r.flow.ip.ports, dropreport.L4},
		{r.flow.noIP != nil, dropreport.MAC}, {r.framed, dropreport.Frame},
	} {
		if x.has {
			mask |= 1 << x.g
			list = append(list, x.g.Fields()...)
		}
	}
	return mask, list
}

func (m *messenger) length(e *ipfix.Element) uint16 {
	if m.e.Layout == config.ReportFixed {
		return dropreport.FixedLength(e)
	}
	return dropreport.Length(e)
}

func (m *messenger) base() uint16 {
	if m.e.Layout == config.ReportIFA {
		return dropreport.IFATemplate
	}
	return dropreport.FirstTemplate + uint16(m.e.Index)*dropreport.Masks
}

func (m *messenger) enterprise() uint32 {
	if m.e.Enterprise == 0 {
		return ipfix.DefaultEnterprise
	}
	return m.e.Enterprise
}

// record sends a record, preceded by the templates and descriptions that the collector needs.
func (m *messenger) record(r *dropRecord) {
	mask, fields := m.elements(r)
	s, c := m.send, m.chip
	if !s.began || s.messages == config.ReportMessages || c.now >= s.at+c.cyclesOf(m.e.Templates) {
		*s = send{began: true, at: c.now, known: map[uint16]bool{}}
		if m.e.Layout != config.ReportIFA { // that layout has only standard elements
			m.describe()
		}
	}
	if !s.known[mask] {
		s.known[mask] = true
		b := put16(nil, m.base()+mask, uint16(len(fields)))
		for _, f := range fields {
			b = m.spec(b, f)
		}
		m.template(set(2, b), 0)
	}
	m.stream.counts[dropreport.WordSent]++
	s.messages++
	b := m.values(r, fields)
	m.message(set(m.base()+mask, b), 1)
}

// spec appends the specification of a template's field.
func (m *messenger) spec(b []byte, f *ipfix.Element) []byte {
	if f.Own {
		return binary.BigEndian.AppendUint32(put16(b, 0x8000|f.ID, m.length(f)), m.enterprise())
	}
	return put16(b, f.ID, m.length(f))
}

// set returns a set of a message.
func set(id uint16, b []byte) []byte { return append(put16(nil, id, uint16(4+len(b))), b...) }

// describe sends the descriptions of the enterprise's own elements. The template comes first, then as many descriptions
// per message as fit.
func (m *messenger) describe() {
	id := m.base() + dropreport.InfoMask
	m.template(set(3, put16(nil, id, 7, 2, 346, 4, 303, 2, 339, 1, 344, 1, 345, 2, 341, 65535, 340, 65535)), 0)
	all := dropreport.Fixed()
	if m.e.Layout == config.ReportFields {
		all = dropreport.Always()
		for g := range dropreport.NumGroups {
			all = append(all, g.Fields()...)
		}
	}
	var records [][]byte
	for _, f := range all {
		if f.Own {
			b := binary.BigEndian.AppendUint32(nil, m.enterprise())
			b = put16(b, f.ID)
			b = append(b, byte(f.Type), byte(f.Semantics), byte(f.Units>>8), byte(f.Units))
			for _, s := range []string{f.Name, f.Text} {
				b = append(append(b, byte(len(s))), s...)
			}
			records = append(records, b)
		}
	}
	for len(records) > 0 {
		n, size := 0, 16+4
		for n < len(records) && size+len(records[n]) <= m.room() {
			size += len(records[n])
			n++
		}
		m.template(set(id, slices.Concat(records[:n]...)), n)
		records = records[n:]
	}
}

// room returns the maximum length of a message.
func (m *messenger) room() int {
	if m.to.Src.Is4() {
		return m.to.MTU - 20 - 8
	}
	return m.to.MTU - 40 - 8
}

// values returns the encoded values of a record, element by element.
func (m *messenger) values(r *dropRecord, fields []*ipfix.Element) []byte {
	var b []byte
	n := m.sectionLength(r, fields)
	for _, f := range fields {
		if f.Name == "dataLinkFrameSection" {
			b = append(append(b, 0xff, byte(n>>8), byte(n)), r.frame[:n]...)
			continue
		}
		v := m.value(r, f, n)
		for i := int(m.length(f)) - 1; i >= 0; i-- {
			var x big.Int
			b = append(b, byte(x.Rsh(v, uint(8*i)).Uint64()))
		}
	}
	return b
}

// sectionLength returns how many bytes of the frame fit.
func (m *messenger) sectionLength(r *dropRecord, fields []*ipfix.Element) int {
	if !r.framed {
		return 0
	}
	n := m.room() - 16 - 4 - 3
	for _, f := range fields {
		if f.Name != "dataLinkFrameSection" {
			n -= int(m.length(f))
		}
	}
	n = min(n, len(r.frame))
	if m.to.Truncate > 0 {
		n = min(n, m.to.Truncate)
	}
	return n
}

// value returns the value of an element. n bytes of the frame are in the record.
func (m *messenger) value(r *dropRecord, f *ipfix.Element, n int) *big.Int {
	number := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	bytes := func(b []byte) *big.Int { return new(big.Int).SetBytes(b) }
	fl := &r.flow
	why := func(ingress bool) *big.Int {
		if (fl.stage == dropreport.StageIngress) != ingress {
			return number(0)
		}
		return number(uint64(fl.why) + 1)
	}
	switch f.Name {
	case "observationTimeNanoseconds":
		return number(r.at)
	case "droppedPacketDeltaCount":
		return number(r.delta)
	case "droppedPacketTotalCount":
		return number(r.total)
	case "flowStartNanoseconds":
		return number(r.first)
	case "flowEndNanoseconds":
		return number(r.last)
	case "forwardingStatus":
		if m.e.Layout == config.ReportIFA {
			return number(dropreport.StatusForwarded)
		}
		return number(uint64(fl.why.ForwardingStatus(fl.flags&dropreport.FlagPunted != 0)))
	case "tamtamDropEvent":
		return number(uint64(r.event))
	case "tamtamDropReason":
		return number(uint64(fl.why))
	case "tamtamDropStage":
		return number(uint64(fl.stage))
	case "tamtamDropFlags":
		flags := fl.flags | r.timing
		if r.framed && n < r.length {
			flags |= dropreport.FlagCut
		}
		return number(uint64(flags))
	case "ingressInterface":
		return number(uint64(fl.in))
	case "egressInterface":
		return number(uint64(fl.out))
	case "tamtamQueue", "tamtamClassOfService":
		return number(uint64(r.queue))
	case "tamtamQueueDepth":
		return number(uint64(r.depth))
	case "tamtamQueueFiller1", "tamtamQueueFiller2", "tamtamQueueFiller3":
		return number(uint64(r.filler(f).port))
	case "tamtamQueueFilled1", "tamtamQueueFilled2", "tamtamQueueFilled3":
		return number(uint64(r.filler(f).bytes))
	case "dataLinkFrameSize":
		return number(uint64(r.length))
	case "protocolIdentifier":
		return number(uint64(fl.ip.protocol))
	case "sourceIPv4Address":
		return bytes(fl.ip.src[12:])
	case "destinationIPv4Address":
		return bytes(fl.ip.dst[12:])
	case "sourceIPv6Address":
		return bytes(fl.ip.src[:])
	case "destinationIPv6Address":
		return bytes(fl.ip.dst[:])
	case "sourceTransportPort":
		return number(uint64(fl.ip.from))
	case "destinationTransportPort":
		return number(uint64(fl.ip.to))
	case "destinationMacAddress":
		return bytes(fl.noIP[0:6])
	case "sourceMacAddress":
		return bytes(fl.noIP[6:12])
	case "ethernetType":
		return bytes(fl.noIP[12:14])
	case "tamtamSwitchId":
		return number(uint64(m.domain))
	case "tamtamDropReasonIngress":
		return why(true)
	case "tamtamDropReasonEgress":
		return why(false)
	}
	return number(0) // elements of the layout that the chip does not have
}

// filler returns the filler whose number ends the name of the element: 1, 2 or 3.
func (r *dropRecord) filler(f *ipfix.Element) filler {
	if i := int(f.Name[len(f.Name)-1] - '1'); i < len(r.fillers) {
		return r.fillers[i]
	}
	return filler{}
}

// template sends a message with only templates or descriptions.
func (m *messenger) template(set []byte, records int) {
	m.stream.counts[dropreport.WordTemplates]++
	m.message(set, records)
}

// message sends a message of one set.
func (m *messenger) message(set []byte, records int) {
	c := m.chip
	b := put16(nil, 10, uint16(16+len(set)))
	b = binary.BigEndian.AppendUint32(b, uint32(c.timeOfDay(c.now).Seconds))
	b = binary.BigEndian.AppendUint32(b, m.stream.sequence)
	b = binary.BigEndian.AppendUint32(b, m.domain)
	b = append(b, set...)
	m.stream.sequence += uint32(records)
	c.leaveReport(m, m.packet(b))
}

// packet puts Ethernet, IP and UDP headers in front of a message.
func (m *messenger) packet(b []byte) []byte {
	to, own := &m.to, m.chip.conf.Switch.MAC
	smac, dmac := to.SMAC, to.DMAC
	if smac == (config.MAC{}) {
		smac = own
	}
	if dmac == (config.MAC{}) {
		dmac = own
	}
	src, dst := to.Src.AsSlice(), to.Dst.AsSlice()
	udp := append(put16(nil, to.SrcPort, to.DstPort, uint16(8+len(b)), 0), b...)
	pseudo := slices.Concat(src, dst, put16(nil, 0, uint16(len(udp)), 0, 17), udp)
	words := uint32(0)
	for i, x := range pseudo {
		words += uint32(x) << (8 * (1 - i%2))
	}
	sum := ^uint16(fold(words))
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], sum)
	mac := slices.Concat(dmac[:], smac[:])
	if to.Src.Is4() {
		ip := put16([]byte{0x45, m.dscp() << 2}, uint16(20+len(udp)), 0, 0x4000)
		ip = slices.Concat(ip, []byte{64, 17, 0, 0}, src, dst)
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
		return slices.Concat(put16(mac, 0x0800), ip, udp)
	}
	ip := binary.BigEndian.AppendUint32(nil, 6<<28|uint32(m.dscp())<<22)
	ip = slices.Concat(put16(ip, uint16(len(udp))), []byte{17, 64}, src, dst)
	return slices.Concat(put16(mac, 0x86dd), ip, udp)
}
