// # Table recording
//
// Huang et al. (ToN 2025): tables of the pipes set bits when a packet runs them, and
// mirror copies of chosen packets carry these bits to a collector. [tamtam/saisim/describe.Program]
// gives the tables, where they are and what can follow what; plans and windows are
// extension objects, docs/internals/extensions.md; the record is [tamtam/tam/record.Record].
//
// # Tables that ran and hit
//
// A table of a program ran if its gate held and no earlier stage had dropped the packet; it hit
// if an entry matched. Fixed functions, by what the text on forwarding says of them:
//
//	chip.port         ran: the frame enters the ingress pipe, at a port that is still there
//	                  hit: ADMIT finds its port may send it: none of the reasons source-address,
//	                  vlan-tag-filter, no-lag-member, no-vlan, not-vlan-member
//	chip.trap         ran: as chip.port, and the source is no group address
//	                  hit: the traps of ADMIT come to some packet action
//	chip.acl          ran: it is looked up in an ingress ACL table, hit: some entry matched
//	chip.learning     ran: FORWARD 1 looks its source address up: learning is on for the
//	                  bridge port and the VLAN; hit: it is in the FDB already
//	chip.router_mac   ran: FORWARD comes to 4; hit: it is routed
//	chip.ipv4_route, chip.ipv6_route
//	                  ran: routing 4 looks it up, hit: there is a prefix
//	chip.next_hop     ran: routing comes to 7 with a next hop, a group, if empty too, or a
//	                  connected subnet, or FORWARD 3 redirects it to a next hop or group
//	                  whose TTL is above 1; hit: the neighbour is there
//	chip.fdb          ran: a unicast address is looked up to forward to it, of bridged packets and
//	                  of neighbours in a VLAN; hit: there is an entry
//	chip.flymon       ran: a copy is shown to groups of CMUs, that is, while there is a task
//	chip.mtu          ran: a copy in the egress pipe comes to egress-mtu; hit: it is short enough
//	chip.egress_acl   ran: it is looked up in an egress ACL table, hit: some entry matched
//	chip.tail_stamp   ran: a session stamps what gets through the egress pipe; hit: it does
//
// Copies for mirror sessions run nothing. The path of a copy is what its packet ran in the
// ingress pipe and it in the egress pipe, that of one for the CPU the former. It is a
// path of the graph that the chip had when the packet entered, except for packets that
// the CPU injects: they begin in the egress pipe.
//
// # Plans
//
// A plan gives marks to tables: a bit that a table sets when it ran, when it hit or, of a table of a program, when it
// hit an entry that has one of some actions.
// Every packet has record bits, 0 as it enters the ingress pipe; each copy has its own in the egress
// pipe, which begin as the packet's ended. A packet keeps the plans and sessions that there
// were as it entered. The bits of all plans are in the PHV besides the program's fields.
//
// A mirror session whose LABEL begins with "tr:" records. It makes no copies of its own,
// wherever it is named, but a pre-ingress entry that mirrors to it chooses packets, before anything
// is decided about them. What the ingress MAC drops (port-down, runt, oversize) does not come to the parser.
// Each packet so chosen is a match of the session if some plan has the label, in the
// order in which packets enter. Of the matches of a label, counted from the plan's
// creation on, or since a change of the plan brought the label, the first of each
// Sample is recorded: number 1, 1+Sample and so on. A packet is not recorded if
// the graph is another one than the plan's when it enters; it counts as not sampled.
//
// Of a recorded packet record copies are made, each by the mirror session as it is when
// it is queued, if it is there then and has that label:
//
//   - of every copy that the egress pipe lets through, or drops: EgressStages*StageCycles +
//     Deparser after it entered that pipe
//   - of every copy that is dropped before, at a port that is down, for want of room, by WRED,
//     or with its port: as many cycles after that
//   - of the copy for the CPU, as many cycles after it left
//   - of a packet that the ingress pipe drops, or that turns out to have nowhere to go, at the
//     cycle queue, where it is dropped, behind ingress mirror copies
//
// All but the last kind are queued together with egress mirror copies, in the order in which
// this was decided; of one copy first its egress mirror copies, then records in the order
// of the index of their sessions. Mirror and record copies, and packets that the CPU injects,
// are never recorded.
//
// A record copy is the frame as it came in, truncated as the session says, and behind it
// the record, all in the session's headers, whose lengths cover it; so do the buffer, the
// MTU and counters, while ERSPAN's T is of the frame only. Its fields: the containers,
// switch id and plan id of the plan; ingress time that of the ingress timestamp, time of
// the record that of the cycle in which the copy is queued; the ports' N of EthernetN,
// for the egress port also where the copy was dropped there, 65535 for the CPU and what
// the ingress pipe drops; the number of the drop reason, 0 if there is none; not
// synchronised if the clock was not at one of both times. Of the CPU's copy, policed or not, the
// trap is the first that wanted one, of what the ingress pipe drops for the reasons trap, learning, ttl,
// no-neighbor or l3-mtu the first that took the packet out of forwarding, and 0 else: a trap need not do so, nor
// be what does (an ACL entry is none). The queue is that which the copy was in, or asked for room; of the CPU's
// copy that of its trap group, if it gets there. Lanes are the ports', first lane each, also where the copy was
// dropped there; 65535 for the CPU and what the ingress pipe drops.
//
// Where the session asks for identities, the record has those of what the packet, and the copy, have hit, in this
// order: entries of ingress ACL tables, the FDB entry of its source, the prefix, the next hop that it came to and its
// MAC address if that is known, the FDB entry of its destination, if it asked for room the queue and the bytes in it
// before it, and entries of egress ACL tables. An entry is named by the label that its counter has, or had last, when
// the copy ends, or by its id if that is none. Of each pipe the first five looks into ACL tables count, those of
// pre-ingress tables too, which have no identity. What does not fit into 255 bytes is left out; the flag says that
// something may be.
//
// A session of type SFLOW sends UDP: Ethernet, a tag if so set, IPv4 (identification 0,
// don't fragment) or IPv6, UDP with UDP_SRC_PORT and UDP_DST_PORT and checksum 0. SAI has
// no addresses for it: they are the tunnel that the plan, as the packet met it, gives to
// its label; without one there is no copy, nor is one of sessions that do not record.
// For sessions of other types the tunnel means nothing.
//
// # Counters, paths
//
// For each label of a plan: matches; of those not recorded; record copies made, those
// too for which a LAG has no member; of these dropped anywhere. They are kept when the
// plan is set again with the label.
//
// While there are plans the chip counts paths: of every packet and copy whose path ends, in the
// cycle in which the egress pipe takes it, or in which it is dropped before or handed to the CPU;
// what the CPU injects and packets that met another graph, or no plan, as they entered are left out. It keeps 1024
// paths; packets of others are counted together. Counts begin at 0 when the first plan
// comes and when the graph changes.
//
// # Faults
//
// A batch can break the pipes as a bug in a compiler would, [pipe.Fault]; the graph stays that of
// the program as it was meant. Skipped fixed functions do as if nothing were found: chip.trap
// finds no trap of ADMIT, chip.acl looks in no table, chip.learning does not look or learn,
// chip.ipv4_route, chip.ipv6_route and chip.fdb find nothing. What is skipped did not run.
// Packets keep the faults that they met as they entered.
package engine
