package reference

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
)

// Limits of a packet's lookups that a chip keeps at its end: the first five in ACL tables in each pipe, those in the
// first fifteen program tables of each pipe, and the first twenty in total.
const (
	keptLooks  = 5
	keptTables = 15
	keptAll    = 20
)

// keeps reports whether lookups in a table of the program are kept.
func (x *passage) keeps(name string) bool {
	in, table, _ := strings.Cut(name, ".")
	p := &x.Ingress
	if in == "egress" {
		p = &x.Egress
	}
	var keyed []pipe.Table
	for _, t := range p.Tables {
		if t.Match != "always" {
			keyed = append(keyed, t)
		}
	}
	slices.SortStableFunc(keyed, func(a, b pipe.Table) int { return cmp.Compare(a.Stage, b.Stage) })
	return slices.IndexFunc(keyed, func(t pipe.Table) bool { return t.Name == table }) < keptTables
}

// ofProgram reports whether a finding is in a table of a program.
func ofProgram(f saisim.Finding) bool {
	return strings.HasPrefix(f.Table, "ingress.") || strings.HasPrefix(f.Table, "egress.")
}

// aside removes the findings after the first n, which are a copy's own, and returns them.
func (pk *packet) aside(n int) []saisim.Finding {
	own := slices.Clone((*pk.heard)[n:])
	*pk.heard = (*pk.heard)[:n]
	return own
}

// path returns the kept findings of a packet and of a copy of it, and the parts that are not kept.
func (pk *packet) path(own []saisim.Finding) (path []saisim.Finding, unkept saisim.Unkept) {
	looks := map[bool]int{}
	for _, f := range slices.Concat(*pk.heard, own) {
		if egress := f.Table == "chip.egress_acl"; egress || f.Table == "chip.acl" || f.Table == "pre_ingress_acl" {
			if looks[egress]++; looks[egress] > keptLooks {
				unkept |= saisim.UnkeptMore
				continue
			}
		}
		if len(path) == keptAll || ofProgram(f) && !pk.passage.keeps(f.Table) {
			unkept |= saisim.UnkeptMore
			continue
		}
		path = append(path, f)
	}
	return path, unkept
}

// keep reports the kept form of a drop.
func (c *Chip) keep(d dropping) {
	if c.Kept != nil {
		c.Kept(d.kept(saisim.MomentDropped))
	}
}

// keepEnd reports the kept form of an end other than a drop.
func (c *Chip) keepEnd(d dropping, what saisim.What) {
	if c.KeptEnd != nil {
		c.KeptEnd(d.kept(what))
	}
}

func (d dropping) kept(what saisim.What) saisim.Kept {
	dropped := d.behind && what == saisim.MomentDropped
	if dropped { // a copy's findings in the egress pipe are not kept there
		d.own = slices.DeleteFunc(slices.Clone(d.own), func(f saisim.Finding) bool {
			return f.Table == "chip.egress_acl" || strings.HasPrefix(f.Table, "egress.")
		})
	}
	path, unkept := d.pk.path(d.own)
	if dropped {
		unkept |= saisim.UnkeptEgress
	}
	if d.pk.grew != 0 {
		d.Data, d.Len = d.pk.received, d.Len-d.pk.grew
	}
	return saisim.Kept{Drop: d.Drop, What: what, Path: path, Unkept: unkept}
}
