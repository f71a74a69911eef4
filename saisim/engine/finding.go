package engine

import (
	"encoding/binary"
	"net/netip"

	"tamtam/saisim/config"
)

// Names of tables in findings that the graph does not contain. [tamtam/saisim/describe.Fixed] has those of the graph.
const (
	TablePreIngress = "pre_ingress_acl"
	TablePolicer    = "policer"
	TableQueue      = "queue"
	TableTrim       = "trim"
	TableGroup      = "priority_group"
	TableEncap      = "altmark_encap"
	TableDecap      = "altmark_decap"
	TableTunnel     = "tunnel_end"
)

// A Finding is the result of one lookup of a packet in one table, with the matching entry. Table names the table. Which
// of the other fields have a meaning depends on the table:
//
//	chip.port        Hit: the port may send it; VLAN of the frame, also at a sub-port, but 0 at a router interface of a
//	                 port or LAG;
//	                 In: the port, LAG or VLAN of the router interface where the frame is
//	chip.trap        Trap, and its effects: Drop, Copy; wherever in the pipe it is trapped
//	pre_ingress_acl, chip.acl, chip.egress_acl
//	                 In: the ACL table; Entry: the ACL entry; Drop, Copy, Cancel: its packet action; Port: of a copy
//	chip.learning    VLAN, MAC: its source; Entry: the bridge port where the source was known before
//	chip.ipv4_route, chip.ipv6_route
//	                 In: the virtual router; Prefix; Drop, Copy, Cancel: the route's packet action
//	chip.next_hop    In: the port, LAG or VLAN of the router interface out; VLAN: that of a sub-port, 0 otherwise;
//	                 Prefix: the neighbour's address; MAC
//	chip.fdb         VLAN, MAC: its destination; Entry: the bridge port; Drop, Copy: its packet action
//	ingress.NAME, egress.NAME
//	                 Number: the entry's number, in a table of the program that has a key; Port: of a copy
//	altmark_encap, altmark_decap
//	                 Prefix: the destination address of the header that is added or removed; Number: the FlowMonID;
//	                 Hit: the header was added or removed
//	tunnel_end       Prefix: the address where the tunnel ends; Hit: the packet was taken out of its outer header
//	policer          Entry: the policer; Hit: it passes
//	priority_group   Port: where it arrived; Queue: number of the group; Number of cells that were in it; Hit: it is
//	                 accepted
//	queue            Port, Queue; Bytes that were in the queue; Hit: it is accepted; also for a mirror session's copy
//	trim             follows a miss in queue that trims the copy: Port, Queue for trimmed packets; Bytes that were in it;
//	                 Number of bytes that the copy keeps of the packet as received; Hit: it is accepted
type Finding struct {
	Table              string
	Hit                bool
	In, Entry          config.ID
	VLAN               uint16
	MAC                config.MAC
	Prefix             netip.Prefix
	Trap               config.Trap
	Drop, Copy, Cancel bool
	Port               PortID
	Queue              uint8
	Bytes              uint32
	Number             uint32
}

// withAction adds the effects of a packet action.
func (f Finding) withAction(a actions) Finding {
	f.Drop, f.Copy, f.Cancel = a&actDrop != 0, a&actCopy != 0, a&actCancel != 0
	return f
}

// The functions below are called only if there is an observer of findings.

// place returns the port, LAG or VLAN of a router interface.
func (r *rif) place() config.ID {
	switch {
	case r == nil:
		return config.None
	case r.port != nil:
		return r.port.name
	case r.lag != nil:
		return r.lag.name
	case r.vlan != nil:
		return r.vlan.name
	}
	return config.None
}

// tag returns the outer VLAN of a sub-port, and 0 for any other router interface or none.
func (r *rif) tag() uint16 {
	if r == nil {
		return 0
	}
	return r.outer
}

// foundRoute returns the finding of a longest-prefix lookup in a virtual router.
func foundRoute(table string, vr *virtualRouter, d *dest) Finding {
	f := Finding{Table: table, In: vr.name}
	if d == nil {
		return f
	}
	f.Hit, f.Prefix = true, d.prefix
	return f.withAction(d.act)
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func foundHop(table string, r *rif, ip netip.Addr, known bool, mac uint64) Finding {
	f := Finding{Table: table, Hit: known, In: r.place(), VLAN: r.outer, Prefix: hostPrefix(ip)}
	if known {
		f.MAC = macOf(mac)
	}
	return f
}

func foundAddress(table string, vid uint16, mac uint64, e *fdbEntry) Finding {
	f := Finding{Table: table, Hit: e != nil, VLAN: vid, MAC: macOf(mac)}
	if e != nil {
		f.Entry = e.to.name
		f = f.withAction(e.act)
	}
	return f
}

func foundEntry(table string, t *aclTable, e *aclEntry, out PortID) Finding {
	f := Finding{Table: table, Hit: e != nil, In: t.id, Port: out}
	if e != nil {
		f.Entry = e.id
		f = f.withAction(e.act)
	}
	return f
}

// finding returns a packet's finding at a header that is added or removed.
func (o *outer) finding(done bool) Finding {
	f := Finding{Table: TableEncap, Hit: done, Prefix: netip.PrefixFrom(ipOfWords(o.dst), 128), Number: o.id}
	if o.ends {
		f.Table = TableDecap
	}
	return f
}

func ipOfWords(w [2]uint64) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], w[0])
	binary.BigEndian.PutUint64(b[8:], w[1])
	return netip.AddrFrom16(b)
}
