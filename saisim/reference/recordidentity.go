package reference

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"tamtam/saisim"
	"tamtam/tam/record"
)

// identities returns the identities of the entries that a copy has hit, and of its queue, in record format. left
// reports whether some are left out: of ACL tables beyond the first lookups of a pipe, or beyond the space limit.
func (c *Chip) identities(o *outgoing) (b []byte, left bool) {
	add := func(kind record.IdentityKind, value ...byte) {
		if len(b)+2+len(value) > record.MaxIdentities {
			left = true
			return
		}
		b = append(append(b, byte(kind), byte(len(value))), value...)
	}
	for _, part := range []struct {
		table, early string
		of           []saisim.Finding
		rule, entry  record.IdentityKind
	}{
		{"chip.acl", saisim.TablePreIngress, *o.heard, record.IdentityRule, record.IdentityEntry},
		{"chip.egress_acl", "", o.own, record.IdentityEgressRule, record.IdentityEgressEntry},
	} {
		if part.table == "chip.egress_acl" {
			c.identifyForwarding(o, add)
		}
		looks := 0
		for _, f := range part.of {
			if f.Table != part.table && f.Table != part.early {
				continue
			}
			if looks++; looks > keptLooks {
				left = true
				break
			}
			switch label := c.labels[o.counters[f.Entry]]; {
			case !f.Hit || f.Table == part.early:
			case label != "":
				add(part.rule, []byte(label)...)
			default:
				add(part.entry, binary.BigEndian.AppendUint64(nil, uint64(f.Entry))...)
			}
		}
	}
	return b, left
}

// identifyForwarding adds the identities of the tables between the ACLs of both pipes.
func (c *Chip) identifyForwarding(o *outgoing, add func(record.IdentityKind, ...byte)) {
	found := func(tables ...string) (f saisim.Finding, ok bool) {
		i := slices.IndexFunc(*o.heard, func(f saisim.Finding) bool { return slices.Contains(tables, f.Table) })
		if i < 0 {
			return f, false
		}
		return (*o.heard)[i], true
	}
	address := func(kind record.IdentityKind, table string) {
		if f, ok := found(table); ok && f.Hit {
			add(kind, slices.Concat(binary.BigEndian.AppendUint16(nil, f.VLAN), f.MAC[:])...)
		}
	}
	address(record.IdentitySource, "chip.learning")
	if f, ok := found("chip.ipv4_route", "chip.ipv6_route"); ok && f.Hit {
		add(record.IdentityRoute, append([]byte{byte(f.Prefix.Bits())}, bytesOf(f.Prefix)...)...)
	}
	if f, ok := found("chip.next_hop"); ok {
		add(record.IdentityNextHop, bytesOf(f.Prefix)...)
		if f.Hit {
			add(record.IdentityNeighbor, f.MAC[:]...)
		}
	}
	address(record.IdentityFDB, "chip.fdb")
	if o.asked {
		add(record.IdentityQueue, binary.BigEndian.AppendUint32([]byte{o.queue}, uint32(o.depth))...)
	}
}

func bytesOf(p netip.Prefix) []byte { return p.Addr().AsSlice() }
