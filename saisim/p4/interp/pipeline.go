package interp

import (
	"slices"

	"tamtam/saisim/p4"
)

// The values of instance_type.
const (
	instanceNormal       = 0
	instanceIngressClone = 1
	instanceEgressClone  = 2
	instanceRecirculated = 4
	instanceReplicated   = 5
	instanceResubmitted  = 6
)

// kill ends a packet. The reason is counted once.
func (f *frame) kill(reason Drop) {
	if f.dead != "" {
		return
	}
	f.dead = reason
	f.accounts.Dropped[reason]++
	by := f.droppedBy
	if reason == DropAssertion || reason == DropLoop {
		by = f.at
	}
	f.event(Event{Kind: "dropped", Reason: string(reason), Source: sourceOf(by)})
}

// enter begins a pass of a pipeline, and reports whether the packet may pass once more.
func (f *frame) enter(pipeline string) bool {
	f.pipeline = pipeline
	if *f.passes++; *f.passes > maxPasses {
		f.kill(DropPasses)
	}
	return f.dead == ""
}

// walk runs the nodes of a pipeline until its end, an exit, or the end of the packet.
func (f *frame) walk(p *p4.Pipeline) {
	for n := p.Start; n != nil && !f.exit && f.dead == ""; {
		switch {
		case n.Table != nil:
			n = f.apply(n)
		case n.Condition != nil:
			f.at = n.Source
			value := f.boolean(n.Condition)
			f.event(Event{Kind: "condition", Name: n.Name, Value: &value, Source: sourceOf(n.Source)})
			next := n.False
			if value {
				next = n.True
			}
			n = next
		default:
			f.event(Event{Kind: "action", Name: n.Action.Name})
			f.act(n.Action, nil)
			n = n.Next
		}
	}
	f.exit = false
}

// ingress parses a packet, runs the ingress pipeline, and does what it asked for.
func (s *Switch) ingress(f *frame) {
	if !f.enter("ingress") {
		return
	}
	f.parse()
	f.walk(s.Program.Ingress)
	if f.dead != "" {
		return
	}
	std := s.Program.Standard
	if f.clones {
		f.clones = false
		s.cloneIngress(f)
	}
	if f.digest > 0 {
		s.learn(f)
	}
	if f.resubmit > 0 {
		s.again(f)
		return
	}
	if std.MulticastGroup.Exists() {
		if group := int(low32(f.phv.get(std.MulticastGroup))); group != 0 {
			f.phv.set(std.InstanceType, number(instanceReplicated))
			s.multicast(f, group)
			if f.multicastCopies == 0 {
				f.kill(DropNoCopies)
			} else {
				s.accounts.Copies--
			}
			return
		}
	}
	if f.phv.get(std.EgressSpec).Cmp(s.drop) == 0 {
		f.kill(DropIngress)
		return
	}
	f.phv.set(std.InstanceType, zero)
	s.enqueue(f, uint32(low32(f.phv.get(std.EgressSpec))))
}

// duplicate returns a packet with the same bytes and headers, and with nothing asked for.
func (s *Switch) duplicate(f *frame) *frame {
	s.copies++
	s.accounts.Copies++
	return s.frame(&packet{
		id: f.id, copy: s.copies, port: f.port, data: f.data, payload: f.payload, phv: f.phv.clone(), arrived: f.arrived,
		length: f.length, passes: f.passes, truncate: -1, pipeline: f.pipeline,
	})
}

// keep sets the metadata to 0, copies the fields of a list from another packet, and sets the instance type.
func (s *Switch) keep(to, from *vector, list, instance int) {
	to.clearMetadata(s.Program)
	if l := s.Program.FieldLists[list]; l != nil {
		for _, part := range l.Parts {
			if part.Field.Exists() {
				to.set(part.Field, from.get(part.Field))
			}
		}
	}
	to.set(s.Program.Standard.InstanceType, number(uint64(instance)))
}

// cloneIngress makes a copy of the packet as it arrived. It is parsed again, and keeps the listed fields as they are at
// the end of ingress.
func (s *Switch) cloneIngress(f *frame) {
	session, ok := s.sessions[f.session]
	if !ok {
		f.undefined("clone session %d does not exist", f.session)
		return
	}
	c := s.duplicate(f)
	c.phv = newVector(s.Program)
	c.length = len(f.data)
	c.phv.set(s.Program.Standard.IngressPort, number(uint64(f.port)))
	c.event(Event{Kind: "clone"})
	c.parse()
	if c.dead != "" {
		return
	}
	s.keep(c.phv, f.phv, f.cloneList, instanceIngressClone)
	s.replicate(c, session)
}

// replicate sends a clone to the port, and copies of it to the group, of its session.
func (s *Switch) replicate(c *frame, session Session) {
	if session.Group >= 0 {
		s.multicast(c, session.Group)
	}
	switch {
	case session.Port >= 0:
		s.enqueue(c, uint32(session.Port))
	case c.multicastCopies == 0:
		c.kill(DropNoCopies)
	default:
		s.accounts.Copies--
	}
}

// again sends a packet as it arrived through ingress once more.
func (s *Switch) again(f *frame) {
	f.event(Event{Kind: "resubmit"})
	list := f.resubmit
	phv := newVector(s.Program)
	s.keep(phv, f.phv, list, instanceResubmitted)
	s.next(f, phv, f.data)
}

// next makes a packet enter ingress again, with the given metadata and bytes.
func (s *Switch) next(f *frame, phv *vector, data []byte) {
	phv.set(s.Program.Standard.PacketLength, number(uint64(len(data))))
	s.pending = append(s.pending, &packet{
		id: f.id, copy: f.copy, port: f.port, data: data, phv: phv, arrived: f.arrived, length: len(data),
		passes: f.passes, truncate: -1,
	})
}

// multicast enqueues a copy for each port of a group.
func (s *Switch) multicast(f *frame, group int) {
	for _, handle := range s.groups[group] {
		node := s.nodes[handle]
		for _, port := range s.portsOf(node) {
			c := s.duplicate(f)
			c.event(Event{Kind: "multicast", Port: &port})
			c.phv.set(s.Program.Standard.EgressRID, number(uint64(node.RID)))
			f.phv.set(s.Program.Standard.EgressRID, number(uint64(node.RID)))
			f.multicastCopies++
			s.enqueue(c, port)
		}
	}
}

// portsOf returns the ports of a node in ascending order, and then a port of each of its link aggregation groups.
func (s *Switch) portsOf(n *Node) []uint32 {
	ports := slices.Clone(n.Ports)
	for _, lag := range n.Lags {
		if members := s.lags[lag]; len(members) > 0 {
			ports = append(ports, members[0])
		}
	}
	return ports
}

// enqueue puts a packet into a queue of its port.
func (s *Switch) enqueue(f *frame, port uint32) {
	std := s.Program.Standard
	f.priority = 0
	if std.Priority.Exists() {
		f.priority = int(low32(f.phv.get(std.Priority)))
	}
	if f.priority >= s.config.Priorities {
		f.kill(DropPriority)
		return
	}
	s.token++
	depth, ok := s.queues.Enqueue(s.now, port, f.priority, f.length, s.token)
	if !ok {
		f.kill(DropQueueFull)
		return
	}
	f.out, f.enqueuedMicros = port, s.micros(s.now)
	f.phv.set(std.EnqueueTime, number(f.enqueuedMicros))
	f.phv.set(std.EnqueueDepth, number(uint64(depth)))
	s.waiting[s.token] = f.packet
}

// egress runs the egress pipeline on a packet that left its queue, and sends it.
func (s *Switch) egress(f *frame, depth int) {
	if !f.enter("egress") {
		return
	}
	std := s.Program.Standard
	f.phv.set(std.EgressTime, number(s.micros(s.now)))
	f.phv.set(std.DequeueDelta, number(s.micros(s.now)-f.enqueuedMicros))
	f.phv.set(std.DequeueDepth, number(uint64(depth)))
	f.phv.set(std.QueueIndex, number(uint64(f.priority)))
	f.phv.set(std.EgressPort, number(uint64(f.out)))
	f.phv.set(std.EgressSpec, number(uint64(s.config.DropPort)+1))
	f.phv.set(std.PacketLength, number(uint64(f.length)))
	f.dropper(false)
	f.walk(s.Program.Egress)
	if f.dead != "" {
		return
	}
	if f.clones {
		f.clones = false
		s.cloneEgress(f)
	}
	if f.phv.get(std.EgressSpec).Cmp(s.drop) == 0 {
		f.kill(DropEgress)
		return
	}
	data := f.deparse()
	switch {
	case f.dead != "":
	case len(data) > maxPacket:
		f.kill(DropTooLong)
	case f.recirculate > 0:
		f.event(Event{Kind: "recirculate", Bytes: len(data)})
		phv := newVector(s.Program)
		s.keep(phv, f.phv, f.recirculate, instanceRecirculated)
		f.arrived = len(data)
		s.next(f, phv, data)
	default:
		s.transmit(f, data)
	}
}

// cloneEgress makes a copy with the headers as they are now, which passes egress again.
func (s *Switch) cloneEgress(f *frame) {
	session, ok := s.sessions[f.session]
	if !ok {
		f.undefined("clone session %d does not exist", f.session)
		return
	}
	c := s.duplicate(f)
	c.event(Event{Kind: "clone"})
	s.keep(c.phv, f.phv, f.cloneList, instanceEgressClone)
	s.replicate(c, session)
}

// transmit sends a packet out of its port.
func (s *Switch) transmit(f *frame, data []byte) {
	if f.truncate >= 0 && f.truncate < len(data) {
		data = data[:f.truncate]
	}
	out := s.accounts.Sent[f.out]
	s.accounts.Sent[f.out] = Count{out.Packets + 1, out.Bytes + uint64(len(data))}
	f.event(Event{Kind: "sent", Port: &f.out, Bytes: len(data)})
	s.sent = append(s.sent, Frame{f.out, s.now, data})
}

// learn records the digest of a packet.
func (s *Switch) learn(f *frame) {
	l := s.Program.Digests[f.digest]
	if l == nil {
		f.undefined("digest %d does not exist", f.digest)
		return
	}
	d := Digest{List: l, Cycle: s.now, Packet: f.id}
	for _, part := range l.Parts {
		if part.Field.Exists() {
			d.Values = append(d.Values, f.phv.get(part.Field))
		} else {
			d.Values = append(d.Values, part.Constant)
		}
	}
	f.event(Event{Kind: "digest", Name: l.Name})
	if len(s.digests) < maxNotices {
		s.digests = append(s.digests, d)
	}
}
