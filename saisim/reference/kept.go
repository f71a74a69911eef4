package reference

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
)

// What a chip keeps of the looks of a packet that ends: of those into ACL tables the first five in each pipe, of those
// into tables of a program the ones into the first fifteen of each pipe, of all the first twenty.
const (
	keptLooks  = 5
	keptTables = 15
	keptAll    = 20
)

// keeps reports whether looks into a table of the program are kept.
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

// aside takes away what was heard behind the first n findings, which is a copy's own, and returns it.
func (pk *packet) aside(n int) []saisim.Finding {
	own := slices.Clone((*pk.heard)[n:])
	*pk.heard = (*pk.heard)[:n]
	return own
}

// path is what is kept of the findings of a packet, and those of a copy of it.
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
	dropped := d.behind && what == saisim.MomentDropped
	if dropped { // what a copy has met in the egress pipe is forgotten there
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
