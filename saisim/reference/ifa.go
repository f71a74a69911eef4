package reference

import (
	"encoding/binary"
	"math/big"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
	"tamtam/tam/ifa"
)

// IFACounts holds the results of IFA for packets, by [ifa.Count].
type IFACounts = [ifa.NumCounts]uint64

// IFACounts returns the IFA counts of ACL counters, by object id. The counts of transit have the id None.
func (c *Chip) IFACounts() map[config.ID]IFACounts {
	all := map[config.ID]IFACounts{}
	for id := range c.conf.aclCounters {
		all[id] = *c.ifaCounts(id)
	}
	if t := c.conf.transit(); t.ID != config.None {
		all[config.None] = *c.transitCounts(t.ID)
	}
	return all
}

// A flowAnalysis is a chip's state of IFA.
type flowAnalysis struct {
	ifaByCounter, ifaByTransit map[config.ID]*IFACounts
	ifaMatched                 map[config.ID]uint64 // number of packets that initiators have matched, by TAM INT object
}

func newFlowAnalysis() flowAnalysis {
	return flowAnalysis{map[config.ID]*IFACounts{}, map[config.ID]*IFACounts{}, map[config.ID]uint64{}}
}

func countsOf(in map[config.ID]*IFACounts, id config.ID) *IFACounts {
	if in[id] == nil {
		in[id] = &IFACounts{}
	}
	return in[id]
}

func (f *flowAnalysis) ifaCounts(counter config.ID) *IFACounts {
	return countsOf(f.ifaByCounter, counter)
}

func (f *flowAnalysis) transitCounts(id config.ID) *IFACounts { return countsOf(f.ifaByTransit, id) }

// transit returns the object of the switch's transit. Its ID is None if there is none.
func (conf *settings) transit() config.TAMInt {
	for _, id := range conf.Switch.TAMs {
		for _, tam := range conf.TAMs {
			if tam.ID == id && tam.IFA != config.None {
				return conf.tamInts[tam.IFA]
			}
		}
	}
	return config.TAMInt{}
}

// An analysis holds the offsets of IFA's parts in the frame of a packet.
type analysis struct{ base, transport, metadata, payload int }

// parseIFA skips an IFA header directly after the IP header.
func (h *headers) parseIFA(data []byte) {
	if h.ip == nil || h.ip.protocol != 253 || h.ip.fragment || h.ip.endless ||
		h.ip.version == 6 && data[h.ip.at+6] != 253 {
		return
	}
	end := min(len(data), h.ip.at+h.ip.size)
	a := analysis{base: h.ip.at + h.ip.head, transport: h.ip.at + h.ip.head + 4}
	if end < a.transport || data[a.base]>>4 != 2 || data[a.base+2]&(1|8|16) != 0 {
		return
	}
	size := transportSize(data[a.base+1], data[a.transport:end])
	if size == 0 {
		return
	}
	a.metadata = a.transport + size
	if end < a.metadata+4 {
		return
	}
	a.payload = a.metadata + 4 + 4*int(data[a.metadata+3])
	if end < a.payload {
		return
	}
	h.ifa, h.ip.protocol = &a, data[a.base+1]
	h.parseL4(data[a.transport:end], a.transport)
}

// transportSize returns the size of a complete header of UDP or TCP at the beginning of b, 0 if there is none.
func transportSize(protocol byte, b []byte) int {
	size := 0
	switch {
	case protocol == 17:
		size = 8
	case protocol == 6 && len(b) >= 20:
		size = max(20, 4*int(b[12]>>4))
		if b[12]>>4 < 5 {
			return 0
		}
	}
	if size > len(b) {
		return 0
	}
	return size
}

// An ifaAction is the IFA action that a hit has begun or ended for a packet.
type ifaAction struct {
	object  config.TAMInt
	ends    bool
	reports []int      // mirror sessions for stripped copies
	counts  *IFACounts // nil if results are not counted
}

// meetIFA applies the IFA actions of hits to a packet.
func (c *Chip) meetIFA(pk *packet, hits []hit) {
	begin, first := action(hits, config.ActIFA)
	end, other := action(hits, config.ActIFAEnd)
	a, by := begin, first
	if a == nil || end != nil && other.before(first) {
		a, by = end, other
	}
	if a == nil {
		return
	}
	t := ifaAction{object: pk.conf.tamInts[a.Of[0]], ends: a == end}
	for _, counter := range by.entry.Of(config.ActCounter) {
		t.counts = c.ifaCounts(counter)
	}
	t.count(ifa.Matched)
	if t.ends {
		if pk.h.ifa == nil {
			t.count(ifa.Absent)
			return
		}
		t.reports = pk.conf.sessionsOf(by.entry.Of(config.ActMirrorIngress))
		pk.ifaAction = &t
		return
	}
	before := c.ifaMatched[t.object.ID]
	c.ifaMatched[t.object.ID]++
	switch {
	case before%uint64(t.object.IFA.Sample) != 0:
		t.count(ifa.Unsampled)
	case pk.h.ifa != nil:
		t.count(ifa.Already)
	default:
		pk.ifaAction = &t
	}
}

func (t *ifaAction) count(what ifa.Count) {
	if t.counts != nil {
		t.counts[what]++
	}
}

// withoutEnds returns the hits whose entries do not terminate IFA.
func withoutEnds(hits []hit) []hit {
	return slices.DeleteFunc(slices.Clone(hits), func(h hit) bool { return h.entry.Of(config.ActIFAEnd) != nil })
}

// A job is IFA's work on a copy.
type job struct {
	ifaAction
	became ifa.Count
	longer int
	// Values of the hop: the port, metadata that is not on the wire, and when the copy leaves.
	port   config.Port
	queue  uint8
	depth  int
	leaves saisim.Cycle
}

// decideIFA returns IFA's work on a copy at a port, nil if there is none.
func (c *Chip) decideIFA(p *port, o *outgoing) *job {
	transit := c.conf.transit()
	j := &job{port: p.Port, queue: o.queue, depth: o.depth}
	switch {
	case o.raw:
		return nil
	case o.ifaAction != nil:
		j.ifaAction = *o.ifaAction
	case transit.ID == config.None || o.h.ifa == nil && (o.h.ip == nil || o.h.ip.protocol != 253):
		return nil
	default:
		j.ifaAction = ifaAction{object: transit, counts: c.transitCounts(transit.ID)}
	}
	switch {
	case o.endUnknown(), o.shortened():
		j.became = ifa.Cut
		return j
	case j.ends:
		j.became, j.longer = ifa.Stripped, -(4 + o.h.ifa.payload - o.h.ifa.metadata)
		return j
	case o.ifaAction != nil:
		j.become(o.canBegin(), 40)
	default:
		j.become(o.canAdd(), 32)
	}
	limit := int(p.MTU)
	if p.StampMTU != 0 {
		limit = min(limit, int(p.StampMTU))
	}
	datagrams := 65535
	if o.routed != nil {
		datagrams = min(datagrams, o.routed.mtu)
	}
	if j.longer > 0 && (o.lengthOut()+j.longer+fcs > limit || o.h.ip.size+j.longer > datagrams) {
		j.become(ifa.MTU, 0)
	}
	return j
}

func (j *job) become(what ifa.Count, longer int) {
	j.became, j.longer = what, 0
	if what == ifa.Inserted {
		j.longer = longer
	}
}

// canBegin returns Inserted if IFA can begin in a packet, otherwise the reason.
func (pk *packet) canBegin() ifa.Count {
	ip := pk.h.ip
	if !pk.h.ethernet2 || ip == nil || ip.fragment {
		return ifa.Unsupported
	}
	b := pk.data[ip.at : ip.at+ip.size]
	if ip.version == 6 && b[6] != ip.protocol || transportSize(ip.protocol, b[ip.head:]) == 0 {
		return ifa.Unsupported
	}
	return ifa.Inserted
}

// canAdd returns Inserted if a hop can be added to a packet, otherwise the reason.
func (pk *packet) canAdd() ifa.Count {
	a := pk.h.ifa
	switch {
	case a == nil || pk.data[a.base]&15 != 15:
		return ifa.Unsupported
	case pk.data[a.metadata+2] == 0:
		return ifa.HopLimit
	case int(pk.data[a.metadata+3])+8 > int(pk.data[a.base+3]):
		return ifa.MaxLength
	}
	return ifa.Inserted
}

// report makes copies of a stripped copy with its stack. t has left its queue.
func (c *Chip) report(t *transmission) {
	j := t.job
	if j == nil || j.became != ifa.Stripped {
		return
	}
	n := *j
	n.become(t.canAdd(), 32)
	if t.h.ip.size+n.longer > 65535 {
		n.become(ifa.MTU, 0)
	}
	n.ends = false
	o := t.outgoing
	o.job = &n
	c.later(func() {
		c.mirror(n.reports, o)
		c.reportStripped(o)
	})
}

// reportStripped reports a copy that has its stack, by the object of IFA.
func (c *Chip) reportStripped(o outgoing) {
	e := c.conf.tamInts[o.job.object.ID].IFA.Reports
	if len(e.Collectors) == 0 {
		return
	}
	s := c.reporting.events[e.ID]
	s.seen++
	if e.Sample > 0 && (s.seen-1)%uint64(e.Sample) > 0 {
		s.counts[dropreport.WordSampledOut]++
		return
	}
	r := dropRecord{frame: c.dataOut(&o), framed: true}
	r.length = len(r.frame)
	r.at, _ = c.ntp(o.job.leaves)
	for at, number := range map[*uint32]uint16{&r.flow.in: o.number, &r.flow.out: o.job.port.Number} {
		if number < 65535 {
			*at = uint32(number) + 1
		}
	}
	if c.mayReport(s) {
		for range c.sendRecord(e, &r) {
			o.job.count(ifa.Reported)
		}
	}
}

// reportingIFA returns the events by which objects of IFA report.
func (conf *settings) reportingIFA() (list []config.TAMEvent) {
	for _, r := range conf.TAMInts {
		if e := r.IFA.Reports; len(e.Collectors) > 0 {
			list = append(list, e)
		}
	}
	return list
}

// analysed returns the frame of a job. frame is the frame as it otherwise leaves, and shift the number of bytes by
// which its headers after the tags have moved.
func (c *Chip) analysed(o *outgoing, frame []byte, shift int) []byte {
	j := o.job
	if j == nil || j.longer == 0 {
		return frame
	}
	ip := *o.h.ip
	at := ip.at + shift
	header := frame[at : at+ip.head]
	hop := c.hop(o, header)
	network, protocol := frame[:at+ip.head], byte(253)
	var parts [][]byte
	switch a := o.h.ifa; {
	case j.became == ifa.Stripped:
		protocol = ip.protocol
		parts = [][]byte{frame[a.transport+shift : a.metadata+shift], frame[a.payload+shift:]}
	case a != nil:
		metadata := slices.Clone(frame[a.metadata+shift : a.metadata+shift+4])
		if metadata[2] < 255 {
			metadata[2]--
		}
		metadata[3] += 8
		parts = [][]byte{frame[a.base+shift : a.metadata+shift], metadata, hop, frame[a.metadata+shift+4:]}
	default:
		conf := j.object.IFA
		rest := frame[at+ip.head:]
		size := transportSize(ip.protocol, rest)
		parts = [][]byte{
			{0x2f, ip.protocol, 4, conf.MaxLength}, rest[:size], {conf.Request, conf.Action, conf.HopLimit, 8}, hop, rest[size:],
		}
	}
	out := slices.Concat(append([][]byte{network}, parts...)...)
	resize(out[at:at+ip.head], ip.version, ip.size+j.longer, protocol)
	return out
}

// resize changes length and protocol of an IP header. A wrong checksum stays equally wrong.
func resize(header []byte, version, size int, protocol byte) {
	if version == 6 {
		binary.BigEndian.PutUint16(header[4:], uint16(size-40))
		header[6] = protocol
		return
	}
	right := word(header, 10) == checksum(header)
	was := [2]uint16{word(header, 2), word(header, 8)}
	binary.BigEndian.PutUint16(header[2:], uint16(size))
	header[9] = protocol
	sum := uint32(^word(header, 10))
	for i, now := range [2]uint16{word(header, 2), word(header, 8)} {
		if now != was[i] {
			sum += uint32(^was[i]) + uint32(now)
		}
	}
	if right {
		binary.BigEndian.PutUint16(header[10:], checksum(header))
	} else {
		binary.BigEndian.PutUint16(header[10:], ^uint16(fold(sum)))
	}
}

// hop returns the chip's hop for a copy. header is its IP header as it leaves.
func (c *Chip) hop(o *outgoing, header []byte) []byte {
	j := o.job
	ttl, ecn := header[8], header[1]&3
	if o.h.ip.version == 6 {
		ttl, ecn = header[7], header[1]>>4&3
	}
	speed := slices.Index([]uint32{10000, 25000, 40000, 50000, 100000, 200000, 400000}, j.port.Mbps)
	if speed < 0 {
		speed = 15
	}
	in, left := c.timeOfDay(o.rx), c.timeOfDay(j.leaves)
	trust := uint64(0)
	if !c.clockAt(o.rx).synchronised || !c.clockAt(j.leaves).synchronised {
		trust = 2
	}
	residence := uint64(0xffffffff)
	if c.setBetween(o.rx, j.leaves) {
		trust |= 4
	} else if d := left.Sub(in).Nanoseconds(); d >= 0 && uint64(d) < residence {
		residence = uint64(d)
	}
	bits := new(big.Int)
	for _, f := range []struct {
		width uint
		value uint64
	}{
		{4, 5}, {20, uint64(j.object.SwitchID)}, {8, uint64(ttl)},
		{4, uint64(speed)}, {2, uint64(ecn)}, {6, uint64(j.queue)}, {20, in.Seconds},
		{16, uint64(j.port.Number)}, {16, uint64(o.number)}, {32, uint64(in.Nanoseconds)},
		{32, residence}, {32, uint64(j.depth)}, {16, trust}, {48, 0},
	} {
		value := new(big.Int).SetUint64(f.value & (1<<f.width - 1))
		bits.Lsh(bits, f.width).Or(bits, value)
	}
	return bits.FillBytes(make([]byte, 32))
}
