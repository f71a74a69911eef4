package engine

import "tamtam/saisim/describe"

// lookupEgress looks a copy up in the egress tables. The lookup key contains the packet's fields and its length as
// received, but ACL counters count the bytes that leave.
func (c *acl) lookupEgress(p *port, cp *copyOf, h *hits) {
	pk := cp.pk
	tables := p.tables[stageEgress]
	var more []lookup
	if c.vlanACLs[stageEgress] && c.vlans[pk.vid&0xfff] != nil {
		more = c.vlans[pk.vid&0xfff].tables[stageEgress]
	}
	if len(tables)+len(more) == 0 {
		return
	}
	var k aclKey
	c.buildKey(&k, pk)
	x := crossing{in: pk.in, out: p.id, inLAG: pk.lag, outLAG: p.lag}
	bytes := cp.leavingLen() + fcsLen
	found := c.finder(pk, describe.EgressACL.String(), p.id)
	h.look(tables, nil, &k, &x, bytes, found, nil, &c.egressMet.looks)
	h.look(more, tables, &k, &x, bytes, found, nil, &c.egressMet.looks)
	h.marks = describe.EgressACL.Ran()
	if h.any {
		h.marks |= describe.EgressACL.Hit()
	}
}
