package sflow

import (
	"encoding/binary"
	"net/netip"
)

// The numbers of structures, all in enterprise 0.
const (
	formatFlow            = 1
	formatCounters        = 2
	formatFlowExpanded    = 3
	formatCounterExpanded = 4
	formatDiscarded       = 5

	recordHeader = 1
	recordSwitch = 1001
	recordRouter = 1002
	recordQueue  = 1036
	recordDepth  = 1040
	recordTrap   = 1041

	recordGeneric  = 1
	recordEthernet = 2
)

const version = 5

func u32(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// Append appends the encoded datagram to b.
func (d *Datagram) Append(b []byte) []byte {
	b = appendHead(b, d.Agent, d.SubAgent, d.Sequence, d.Uptime, uint32(len(d.Samples)))
	for _, s := range d.Samples {
		b = s.append(b)
	}
	return b
}

func appendHead(b []byte, agent netip.Addr, sub, sequence, uptime, samples uint32) []byte {
	b = appendAddress(u32(b, version), agent)
	return u32(b, sub, sequence, uptime, samples)
}

// appendAddress appends an address with its type. An invalid address has type 0.
func appendAddress(b []byte, a netip.Addr) []byte {
	switch a = a.Unmap(); {
	case a.Is4():
		return append(u32(b, 1), a.AsSlice()...)
	case a.Is6():
		return append(u32(b, 2), a.AsSlice()...)
	}
	return u32(b, 0)
}

// structure appends a structure: its number, the length of its body, and the body.
func structure(b []byte, number uint32, body func([]byte) []byte) []byte {
	b = u32(b, number, 0)
	at := len(b)
	b = body(b)
	binary.BigEndian.PutUint32(b[at-4:], uint32(len(b)-at))
	return b
}

// opaque appends data with its length before it, and zeros after it up to a multiple of four bytes.
func opaque(b []byte, data []byte) []byte {
	b = append(u32(b, uint32(len(data))), data...)
	return append(b, make([]byte, -len(data)&3)...)
}

func (o *Other) append(b []byte) []byte {
	return append(u32(b, o.Enterprise<<12|o.Format, uint32(len(o.Bytes))), o.Bytes...)
}

// short reports whether the source fits in the short form of a sample.
func (s Source) short() bool { return s.Class < 1<<8 && s.Index < fewest }

func (i Interface) short() bool { return i.Value <= internal }

func (i Interface) word() uint32 { return uint32(i.Format)<<30 | i.Value }

func (f *FlowSample) append(b []byte) []byte {
	number := uint32(formatFlow)
	if !f.Source.short() || !f.Input.short() || !f.Output.short() || f.Input.large() || f.Output.large() {
		number = formatFlowExpanded
	}
	return structure(b, number, func(b []byte) []byte {
		if number == formatFlow {
			b = u32(b, f.Sequence, f.Source.Class<<24|f.Source.Index, f.Rate, f.Pool, f.Drops, f.Input.word(), f.Output.word())
		} else {
			b = u32(b, f.Sequence, f.Source.Class, f.Source.Index, f.Rate, f.Pool, f.Drops, uint32(f.Input.Format),
				f.Input.Value, uint32(f.Output.Format), f.Output.Value)
		}
		return f.Packet.append(b)
	})
}

// large reports whether an ifIndex is too large for the short form.
func (i Interface) large() bool {
	return i.Format == Single && i.Value >= fewest && i.Value != internal
}

// append appends the number of records of the packet, and the records.
func (p *Packet) append(b []byte) []byte {
	at, n := len(b), uint32(0)
	b = u32(b, 0)
	add := func(number uint32, body func([]byte) []byte) {
		b, n = structure(b, number, body), n+1
	}
	if h := p.Header; h != nil {
		add(recordHeader, func(b []byte) []byte { return opaque(u32(b, h.Protocol, h.Length, h.Stripped), h.Bytes) })
	}
	if s := p.Switch; s != nil {
		add(recordSwitch, func(b []byte) []byte { return u32(b, s.InVLAN, s.InPriority, s.OutVLAN, s.OutPriority) })
	}
	if r := p.Router; r != nil {
		add(recordRouter, func(b []byte) []byte { return u32(appendAddress(b, r.NextHop), r.SourceMask, r.DestMask) })
	}
	if q := p.Queue; q != nil {
		add(recordQueue, func(b []byte) []byte { return u32(b, q.Number) })
		if q.Depth != nil {
			add(recordDepth, func(b []byte) []byte { return u32(b, *q.Depth) })
		}
	}
	if t := p.Trap; t != nil {
		add(recordTrap, func(b []byte) []byte { return opaque(opaque(b, []byte(t.Group)), []byte(t.Name)) })
	}
	for i := range p.Others {
		b, n = p.Others[i].append(b), n+1
	}
	binary.BigEndian.PutUint32(b[at:], n)
	return b
}

func (c *CounterSample) append(b []byte) []byte {
	number := uint32(formatCounters)
	if !c.Source.short() {
		number = formatCounterExpanded
	}
	return structure(b, number, func(b []byte) []byte {
		if number == formatCounters {
			b = u32(b, c.Sequence, c.Source.Class<<24|c.Source.Index)
		} else {
			b = u32(b, c.Sequence, c.Source.Class, c.Source.Index)
		}
		at, n := len(b), uint32(len(c.Others))
		b = u32(b, 0)
		if c.Generic != nil {
			b, n = structure(b, recordGeneric, c.Generic.append), n+1
		}
		if c.Ethernet != nil {
			b, n = structure(b, recordEthernet, c.Ethernet.append), n+1
		}
		for i := range c.Others {
			b = c.Others[i].append(b)
		}
		binary.BigEndian.PutUint32(b[at:], n)
		return b
	})
}

func u64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

func (g *Generic) append(b []byte) []byte {
	b = u64(u32(b, g.Index, g.Type), g.Speed)
	b = u64(u32(b, g.Direction, g.Status), g.InOctets)
	b = u32(b, g.InUnicast, g.InMulticast, g.InBroadcast, g.InDiscards, g.InErrors, g.InUnknownProtocols)
	b = u64(b, g.OutOctets)
	return u32(b, g.OutUnicast, g.OutMulticast, g.OutBroadcast, g.OutDiscards, g.OutErrors, g.Promiscuous)
}

// words returns pointers to the counters in wire order.
func (e *Ethernet) words() [13]*uint32 {
	return [13]*uint32{&e.Alignment, &e.FCS, &e.SingleCollision, &e.MultipleCollision, &e.SQETest, &e.Deferred,
		&e.LateCollision, &e.ExcessiveCollisions, &e.InternalTransmit, &e.CarrierSense, &e.TooLong, &e.InternalReceive,
		&e.Symbol}
}

func (e *Ethernet) append(b []byte) []byte {
	for _, w := range e.words() {
		b = u32(b, *w)
	}
	return b
}

func (d *Discarded) append(b []byte) []byte {
	return structure(b, formatDiscarded, func(b []byte) []byte {
		b = u32(b, d.Sequence, d.Source.Class, d.Source.Index, d.Drops, d.Input, d.Output, uint32(d.Reason))
		return d.Packet.append(b)
	})
}

// Unknown marks all counters as not counted.
func (e *Ethernet) Unknown() {
	for _, w := range e.words() {
		*w = Unknown32
	}
}
