package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
)

// mask returns the groups of the record.
func (r *reportRecord) mask() uint16 {
	m := r.key.mask
	if r.queued {
		m |= 1 << dropreport.Queue
	}
	if r.pk != nil {
		m |= 1 << dropreport.Frame
	}
	return m
}

// sendRecord sends a record to all collectors of an event, and returns their number.
func (c *reporter) sendRecord(e *tamEvent, r *reportRecord) (sent uint64) {
	for _, x := range e.to {
		if x.unknown {
			x.encap.report.counts[dropreport.WordNotSendable]++
			continue
		}
		mask := r.mask()
		if e.layout.fixed {
			mask = 0
		}
		c.templates(e, x, mask)
		c.begin(e, x)
		c.openSet(e.layout.base + mask)
		switch e.row.Layout {
		case config.ReportFixed:
			c.frame = e.fixedRecord(c.frame, x, r)
		case config.ReportIFA:
			c.frame = r.appendIFA(c.frame, x)
		default:
			c.frame = r.append(c.frame, x)
		}
		c.message(x, 1)
		x.encap.report.counts[dropreport.WordSent]++
		x.messages++
		sent++
		c.leave(x)
	}
	return sent
}

// begin begins a message with its headers, including that of IPFIX.
func (c *reporter) begin(e *tamEvent, x *sending) {
	now, _ := c.timeOfDay(c.now)
	b := append(c.frame[:0], x.head...)
	b = append(b, 0, ipfixVersion, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(now.Seconds))
	b = binary.BigEndian.AppendUint32(b, x.encap.report.sequence)
	c.frame = binary.BigEndian.AppendUint32(b, e.domain)
}

// openSet begins a message's only set, which holds records.
func (c *reporter) openSet(id uint16) {
	c.frame = append(c.frame, byte(id>>8), byte(id), 0, 0)
}

// message writes the length of a message, and advances the sequence number of its stream. If the message has records,
// it also writes the length of their set.
func (c *reporter) message(x *sending, records uint32) {
	m := c.frame[len(x.head):]
	binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
	if records > 0 {
		binary.BigEndian.PutUint16(m[ipfixHeader+2:], uint16(len(m)-ipfixHeader))
	}
	x.encap.report.sequence += records
}

// templates sends the template of a record to a collector that does not have it. Before that, it sends the type
// information of own elements when that is due.
func (c *reporter) templates(e *tamEvent, x *sending, mask uint16) {
	if !x.began || x.messages >= config.ReportMessages || c.now-x.refreshed >= e.every {
		x.began, x.refreshed, x.messages, x.known = true, c.now, 0, [len(x.known)]uint64{}
		if len(e.layout.info) > 0 {
			c.begin(e, x)
			c.frame = e.layout.infoTemplate(c.frame)
			c.finishTemplate(x)
			c.typeInformation(e, x)
		}
	}
	if x.known[mask/64]>>(mask%64)&1 == 0 {
		x.known[mask/64] |= 1 << (mask % 64)
		c.begin(e, x)
		c.frame = e.layout.template(c.frame, mask)
		c.finishTemplate(x)
	}
}

func (c *reporter) finishTemplate(x *sending) {
	c.message(x, 0)
	x.encap.report.counts[dropreport.WordTemplates]++
	c.leave(x)
}

// typeInformation sends the type information of own elements, in as many messages as necessary.
func (c *reporter) typeInformation(e *tamEvent, x *sending) {
	for left := e.layout.info; len(left) > 0; {
		c.begin(e, x)
		c.openSet(e.layout.base | dropreport.InfoMask)
		n := uint32(0)
		for len(left) > 0 && len(c.frame)-len(x.head)+len(left[0]) <= x.room() {
			c.frame = append(c.frame, left[0]...)
			left = left[1:]
			n++
		}
		c.message(x, n)
		x.encap.report.counts[dropreport.WordTemplates]++
		c.leave(x)
	}
}

// append appends the record in the form for a collector.
func (r *reportRecord) append(b []byte, x *sending) []byte {
	u32, u64 := binary.BigEndian.AppendUint32, binary.BigEndian.AppendUint64
	k := &r.key
	b = u64(u64(b, r.at), r.delta)
	b = append(b, k.why.ForwardingStatus(k.flags&dropreport.FlagPunted != 0), byte(r.event), byte(k.why), byte(k.stage))
	flags := len(b)
	b = append(b, k.flags)
	mask := r.mask()
	if mask>>dropreport.In&1 != 0 {
		b = u32(b, k.in)
	}
	if mask>>dropreport.Out&1 != 0 {
		b = u32(b, k.out)
	}
	if r.queued {
		b = u32(append(b, r.queue), r.depth)
		for _, f := range r.fillers {
			b = u32(u32(b, f.port), f.bytes)
		}
	}
	if mask>>dropreport.Flow&1 != 0 {
		b = u64(u64(u64(b, r.first), r.last), r.total)
	}
	b = k.append(b, mask)
	if r.pk == nil {
		return b
	}
	b = append(b, byte(r.pk.length>>8), byte(r.pk.length))
	b, cut := x.section(b, r.pk)
	if cut {
		b[flags] |= dropreport.FlagCut
	}
	return b
}

// append appends the addresses of a flow.
func (k *flowKey) append(b []byte, mask uint16) []byte {
	u16, u32, u64 := binary.BigEndian.AppendUint16, binary.BigEndian.AppendUint32, binary.BigEndian.AppendUint64
	switch {
	case mask>>dropreport.IPv4&1 != 0:
		b = u32(u32(append(b, k.proto), uint32(k.src[1])), uint32(k.dst[1]))
	case mask>>dropreport.IPv6&1 != 0:
		b = u64(u64(u64(u64(append(b, k.proto), k.src[0]), k.src[1]), k.dst[0]), k.dst[1])
	}
	if mask>>dropreport.L4&1 != 0 {
		b = u16(u16(b, k.l4src), k.l4dst)
	}
	if mask>>dropreport.MAC&1 != 0 {
		b = u32(u16(b, uint16(k.smac>>32)), uint32(k.smac))
		b = u32(u16(b, uint16(k.dmac>>32)), uint32(k.dmac))
		b = u16(b, k.etherType)
	}
	return b
}

// section appends as much of a frame as fits, after its length, and reports whether the frame was longer.
func (x *sending) section(b []byte, pk *packet) ([]byte, bool) {
	n := min(len(pk.data), x.room()-(len(b)-len(x.head))-3)
	if x.row.Truncate > 0 {
		n = min(n, x.row.Truncate)
	}
	b = append(b, 0xff, byte(n>>8), byte(n))
	return append(b, pk.data[:n]...), n < pk.length
}

// fixedRecord appends a record in the layout of sonic-mgmt's tests.
func (e *tamEvent) fixedRecord(b []byte, x *sending, r *reportRecord) []byte {
	k := &r.key
	b = binary.BigEndian.AppendUint64(b, r.at)
	b = binary.BigEndian.AppendUint32(b, e.domain)
	b = append(b, byte(k.out>>8), byte(k.out), byte(k.in>>8), byte(k.in))
	if k.stage == dropreport.StageIngress {
		b = append(b, byte(k.why)+1, 0)
	} else {
		b = append(b, 0, byte(k.why)+1)
	}
	b = append(b, 0, 0, r.queue)
	if r.pk == nil {
		return append(b, 0xff, 0, 0)
	}
	b, _ = x.section(b, r.pk)
	return b
}

// appendIFA appends the record in the layout of [dropreport.IFA].
func (r *reportRecord) appendIFA(b []byte, x *sending) []byte {
	u32 := binary.BigEndian.AppendUint32
	b = append(binary.BigEndian.AppendUint64(b, r.at), dropreport.StatusForwarded)
	b = u32(u32(b, r.key.in), r.key.out)
	b = binary.BigEndian.AppendUint16(b, uint16(r.pk.length))
	b, _ = x.section(b, r.pk)
	return b
}
