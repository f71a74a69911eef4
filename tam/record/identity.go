package record

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// MaxIdentities is how many bytes of identities a record has at most.
const MaxIdentities = 255

// An IdentityKind is what an identity is of. On the wire each is a byte of its kind, a byte that says how many follow,
// and these.
type IdentityKind uint8

// The kinds: entries that a packet, or a copy of it, has hit in tables, and its queue.
const (
	IdentityRule        IdentityKind = iota + 1 // of the ingress ACL: the label of the rule's counter, text
	IdentityEntry                               // of the ingress ACL, without a label: the entry's id in the chip, 8 bytes
	IdentityEgressRule                          // as IdentityRule, of the egress ACL
	IdentityEgressEntry                         // as IdentityEntry, of the egress ACL
	IdentitySource                              // FDB entry of the source: VLAN, 2 bytes, and MAC address
	IdentityRoute                               // length of the prefix, 1 byte, and its address, 4 or 16 bytes
	IdentityNextHop                             // the neighbour's address, 4 or 16 bytes, whether it is known or not
	IdentityNeighbor                            // the neighbour's MAC address: it is known
	IdentityFDB                                 // FDB entry of the destination, as IdentitySource
	IdentityQueue                               // queue, 1 byte, and bytes in it when the copy came there, 4 bytes
)

// kinds has for each kind its name in JSON, and what it says of a table of the chip: that the packet ran it, or hit.
// Of a route the table is that of IPv4, if its address is.
var kinds = [...]struct{ name, table, outcome string }{
	IdentityRule: {"rule", "chip.acl", Hit}, IdentityEntry: {"acl_entry", "chip.acl", Hit},
	IdentityEgressRule:  {"egress_rule", "chip.egress_acl", Hit},
	IdentityEgressEntry: {"egress_acl_entry", "chip.egress_acl", Hit},
	IdentitySource:      {"source", "chip.learning", Hit}, IdentityRoute: {"route", "chip.ipv6_route", Hit},
	IdentityNextHop: {"next_hop", "chip.next_hop", ""}, IdentityNeighbor: {"neighbor", "chip.next_hop", Hit},
	IdentityFDB: {"fdb", "chip.fdb", Hit}, IdentityQueue: {"queue", "", ""},
}

// An Identity is one of those at the end of a record.
type Identity struct {
	Kind  IdentityKind
	Value []byte // as on the wire
}

// Known returns the identities of a record, in the order in which they stand there. An error says which is not as its
// kind is; kinds that are not known are taken as they are.
func (r *Record) Known() (list []Identity, err error) {
	for b := r.Identities; len(b) > 0; {
		end := 2 // in bytes of one, 254 and 255 would be the beginning again
		if len(b) >= 2 {
			end += int(b[1])
		}
		if len(b) < end {
			return nil, fmt.Errorf("identity %d: %d bytes, want its kind, its length and that many", len(list), len(b))
		}
		x := Identity{IdentityKind(b[0]), b[2:end]}
		if !x.fits() {
			return nil, fmt.Errorf("identity %d: a %s of %d bytes (%x), want those of its kind", len(list), x.Kind,
				len(x.Value), x.Value)
		}
		list, b = append(list, x), b[end:]
	}
	return list, nil
}

func (x Identity) fits() bool {
	n := len(x.Value)
	switch x.Kind {
	case IdentityRule, IdentityEgressRule:
		return n > 0
	case IdentityEntry, IdentityEgressEntry, IdentitySource, IdentityFDB:
		return n == 8
	case IdentityRoute:
		return (n == 5 || n == 17) && int(x.Value[0]) <= 8*(n-1)
	case IdentityNextHop:
		return n == 4 || n == 16
	case IdentityNeighbor:
		return n == 6
	case IdentityQueue:
		return n == 5
	}
	return true
}

// String is the name that JSON has for a kind.
func (k IdentityKind) String() string {
	if int(k) < len(kinds) && kinds[k].name != "" {
		return kinds[k].name
	}
	return fmt.Sprintf("kind_%d", uint8(k))
}

// Says is what an identity says of a table of the chip that its packet has run: what it found there, [Hit] or "" for
// either. Table is "" if it says nothing of any.
func (x Identity) Says() (table, outcome string) {
	if int(x.Kind) >= len(kinds) {
		return "", ""
	}
	if k := kinds[x.Kind]; x.Kind != IdentityRoute || len(x.Value) != 5 {
		return k.table, k.outcome
	}
	return "chip.ipv4_route", Hit
}

// Text is the identity as an operator knows it: a rule's label, a prefix, an address. Other characters than those of
// ASCII that can be seen are escaped.
func (x Identity) Text() string {
	v := x.Value
	if !x.fits() {
		return fmt.Sprintf("%x", v)
	}
	switch x.Kind {
	case IdentityRule, IdentityEgressRule:
		q := fmt.Sprintf("%+q", v)
		return q[1 : len(q)-1]
	case IdentityEntry, IdentityEgressEntry:
		return fmt.Sprintf("%#x", binary.BigEndian.Uint64(v))
	case IdentitySource, IdentityFDB:
		return fmt.Sprintf("%s in VLAN %d", net.HardwareAddr(v[2:]), binary.BigEndian.Uint16(v))
	case IdentityRoute:
		a, _ := netip.AddrFromSlice(v[1:])
		return netip.PrefixFrom(a, int(v[0])).String()
	case IdentityNextHop:
		a, _ := netip.AddrFromSlice(v)
		return a.String()
	case IdentityNeighbor:
		return net.HardwareAddr(v).String()
	case IdentityQueue:
		return fmt.Sprintf("%d, %d bytes in it", v[0], binary.BigEndian.Uint32(v[1:]))
	}
	return fmt.Sprintf("%x", v)
}

// Identities are those of one record as they are made: of what has no room nothing is taken. The zero value is empty.
type Identities struct {
	n    uint8
	Left bool // some were left out
	of   [MaxIdentities]byte
}

// Bytes are those of the record; they are valid until the identities change.
func (i *Identities) Bytes() []byte { return i.of[:i.n] }

// Reset takes all out.
func (i *Identities) Reset() { i.n, i.Left = 0, false }

// begin adds what is before the value of an identity of n bytes, and returns where the value is to be; nil: there is no
// room.
func (i *Identities) begin(k IdentityKind, n int) []byte {
	if int(i.n)+2+n > MaxIdentities {
		i.Left = true
		return nil
	}
	b := i.of[i.n:]
	b[0], b[1] = byte(k), byte(n)
	i.n += uint8(2 + n)
	return b[2 : 2+n : 2+n]
}

// Text adds an identity that is a text.
func (i *Identities) Text(k IdentityKind, s string) {
	if len(s) > MaxIdentities {
		i.Left = true
		return
	}
	copy(i.begin(k, len(s)), s)
}

// ID adds that of an entry by its id in the chip.
func (i *Identities) ID(k IdentityKind, id uint64) {
	if b := i.begin(k, 8); b != nil {
		binary.BigEndian.PutUint64(b, id)
	}
}

// Address adds a MAC address in a VLAN.
func (i *Identities) Address(k IdentityKind, vlan uint16, mac uint64) {
	i.ID(k, uint64(vlan)<<48|mac)
}

// MAC adds a MAC address.
func (i *Identities) MAC(k IdentityKind, mac uint64) {
	if b := i.begin(k, 6); b != nil {
		binary.BigEndian.PutUint16(b, uint16(mac>>32))
		binary.BigEndian.PutUint32(b[2:], uint32(mac))
	}
}

// Route adds a prefix.
func (i *Identities) Route(p netip.Prefix) {
	if b := i.begin(IdentityRoute, 1+p.Addr().BitLen()/8); b != nil {
		b[0] = byte(p.Bits())
		putAddress(b[1:], p.Addr())
	}
}

// NextHop adds the address of a neighbour.
func (i *Identities) NextHop(a netip.Addr) { putAddress(i.begin(IdentityNextHop, a.BitLen()/8), a) }

func putAddress(b []byte, a netip.Addr) {
	if a.Is4() {
		x := a.As4()
		copy(b, x[:])
		return
	}
	x := a.As16()
	copy(b, x[:])
}

// Queue adds a queue, and the bytes that were in it.
func (i *Identities) Queue(q uint8, depth uint32) {
	if b := i.begin(IdentityQueue, 5); b != nil {
		b[0] = q
		binary.BigEndian.PutUint32(b[1:], depth)
	}
}
