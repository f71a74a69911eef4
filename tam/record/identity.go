package record

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// MaxIdentities is the maximum number of bytes of identities in a record.
const MaxIdentities = 255

// An IdentityKind is the kind of an identity. An encoded identity is a byte of its kind, a byte with the length of its
// value, and the value.
type IdentityKind uint8

// The kinds: the entries that a packet or its copy hit in tables, and its queue.
const (
	IdentityRule        IdentityKind = iota + 1 // ingress ACL: the label of the rule's counter, text
	IdentityEntry                               // ingress ACL, without a label: the entry's id in the chip, 8 bytes
	IdentityEgressRule                          // as IdentityRule, but for the egress ACL
	IdentityEgressEntry                         // as IdentityEntry, but for the egress ACL
	IdentitySource                              // FDB entry of the source: VLAN, 2 bytes, and MAC address
	IdentityRoute                               // length of the prefix, 1 byte, and its address, 4 or 16 bytes
	IdentityNextHop                             // the neighbour's address, 4 or 16 bytes, whether or not it is resolved
	IdentityNeighbor                            // the neighbour's MAC address; the neighbour is resolved
	IdentityFDB                                 // FDB entry of the destination, in the format of IdentitySource
	IdentityQueue                               // queue, 1 byte, and bytes in it when the copy arrived, 4 bytes
)

// kinds holds each kind's name in JSON, and the chip's table that the packet ran, with the outcome. For an IPv4 route
// the table is replaced by that of IPv4.
var kinds = [...]struct{ name, table, outcome string }{
	IdentityRule: {"rule", "chip.acl", Hit}, IdentityEntry: {"acl_entry", "chip.acl", Hit},
	IdentityEgressRule:  {"egress_rule", "chip.egress_acl", Hit},
	IdentityEgressEntry: {"egress_acl_entry", "chip.egress_acl", Hit},
	IdentitySource:      {"source", "chip.learning", Hit}, IdentityRoute: {"route", "chip.ipv6_route", Hit},
	IdentityNextHop: {"next_hop", "chip.next_hop", ""}, IdentityNeighbor: {"neighbor", "chip.next_hop", Hit},
	IdentityFDB: {"fdb", "chip.fdb", Hit}, IdentityQueue: {"queue", "", ""},
}

// An Identity is an entry of a record's list of identities.
type Identity struct {
	Kind  IdentityKind
	Value []byte // in wire format
}

// Known returns the identities of a record, in their order. An error names the first identity that does not fit its
// kind. Unknown kinds are returned unchecked.
func (r *Record) Known() (list []Identity, err error) {
	for b := r.Identities; len(b) > 0; {
		end := 2 // two header bytes; an int, because lengths of 254 and 255 would overflow a byte
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

// String returns the name of the kind in JSON.
func (k IdentityKind) String() string {
	if int(k) < len(kinds) && kinds[k].name != "" {
		return kinds[k].name
	}
	return fmt.Sprintf("kind_%d", uint8(k))
}

// Says returns the chip's table that the packet of this identity ran, and the outcome: [Hit], or "" for either. Table
// is "" if the identity implies none.
func (x Identity) Says() (table, outcome string) {
	if int(x.Kind) >= len(kinds) {
		return "", ""
	}
	if k := kinds[x.Kind]; x.Kind != IdentityRoute || len(x.Value) != 5 {
		return k.table, k.outcome
	}
	return "chip.ipv4_route", Hit
}

// Text returns the identity in an operator's terms: a rule's label, a prefix, an address. Characters other than
// printable ASCII are escaped.
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

// Identities builds the identities of one record. An identity that does not fit is left out completely. The zero value
// is empty.
type Identities struct {
	n    uint8
	Left bool // true if some identities were left out
	of   [MaxIdentities]byte
}

// Bytes returns the encoded identities. They are valid until the next change.
func (i *Identities) Bytes() []byte { return i.of[:i.n] }

// Reset removes all identities.
func (i *Identities) Reset() { i.n, i.Left = 0, false }

// begin appends the header of an identity with a value of n bytes, and returns the space for the value. It returns nil
// if the identity does not fit.
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

// Text appends an identity that is a text.
func (i *Identities) Text(k IdentityKind, s string) {
	if len(s) > MaxIdentities {
		i.Left = true
		return
	}
	copy(i.begin(k, len(s)), s)
}

// ID appends the identity of an entry by its id in the chip.
func (i *Identities) ID(k IdentityKind, id uint64) {
	if b := i.begin(k, 8); b != nil {
		binary.BigEndian.PutUint64(b, id)
	}
}

// Address appends a MAC address in a VLAN.
func (i *Identities) Address(k IdentityKind, vlan uint16, mac uint64) {
	i.ID(k, uint64(vlan)<<48|mac)
}

// MAC appends a MAC address.
func (i *Identities) MAC(k IdentityKind, mac uint64) {
	if b := i.begin(k, 6); b != nil {
		binary.BigEndian.PutUint16(b, uint16(mac>>32))
		binary.BigEndian.PutUint32(b[2:], uint32(mac))
	}
}

// Route appends a prefix.
func (i *Identities) Route(p netip.Prefix) {
	if b := i.begin(IdentityRoute, 1+p.Addr().BitLen()/8); b != nil {
		b[0] = byte(p.Bits())
		putAddress(b[1:], p.Addr())
	}
}

// NextHop appends the address of a neighbour.
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

// Queue appends a queue and the number of bytes in it.
func (i *Identities) Queue(q uint8, depth uint32) {
	if b := i.begin(IdentityQueue, 5); b != nil {
		b[0] = q
		binary.BigEndian.PutUint32(b[1:], depth)
	}
}
