package engine

import (
	"encoding/binary"
	"net/netip"
)

// A Flow selects packets: those from Src to Dst that also have Proto, SrcPort and DstPort, where these are not nil.
// Ports are those of TCP, UDP and similar protocols. Fragments after the first have none.
type Flow struct {
	Src, Dst         netip.Addr
	Proto            *uint8
	SrcPort, DstPort *uint16
}

// MostFlows is the maximum number of flows that can be watched at the same time.
const MostFlows = 16

// A flowWatch is a flow that is watched for a limited time.
type flowWatch struct {
	src, dst                         [2]uint64
	v4, anyProto, anySource, anyDest bool
	proto                            uint8
	srcPort, dstPort                 uint16
	since, until                     Cycle
}

func newFlowWatch(f *Flow) (w flowWatch) {
	w.v4 = f.Dst.Is4()
	w.src, w.dst = words(f.Src), words(f.Dst)
	if w.anyProto = f.Proto == nil; !w.anyProto {
		w.proto = *f.Proto
	}
	if w.anySource = f.SrcPort == nil; !w.anySource {
		w.srcPort = *f.SrcPort
	}
	if w.anyDest = f.DstPort == nil; !w.anyDest {
		w.dstPort = *f.DstPort
	}
	return w
}

// words returns an address in the parser's form.
func words(a netip.Addr) [2]uint64 {
	b := a.As16()
	if a.Is4() {
		return [2]uint64{0, uint64(binary.BigEndian.Uint32(b[12:]))}
	}
	return [2]uint64{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

func (w *flowWatch) has(h *headers) bool {
	want := uint32(flagIPv6)
	if w.v4 {
		want = flagIPv4
	}
	if h.flags&want == 0 || h.src != w.src || h.dst != w.dst || !w.anyProto && h.proto != w.proto {
		return false
	}
	if w.anySource && w.anyDest {
		return true
	}
	return h.flags&flagL4 != 0 && (w.anySource || h.l4src == w.srcPort) && (w.anyDest || h.l4dst == w.dstPort)
}

// Has reports whether a frame, whose first bytes are in data, is of the flow by its headers. It returns false if the IP
// header is incomplete. The packet may be cut after it.
func (f *Flow) Has(data []byte, length int) bool {
	if len(data) < ethernetHeader {
		return false
	}
	var h headers
	h.read(data, length)
	w := newFlowWatch(f)
	return w.has(&h)
}

// longestIP exceeds the length of any IP packet.
const longestIP = 40 + 1<<16

// read parses the headers. It returns the frame's length, or more than that if the frame may lack a part of its IP
// packet.
func (h *headers) read(data []byte, length int) int {
	h.parse(data, length)
	if h.noIP() || h.flags&flagNoLength != 0 {
		length += longestIP
	}
	return length
}

// noIP reports whether the EtherType is IP but no complete IP header was found.
func (h *headers) noIP() bool {
	return h.flags&flagIP == 0 && (h.etherType == etherIPv4 || h.etherType == etherIPv6)
}

// Damaged reports whether a frame, whose first bytes are in data, may belong to any flow of the flow's IP version. That
// is the case if its IP header is incomplete, or has an impossible length or a wrong checksum.
func (f *Flow) Damaged(data []byte, length int) bool {
	if len(data) < ethernetHeader {
		return false
	}
	var h headers
	h.read(data, length)
	if h.etherType != map[bool]uint16{true: etherIPv4, false: etherIPv6}[f.Dst.Is4()] {
		return false
	}
	if h.noIP() {
		return true
	}
	ip := data[h.l3:]
	size := int(ip[0]&15) * 4
	return h.flags&flagIPv4 != 0 && checksum(ip[:size]) != 0
}

// May reports whether a frame, whose first bytes are in data, may be of the flow although [Flow.Has] returns false.
// Then its addresses are the flow's, and its protocol or its ports are beyond these bytes.
func (f *Flow) May(data []byte, length int) bool {
	if len(data) < ethernetHeader {
		return false
	}
	var h headers
	if length = h.read(data, length); len(data) >= length {
		return false
	}
	without := Flow{Src: f.Src, Dst: f.Dst, Proto: f.Proto} // without the ports
	switch {
	case h.flags&(flagTail|flagL4) != 0:
		return false
	case h.beforeProtocol():
		without.Proto = nil
	case !h.hasPorts():
		return false
	}
	is := newFlowWatch(&without)
	return without != *f && is.has(&h)
}

// beforeProtocol reports whether parsing ended at an extension header, before the protocol.
func (h *headers) beforeProtocol() bool {
	switch h.proto {
	case hopByHop, routing, fragment, authenticated, destOptions, mobility, hip, shim6:
		return h.flags&flagIPv6 != 0 && h.flags&flagTail == 0
	}
	return false
}

// hasPorts reports whether the protocol has ports.
func (h *headers) hasPorts() bool {
	switch h.proto {
	case protoTCP, protoUDP, protoDCCP, protoSCTP, protoUDPLite:
		return true
	}
	return false
}

// FlowOf returns the flow of a frame, and false if the frame has none, because it is not IP. Ports are nil if there are
// none. Proto is nil if the protocol is beyond the bytes in data.
func FlowOf(data []byte, length int) (f Flow, ok bool) {
	if len(data) < ethernetHeader {
		return f, false
	}
	var h headers
	length = h.read(data, length)
	if h.flags&flagIP == 0 {
		return f, false
	}
	f.Src, f.Dst = h.address(h.src), h.address(h.dst)
	if len(data) >= length || !h.beforeProtocol() {
		f.Proto = &h.proto
	}
	if h.flags&flagL4 != 0 {
		f.SrcPort, f.DstPort = &h.l4src, &h.l4dst
	}
	return f, true
}

func (h *headers) address(a [2]uint64) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], a[0])
	binary.BigEndian.PutUint64(b[8:], a[1])
	if h.flags&flagIPv4 != 0 {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return netip.AddrFrom16(b)
}

// A watching selects the packets that are kept wherever they end: those of flows, or all.
type watching struct {
	all      bool
	allSince Cycle
	n        int
	flows    [MostFlows]flowWatch
	ends     *ring // ends of packets that the chip does not drop
}

// chooses reports whether a packet that arrives now is kept. It removes expired flows.
func (w *watching) chooses(h *headers, now Cycle) bool {
	if w.all {
		return true
	}
	for i := 0; i < w.n; i++ {
		x := &w.flows[i]
		if now > x.until {
			w.n--
			*x = w.flows[w.n]
			i--
			continue
		}
		if x.has(h) {
			return true
		}
	}
	return false
}

// expire removes expired flows.
func (w *watching) expire(now Cycle) {
	for i := w.n - 1; i >= 0; i-- {
		if now > w.flows[i].until {
			w.n--
			w.flows[i] = w.flows[w.n]
		}
	}
}
