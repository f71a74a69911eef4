package engine

import (
	"encoding/binary"
	"net/netip"
)

// A Flow says which packets are watched: those from Src to Dst, and where Proto, SrcPort or DstPort is not nil, with
// these. Ports are those of TCP, UDP and the like, which later fragments have not.
type Flow struct {
	Src, Dst         netip.Addr
	Proto            *uint8
	SrcPort, DstPort *uint16
}

// MostFlows is how many flows can be watched at once.
const MostFlows = 16

// A flowWatch is a flow that is watched for a while.
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

// words are an address as the parser has it.
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

// Has reports whether a frame, of which the first bytes are there, is of the flow by what its header says. Of a header
// that is not there whole it is false; the packet may be cut behind it.
func (f *Flow) Has(data []byte, length int) bool {
	if len(data) < ethernetHeader {
		return false
	}
	var h headers
	h.read(data, length)
	w := newFlowWatch(f)
	return w.has(&h)
}

// longestIP is more than an IP packet can be long.
const longestIP = 40 + 1<<16

// read is parse. It returns how long the frame is, or more than that if it may lack a part of its IP packet.
func (h *headers) read(data []byte, length int) int {
	h.parse(data, length)
	if h.noIP() || h.flags&flagNoLength != 0 {
		length += longestIP
	}
	return length
}

// noIP reports whether the frame is of IP by its EtherType, and no whole header was found.
func (h *headers) noIP() bool {
	return h.flags&flagIP == 0 && (h.etherType == etherIPv4 || h.etherType == etherIPv6)
}

// Damaged reports whether a frame, of which the first bytes are there, may be of any flow of the flow's IP version: its
// IP header is not there, has an impossible length, or another checksum.
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

// May reports whether a frame, of which the first bytes are there, may be of the flow though it does not have it: its
// addresses are the flow's, and where the protocol or the ports stand is behind these bytes.
func (f *Flow) May(data []byte, length int) bool {
	if len(data) < ethernetHeader {
		return false
	}
	var h headers
	if length = h.read(data, length); len(data) >= length {
		return false
	}
	without := Flow{Src: f.Src, Dst: f.Dst, Proto: f.Proto} // the ports
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

// beforeProtocol reports whether the walk has ended at an extension header, and not at the protocol behind it.
func (h *headers) beforeProtocol() bool {
	switch h.proto {
	case hopByHop, routing, fragment, authenticated, destOptions, mobility, hip, shim6:
		return h.flags&flagIPv6 != 0 && h.flags&flagTail == 0
	}
	return false
}

// hasPorts reports whether the protocol is one with ports.
func (h *headers) hasPorts() bool {
	switch h.proto {
	case protoTCP, protoUDP, protoDCCP, protoSCTP, protoUDPLite:
		return true
	}
	return false
}

// FlowOf returns the flow of a frame, as far as it has one: without IP it has none, without ports they are nil, and so
// is the protocol where it stands behind what is there.
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

// A watching is which packets are kept wherever they end: those of flows, or all.
type watching struct {
	all      bool
	allSince Cycle
	n        int
	flows    [MostFlows]flowWatch
	ends     *ring // of those that the chip does not drop
}

// chooses reports whether a packet that comes now is kept. It forgets flows whose time is over.
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

// expire forgets flows whose time is over.
func (w *watching) expire(now Cycle) {
	for i := w.n - 1; i >= 0; i-- {
		if now > w.flows[i].until {
			w.n--
			w.flows[i] = w.flows[w.n]
		}
	}
}
