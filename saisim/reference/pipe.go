package reference

import (
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// A row is the ingress pipe: parser, stages, and the path through the traffic manager. It has one slot per cycle that a
// packet spends in it. Each cycle moves every slot's content on by one slot.
type row struct {
	slots  []slot
	stages []int // slots in which the stages do their work
}

// A slot holds at most one packet, with the control operations that travel before and after it.
type slot struct {
	before []*bubble
	pk     *packet
	behind []*bubble
}

// A bubble is a batch of control operations on its path through a pipe. Each stage executes its part when the bubble
// arrives. Packets before it see none of the changes, and packets after it see all of them.
type bubble struct {
	forward func()          // FDB operation, run at the forwarding stage; nil means none
	stage   func(stage int) // operation on registers and counters of a stage; nil means none
}

func (b *bubble) at(stage, last int) {
	if b.forward != nil && stage == last {
		b.forward()
	}
	if b.stage != nil {
		b.stage(stage)
	}
}

func newRow(p profile.Profile) row {
	length := int(p.Parser + p.IngressStages*p.StageCycles + p.TrafficManager)
	v := row{slots: make([]slot, length)}
	for i := range max(1, int(p.IngressStages)) {
		v.stages = append(v.stages, int(p.Parser)+i*int(p.StageCycles))
	}
	return v
}

func (v *row) empty() bool {
	for _, s := range v.slots {
		if s.pk != nil || len(s.before) > 0 || len(s.behind) > 0 {
			return false
		}
	}
	return true
}

// moveIngress moves the ingress pipe on by one cycle, does the work of its stages, and returns the packet that leaves
// it, if any.
func (c *Chip) moveIngress() *packet {
	v := &c.ingress
	last := len(v.slots) - 1
	out := v.slots[last]
	copy(v.slots[1:], v.slots[:last])
	v.slots[0] = slot{}
	for stage, at := range v.stages {
		if at <= last {
			c.ingressStage(stage, &v.slots[at])
		} else {
			c.ingressStage(stage, &out)
		}
	}
	return out.pk
}

// ingressStage does the work of one stage on its current slot.
func (c *Chip) ingressStage(stage int, s *slot) {
	last := len(c.ingress.stages) - 1
	for _, b := range s.before {
		b.at(stage, last)
	}
	switch {
	case s.pk == nil:
	case s.pk.in != saisim.CPUPort:
		c.stageWork(stage, s)
	case stage == last:
		c.bridgeCPU(s)
	}
	for _, b := range s.behind {
		b.at(stage, last)
	}
}

// stageWork does the work of one stage on a packet that arrived at a port.
func (c *Chip) stageWork(stage int, s *slot) {
	last := len(c.ingress.stages) - 1
	if stage == 0 {
		c.admit(s)
	}
	if stage == c.aclStage() && s.pk != nil && !s.pk.ended {
		c.ingressACL(s)
		c.clampMSS(s.pk)
	}
	if stage == last && s.pk != nil && !s.pk.ended {
		c.forward(s)
	}
	if s.pk != nil && !s.pk.ended {
		c.runIngress(stage, s)
	}
	if stage == last && s.pk != nil && !s.pk.ended {
		if s.pk.finishIngress(); s.pk.kind == nowhere && !s.pk.cpu {
			c.end(s, s.pk.why)
		}
	}
}

// bridgeCPU handles a packet that the CPU sends in a VLAN. It runs in the last stage, the only one that processes such
// packets.
func (c *Chip) bridgeCPU(s *slot) {
	pk := s.pk
	pk.why = drop.NoVLAN
	if pk.conf.vlanByID[pk.vid].ID != config.None {
		pk.why = c.bridge(pk)
	}
	pk.effects, pk.tables = nothing, nil
	if pk.kind == nowhere {
		c.end(s, pk.why)
	}
}

// aclStage returns the ingress stage that does the ACL lookups.
func (c *Chip) aclStage() int { return len(c.ingress.stages) / 2 }

// end ends a packet in the ingress pipe. A packet that is mirrored, recorded or sampled continues to the end of the
// pipe and is dropped there.
func (c *Chip) end(s *slot, why drop.Reason) {
	s.pk.ended, s.pk.why = true, why
	if len(s.pk.mirrors) == 0 && len(s.pk.recordings) == 0 && len(s.pk.samples) == 0 {
		c.dropInPipe(s, why)
	}
}

// dropInPipe drops a packet in the ingress pipe. The packet counts as dropped since it entered.
func (c *Chip) dropInPipe(s *slot, why drop.Reason) {
	pk := s.pk
	s.pk = nil
	part := c.reporting.part
	c.reporting.part = atEntry
	c.dropPacket(pk.port, pk, pk.entered, why)
	c.reporting.part = part
	c.countDropped(pk)
	for _, b := range c.open {
		if pk.entered <= b.at {
			b.Dropped[why]++
			b.InFlight--
		}
	}
}
