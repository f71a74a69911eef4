package engine

import "tamtam/tam/record"

// identify records the entries that a copy has hit where it ends, and its queue. inside means that the copy has been in
// the egress pipe.
func (c *core) identify(x *record.Identities, cp *copyOf, inside bool) {
	pk := cp.pk
	m := &pk.met
	x.Reset()
	identifyLooks(x, m.looks[pk.early:pk.looks], record.IdentityRule, record.IdentityEntry)
	x.Left = x.Left || pk.moreLooks
	if pk.noted&notedLearned != 0 {
		x.Address(record.IdentitySource, m.learned.vid, m.learned.mac)
	}
	if pk.noted&notedPrefix != 0 {
		x.Route(m.dest.prefix)
	}
	if pk.noted&notedHop != 0 {
		x.NextHop(m.hop.ip)
	}
	if pk.noted&notedNeighbor != 0 {
		x.MAC(record.IdentityNeighbor, m.hopMAC)
	}
	if pk.noted&notedAddress != 0 {
		x.Address(record.IdentityFDB, m.known.vid, m.known.mac)
	}
	if cp.asked {
		x.Queue(cp.queue, cp.depth)
	}
	if inside {
		l := &c.egressMet.looks
		identifyLooks(x, l.of[:l.n], record.IdentityEgressRule, record.IdentityEgressEntry)
		x.Left = x.Left || l.more
	}
}

// identifyLooks records the entries hit by lookups in ACL tables: by their labels, or by their ids if they have none.
func identifyLooks(x *record.Identities, looks []aclLook, rule, entry record.IdentityKind) {
	for i := range looks {
		switch e := looks[i].entry; {
		case e == nil:
		case e.counter != nil && e.counter.Label != "":
			x.Text(rule, e.counter.Label)
		default:
			x.ID(entry, uint64(e.id))
		}
	}
}
