package reference

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
)

// A laneProfile defines how the packets of a lane are marked.
type laneProfile struct {
	altmark.Session
	guard, early *big.Rat // in ns, at the beginning and at the end of a period
	encap        bool     // true if it marks the header that it puts around packets
}

func newProfile(r config.AltMark) laneProfile {
	return laneProfile{r.Session, big.NewRat(int64(r.Guard), 1), big.NewRat(int64(r.Early), 1), r.Encap}
}

// nanoseconds returns a time in ns since 1970.
func nanoseconds(t tailstamp.Timestamp) *big.Rat {
	ns := new(big.Int).Mul(new(big.Int).SetUint64(t.Seconds), big.NewInt(1e9))
	return new(big.Rat).SetInt(ns.Add(ns, big.NewInt(int64(t.Nanoseconds))))
}

// length returns the length of a period: 2^n s, in ns.
func (p laneProfile) length() *big.Rat {
	n := big.NewRat(1e9, 1)
	if p.Interval >= 0 {
		return n.Mul(n, big.NewRat(1<<p.Interval, 1))
	}
	return n.Mul(n, big.NewRat(1, 1<<-p.Interval))
}

// part returns a fraction of the length of a period.
func (p laneProfile) part(num, den int64) *big.Rat {
	return new(big.Rat).Mul(p.length(), big.NewRat(num, den))
}

// position returns the number of periods that have begun before t, and the position of t in its own.
func (p laneProfile) position(t *big.Rat) (period *big.Int, in *big.Rat) {
	q := new(big.Rat).Quo(t, p.length())
	period = new(big.Int).Quo(q.Num(), q.Denom())
	begin := new(big.Rat).Mul(new(big.Rat).SetInt(period), p.length())
	return period, new(big.Rat).Sub(t, begin)
}

// timeBits returns the time bit of t, and the two bits of its slot.
func (p laneProfile) timeBits(t *big.Rat) string {
	period, in := p.position(t)
	slot := 0
	for slot < 3 && in.Cmp(p.part(int64(slot+1), 4)) >= 0 {
		slot++
	}
	return fmt.Sprintf("%d%02b", period.Bit(0), slot)
}

// within reports whether t is outside the guards at both ends of its period.
func (p laneProfile) within(t *big.Rat) bool {
	_, in := p.position(t)
	left := new(big.Rat).Sub(p.length(), in)
	return in.Cmp(p.guard) >= 0 && left.Cmp(p.early) > 0
}

// bitsOf returns the values of a profile's marks in a packet as received, and false if one is missing.
func (p laneProfile) bitsOf(pk *packet) (mark, mark2 string, ok bool) {
	if p.encap && p.Mark2 != altmark.NoMark {
		return "0", "0", pk.mayWrap()
	}
	if p.encap {
		return "0", "", pk.mayWrap()
	}
	came := parse(pk.data, pk.length) // programs may have changed pk.h
	mark, ok = came.mark(p.Mark, pk.data)
	if ok && p.Mark2 != altmark.NoMark {
		mark2, ok = came.mark(p.Mark2, pk.data)
	}
	return mark, mark2, ok
}

// mark returns the value of a mark, and false if the packet has none.
func (h headers) mark(m altmark.Mark, data []byte) (string, bool) {
	ip := h.ip
	if ip == nil {
		return "", false
	}
	bit := func(b uint8, n int) string { return fmt.Sprint(b >> n & 1) }
	switch m {
	case altmark.IPv4Reserved:
		return bit(ip.flags, 2), ip.version == 4
	case altmark.IPv6Loss, altmark.IPv6Delay:
		if ip.altMark == 0 {
			return "", false
		}
		return bit(data[ip.altMark], optionBit[m]), true
	}
	return bit(ip.tos, dscpBit(m)), true
}

// dscpBit returns the bit of the traffic class for a mark in the DSCP.
func dscpBit(m altmark.Mark) int { return 2 + int(m-altmark.DSCP0) }

// optionBit holds the bit of the third byte of the AltMark option's data for a mark. These bits follow the lowest four
// of the FlowMonID (RFC 9343, section 3.1).
var optionBit = map[altmark.Mark]int{altmark.IPv6Loss: 3, altmark.IPv6Delay: 2}

// altMarkOption returns the offset of the byte with L and D in a header of hop-by-hop or destination options, 0 if
// there is no AltMark option.
func altMarkOption(header []byte) int {
	for at := 2; at < len(header); {
		if header[at] == 0 { // Pad1 is a single byte
			at++
			continue
		}
		if at+2 > len(header) || at+2+int(header[at+1]) > len(header) {
			return 0
		}
		if header[at] == 0x12 && header[at+1] == 4 {
			return at + 2 + 2
		}
		at += 2 + int(header[at+1])
	}
	return 0
}

// nibble returns the result of a lane's time lookup for a packet: whether the packet is eligible, the slot and the
// colour.
func (p laneProfile) nibble(pk *packet, t *big.Rat) uint32 {
	mark, _, ok := p.bitsOf(pk)
	if !ok {
		return 0
	}
	bits, colour := p.timeBits(t), mark
	if table, _ := tables(p.Session); table != nil {
		colour = counterOf(first(table, bits, "0", mark), bits) // independent of Reg
	}
	return 8 | digit(bits[1])<<2 | digit(bits[2])<<1 | digit(colour[0])
}

// counterOf returns the counter that a rule names. Rules of pulses name none: the first time bit selects their counter.
func counterOf(d does, timeBits string) string {
	if d.counter == "" {
		return timeBits[:1]
	}
	return d.counter
}

func digit(b byte) uint32 { return uint32(b - '0') }

// timeLookup returns the metadata that the ingress ACLs match: the lanes, if there are profiles.
func (c *Chip) timeLookup(pk *packet) (meta uint32) {
	if len(pk.conf.profiles) == 0 {
		return pk.meta
	}
	t := nanoseconds(c.timeOfDay(pk.rx))
	for lane, p := range pk.conf.profiles {
		meta |= p.nibble(pk, t) << (4 * lane)
	}
	return meta
}

// A flow is the chip's state of a flow index. It is emptied when an entry with the index appears and there was none
// before.
type flow struct {
	reg    string // "" means 0
	colour [2]captured
	steps  steps
	outer  *[outerWords]uint64
	late   []*big.Int // first and last period to which late packets may belong; nil if there are none
}

// captured holds the captures of the packets of one colour.
type captured struct {
	captures       uint64
	at             tailstamp.Timestamp
	unsynchronised bool // true if the clock was not synchronised at that time
	outOfWindow    uint64
	pulseBytes     uint64
	foreign        uint64 // packets that reached an initiator with a mark
	foreignBytes   uint64
	digest         uint32
	arrivals       arrivals
}

// arrivals holds the sums of arrival times for the mean delay.
type arrivals struct {
	packets, unsynchronised uint64
	sum                     *big.Int // sum of ns since 1970; nil means 0
}

// sumUp adds a packet. synchronised is the state of the clock at its arrival.
func (a *arrivals) sumUp(at tailstamp.Timestamp, synchronised bool) {
	a.packets++
	if !synchronised {
		a.unsynchronised++
	}
	if a.sum == nil {
		a.sum = new(big.Int)
	}
	a.sum.Add(a.sum, nanoseconds(at).Num())
}

// steps detects the steps of a mark into which pulses are muxed, without slots.
type steps struct {
	seen       bool
	colour     string
	step, last *big.Rat // beginning of the colour, and time of the previous packet
}

// see adds a mark. It reports whether the packet is a pulse or the first of a new colour, and whether the flow paused
// before it, so that a step may have been missed.
func (s *steps) see(p laneProfile, mark string, t *big.Rat) (pulse, step, gap bool) {
	if !s.seen {
		*s = steps{true, mark, t, t}
		return false, false, true
	}
	pause := new(big.Rat).Sub(t, s.last)
	gap = pause.Sign() < 0 || pause.Cmp(p.part(1, 8)) > 0
	if mark != s.colour {
		if since := new(big.Rat).Sub(t, s.step); since.Sign() < 0 || since.Cmp(p.part(3, 4)) >= 0 {
			s.colour, s.step, step = mark, t, true
		} else {
			pulse = true
		}
	}
	s.last = t
	return pulse, step, gap
}

// digest returns a value that distinguishes a packet from others at every switch: a hash of the first 80 bytes of the
// IP packet, without fields that change on the way. It is computed without IFA, and for a TCP segment with SYN without
// checksum and options.
func digest(data []byte, length int) uint32 {
	h := parse(data, length)
	var ip [80]byte
	copy(ip[:], h.withoutIFA(data))
	clear := func(at int, bits byte) {
		if at < len(ip) {
			ip[at] &^= bits
		}
	}
	if h.l4 != nil && h.l4.tcp && h.l4.tcpFlags&2 != 0 {
		at := h.l4.at - h.ip.at
		if h.ifa != nil {
			at -= 4
		}
		for i := 16; i < max(4*int(data[h.l4.at+12]>>4), 20); i++ {
			if i < 18 || i >= 20 {
				clear(at+i, 0xff)
			}
		}
	}
	if h.ip.version == 4 {
		for _, at := range []int{1, 8, 10, 11} { // type of service, TTL, checksum
			clear(at, 0xff)
		}
		clear(6, 0x80) // reserved flag
	} else {
		clear(0, 0x0f) // traffic class
		clear(1, 0xf0)
		clear(7, 0xff) // hop limit
		if at := h.ip.altMark - h.ip.at; h.ip.altMark > 0 && at < len(ip) {
			clear(at, 1<<optionBit[altmark.IPv6Loss]|1<<optionBit[altmark.IPv6Delay])
		}
	}
	var words []uint64
	for at := 0; at < len(ip); at += 8 {
		words = append(words, binary.BigEndian.Uint64(ip[at:]))
	}
	return hashWords(0, words)
}

// withoutIFA returns the captured part of the IP packet as sent by its source.
func (h headers) withoutIFA(data []byte) []byte {
	ip := data[h.ip.at:min(len(data), h.ip.at+h.ip.size)]
	if h.ifa == nil {
		return ip
	}
	a := *h.ifa
	plain := slices.Concat(data[h.ip.at:a.base], data[a.transport:a.metadata], data[a.payload:h.ip.at+len(ip)])
	length, protocol := 2, 9
	if h.ip.version == 6 {
		length, protocol = 4, 6
	}
	plain[protocol] = data[a.base+1]
	put := 4 + a.payload - a.metadata
	binary.BigEndian.PutUint16(plain[length:], binary.BigEndian.Uint16(plain[length:])-uint16(put))
	return plain
}

// A written is a mark with the value with which a packet leaves.
type written struct {
	mark altmark.Mark
	bit  string
}

// A Marking is the result of alternate marking for a packet; see [Chip.Marking].
type Marking struct {
	altmark.Session
	TimeBits              string
	Colour                string
	Captured, OutOfWindow bool
	SummedUp              bool   // true if it is summed up for the mean delay
	Gap, Step             bool   // set only for sessions without slots
	Late                  bool   // true if it may belong to another period
	Written               string // values of the marks; empty if unchanged
}

// marking executes the stateful stage, the mark and the capture, for the flow of an ACL entry.
func (c *Chip) marking(pk *packet, value uint32) {
	lane, index := int(value>>24&0xf), value&(1<<23-1)
	p, ok := pk.conf.profiles[lane]
	mark, mark2, eligible := "", "", false
	if ok {
		mark, mark2, eligible = p.bitsOf(pk)
	}
	if !eligible || index >= c.prof.AltMark.Flows {
		return
	}
	f := c.flow(index)
	outer, has := pk.conf.outerOf(index)
	if p.encap {
		if !has || outer.Ends {
			return
		}
		c.wrap(pk, outer, f.outerCounts())
	}
	at := c.timeOfDay(pk.rx)
	t := nanoseconds(at)
	bits := p.timeBits(t)
	table, table2 := tables(p.Session)
	if p.Role == altmark.Initiator && (mark == "1" || mark2 == "1") {
		x := &f.colour[digit(bits[0])]
		x.foreign++
		x.foreignBytes += uint64(pk.length + fcs)
		if p.Foreign == altmark.DropForeign {
			pk.aclDrop, pk.effects.drop = true, true
			return
		}
	}

	register, passes := f.register(), pk.late > 0 && p.Role == altmark.Initiator
	if passes {
		register = pulsed(p.Method, bits)
	}
	did, did2 := first(table, bits, register, mark), first(table2, bits, register, mark2)
	for _, d := range []does{did, did2} {
		if d.reg != "" && !passes {
			f.reg = d.reg
		}
	}
	colour, capture, step, gap := counterOf(did, bits), did.timestamp || did2.timestamp, false, false
	if table == nil {
		capture, step, gap = f.steps.see(p, mark, t)
		colour = f.steps.colour
	}
	x := &f.colour[digit(colour[0])]
	if capture {
		x.captures++
		x.at = c.timeOfDay(pk.rx - pk.late)
		x.unsynchronised = !c.clockAt(pk.rx - pk.late).synchronised
		x.digest = digest(pk.data, pk.length)
		if table == nil {
			x.pulseBytes += uint64(pk.length + fcs)
		}
	}
	if p.MeanDelay {
		own := pk.rx - pk.late
		x.arrivals.sumUp(c.timeOfDay(own), c.clockAt(own).synchronised)
	}
	if gap {
		x.outOfWindow++
	}
	reader := p.Role != altmark.Initiator
	outside := reader && p.Method != altmark.Pulse && colour != bits[:1] && p.within(t)
	if outside {
		x.outOfWindow++
	}
	late := false
	if pk.late > 0 && reader && p.Method != altmark.Pulse {
		own := nanoseconds(c.timeOfDay(pk.rx - pk.late))
		late = f.countLate(p, t, own, digit(colour[0]), outside, capture)
	}
	switch {
	case !reader:
		pk.write(p, did.markBit, did2.markBit)
		pk.keepMarks(p)
	case p.Role == altmark.Terminator && has && outer.Ends && c.unwrap(pk, outer, f.outerCounts()):
	case p.Role == altmark.Terminator && p.Clear:
		pk.write(p, "0", "0")
	default:
		pk.keepMarks(p)
	}
	c.Marking(Marking{
		Session: p.Session, TimeBits: bits, Colour: colour, Captured: capture, OutOfWindow: outside,
		SummedUp: p.MeanDelay, Gap: gap, Step: step, Late: late, Written: pk.writtenBits(),
	})
}

// pulsed returns a register value with which the tables of an initiator make no pulse.
func pulsed(m altmark.Method, timeBits string) string {
	if m == altmark.Muxed {
		return string('0' + '1' - timeBits[0])
	}
	return timeBits[:1]
}

// countLate notes the periods to which a packet may belong if it arrives at t but should have arrived at own. It
// reports whether there is a period other than the one in which the packet is counted.
func (f *flow) countLate(p laneProfile, t, own *big.Rat, colour uint32, outside, capture bool) bool {
	begin := func(k *big.Int) *big.Rat { return new(big.Rat).Mul(new(big.Rat).SetInt(k), p.length()) }
	counts, _ := p.position(t)
	if one := big.NewInt(1); uint32(counts.Bit(0)) != colour {
		next := new(big.Int).Add(counts, one)
		if outside || counts.Sign() == 0 || begin(next).Cmp(new(big.Rat).Add(t, p.early)) <= 0 {
			counts = next
		} else {
			counts = new(big.Int).Sub(counts, one)
		}
	}
	slots := p.Method != altmark.Muxed || p.SlotSync
	earliest := new(big.Rat).Sub(begin(counts), p.early)
	if slots && capture && p.Method == altmark.Muxed {
		earliest = new(big.Rat).Add(begin(counts), p.part(1, 4))
	}
	late := own.Cmp(earliest) < 0
	if !slots {
		spread := new(big.Rat).Sub(t, own)
		spread.Sub(spread.Add(spread, p.guard), p.early)
		room := p.part(1, 8)
		late = late || spread.Cmp(new(big.Rat).SetInt(new(big.Int).Quo(room.Num(), room.Denom()))) >= 0
	}
	if late {
		f.noteLate(p, own, counts)
	}
	return late
}

// noteLate adds the periods to which a packet may belong if it should have arrived at own. counts is the last of these
// periods.
func (f *flow) noteLate(p laneProfile, own *big.Rat, counts *big.Int) {
	from := big.NewInt(0)
	if since := new(big.Rat).Sub(own, p.guard); since.Sign() > 0 {
		from, _ = p.position(since)
	}
	if from.Cmp(counts) > 0 {
		from = counts
	}
	if f.late != nil && new(big.Int).Sub(counts, f.late[1]).Cmp(big.NewInt(2)) <= 0 {
		if f.late[0].Cmp(from) < 0 {
			from = f.late[0]
		}
		if f.late[1].Cmp(counts) > 0 {
			counts = f.late[1]
		}
	}
	f.late = []*big.Int{from, counts}
}

// write sets the marks with which a packet leaves.
func (pk *packet) write(p laneProfile, mark, mark2 string) {
	pk.marks = []written{{p.Mark, mark}}
	if p.Mark2 != altmark.NoMark {
		pk.marks = append(pk.marks, written{p.Mark2, mark2})
	}
}

func (pk *packet) writtenBits() (bits string) {
	for _, m := range pk.marks {
		bits += m.bit
	}
	return bits
}

func (f *flow) register() string {
	if f.reg == "" {
		return "0"
	}
	return f.reg
}

func (c *Chip) flow(index uint32) *flow {
	if c.flows[index] == nil {
		c.flows[index] = &flow{}
	}
	return c.flows[index]
}

// inHeading writes a mark that is a field of the IP header.
func (m written) inHeading(f *heading) {
	switch m.mark {
	case altmark.IPv6Loss, altmark.IPv6Delay:
	case altmark.IPv4Reserved:
		f.reserved = m.bit == "1"
	default:
		n := dscpBit(m.mark)
		f.tos = f.tos&^(1<<n) | uint8(digit(m.bit[0]))<<n
	}
}

// inFrame writes a mark that is in the AltMark option.
func (m written) inFrame(frame []byte, ip *ipHeader) {
	if n, ok := optionBit[m.mark]; ok {
		frame[ip.altMark] = frame[ip.altMark]&^(1<<n) | uint8(digit(m.bit[0]))<<n
	}
}

// markings splits the hits by their metadata: values of alternate marking begin with the nibble 0xA. flow is the value
// that counts, plain are the other hits.
func (c *Chip) markings(hits []hit) (plain []hit, flow uint32, found bool) {
	var marking []hit
	for _, h := range hits {
		a, _ := action([]hit{h}, config.ActSetMeta)
		if a != nil && c.prof.AltMark.Flows > 0 && a.Number>>28 == 0xa {
			marking = append(marking, h)
		} else {
			plain = append(plain, h)
		}
	}
	if a, _ := action(marking, config.ActSetMeta); a != nil {
		return plain, uint32(a.Number), true
	}
	return plain, 0, false
}

// flowEntries returns the ingress ACL entries with flow indexes, by index.
func (conf *settings) flowEntries() map[uint32][]flowEntry {
	of := map[uint32][]flowEntry{}
	for _, e := range conf.ACLEntries {
		x := flowEntry{}
		for _, a := range e.Actions {
			switch a.Kind {
			case config.ActSetMeta:
				x.value = uint32(a.Number)
			case config.ActCounter:
				x.counter = a.Of[0]
			}
		}
		if x.value>>28 == 0xa { // egress entries set no metadata
			of[x.value&(1<<23-1)] = append(of[x.value&(1<<23-1)], x)
		}
	}
	return of
}

type flowEntry struct {
	value   uint32
	counter config.ID // None if there is none
}

// newFlows empties the flows of indexes that had no entry before. It does so when packets with the old configuration
// have passed the ACL stage.
func (c *Chip) newFlows(before, after *settings) {
	old := before.flowEntries()
	for index := range after.flowEntries() {
		if _, had := old[index]; had {
			continue
		}
		c.pending = append(c.pending, &bubble{stage: func(stage int) {
			if stage == c.aclStage() {
				delete(c.flows, index)
				c.generations[index]++
			}
		}})
	}
}

// FlowWindow returns the words that a read of [altmark.ObjectFlows] returns for a flow index. Each colour has the
// following words: packets, bytes, captures, seconds and nanoseconds of the last capture, 1 if the clock was
// unsynchronised then, packets out of window, bytes of pulses, packets with a foreign mark and their bytes, and the
// digest of the last captured packet.
func (c *Chip) FlowWindow(index uint32) (words [22]uint64) {
	entries, f := c.conf.flowEntries()[index], c.flow(index)
	for colour, x := range f.colour {
		w := words[11*colour:]
		read := map[config.ID]bool{config.None: true}
		for _, e := range entries {
			if int(e.value>>23&1) == colour && !read[e.counter] { // entries may share a counter
				read[e.counter] = true
				w[0] += c.counter(e.counter).Packets
				w[1] += c.counter(e.counter).Bytes
			}
		}
		w[2], w[3], w[4] = x.captures, x.at.Seconds, uint64(x.at.Nanoseconds)
		if x.unsynchronised {
			w[5] = 1
		}
		w[6], w[7] = x.outOfWindow, x.pulseBytes
		w[8], w[9] = x.foreign, x.foreignBytes
		w[10] = uint64(x.digest)
	}
	return words
}

// ArrivalsWindow returns the words of an [altmark.ObjectFlows] read for the arrivals of a flow index. For each colour,
// these are packets, the sum of their times in ns since 1970 modulo 2^128 in two halves, the upper first, and packets
// at whose time the clock was not synchronised.
func (c *Chip) ArrivalsWindow(index uint32) (words [8]uint64) {
	for colour, x := range c.flow(index).colour {
		w, sum := words[4*colour:], new(big.Int)
		if x.arrivals.sum != nil {
			sum.Mod(x.arrivals.sum, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		w[0], w[3] = x.arrivals.packets, x.arrivals.unsynchronised
		w[1] = new(big.Int).Rsh(sum, 64).Uint64()
		w[2] = new(big.Int).And(sum, new(big.Int).SetUint64(1<<64-1)).Uint64()
	}
	return words
}

// LateWindow returns the first and the last period to which late packets of a flow index may belong. Both are 0 if
// there are none.
func (c *Chip) LateWindow(index uint32) (words [2]uint64) {
	for i, k := range c.flow(index).late {
		words[i] = k.Uint64()
	}
	return words
}

// FlowGeneration returns how often the flow of an index was emptied.
func (c *Chip) FlowGeneration(index uint32) uint64 { return c.generations[index] }

// ClockWindow returns the words of a read of the clock: seconds, nanoseconds, synchronised, how often it was set, and
// its time when the chip started, in ns since 1970.
func (c *Chip) ClockWindow() (words [5]uint64) {
	t := c.timeOfDay(c.now)
	words = [5]uint64{t.Seconds, uint64(t.Nanoseconds), 0, c.clockSteps, uint64(c.start.UnixNano())}
	if c.clockAt(c.now).synchronised {
		words[2] = 1
	}
	return words
}
