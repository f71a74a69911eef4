package reference

import (
	"slices"

	"tamtam/saisim"
)

// What a chip keeps of the looks of a packet that ends: of those into ACL tables the first five in each pipe, of all
// the first fourteen.
const (
	keptLooks = 5
	keptAll   = 14
)

// aside takes away what was heard behind the first n findings, which is a copy's own, and returns it.
func (pk *packet) aside(n int) []saisim.Finding {
	own := slices.Clone((*pk.heard)[n:])
	*pk.heard = (*pk.heard)[:n]
	return own
}

// path is what is kept of the findings of a packet, and those of a copy of it.
func (pk *packet) path(own []saisim.Finding) (path []saisim.Finding, unkept saisim.Unkept) {
	if pk.passage != nil {
		unkept = saisim.UnkeptProgram
	}
	looks := map[bool]int{}
	for _, f := range slices.Concat(*pk.heard, own) {
		if egress := f.Table == "chip.egress_acl"; egress || f.Table == "chip.acl" || f.Table == "pre_ingress_acl" {
			if looks[egress]++; looks[egress] > keptLooks {
				unkept |= saisim.UnkeptMore
				continue
			}
		}
		if len(path) == keptAll {
			unkept |= saisim.UnkeptMore
			continue
		}
		path = append(path, f)
	}
	return path, unkept
}

// keep has a drop kept.
func (c *Chip) keep(d dropping) {
	if c.Kept != nil {
		c.Kept(d.kept(saisim.MomentDropped))
	}
}

// keepEnd has another end of a packet kept.
func (c *Chip) keepEnd(d dropping, what saisim.What) {
	if c.KeptEnd != nil {
		c.KeptEnd(d.kept(what))
	}
}

func (d dropping) kept(what saisim.What) saisim.Kept {
	if d.behind { // which egress ACL entries a copy has hit is forgotten there
		d.own = slices.DeleteFunc(slices.Clone(d.own), func(f saisim.Finding) bool { return f.Table == "chip.egress_acl" })
	}
	path, unkept := d.pk.path(d.own)
	if d.behind {
		unkept |= saisim.UnkeptEgress
	}
	return saisim.Kept{Drop: d.Drop, What: what, Path: path, Unkept: unkept}
}
