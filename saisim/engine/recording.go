// # Table recording
//
// This implements Huang et al. (ToN 2025). Tables of the pipes set bits when a packet runs them. Mirror copies of
// chosen packets carry these bits to a collector. [tamtam/saisim/describe.Program] returns the tables, their places and
// their possible successors. Plans and windows are extension objects, docs/internals/extensions.md. The record is
// [tamtam/tam/record.Record].
//
// # Tables that ran and hit
//
// A table of a program ran if its gate held and no earlier stage had dropped the packet. It hit if an entry matched.
// For fixed functions, in the terms of the chapter on forwarding:
//
//	chip.port         ran: the frame enters the ingress pipe, at a port that still exists
//	                  hit: ADMIT finds its port may send it: none of the reasons source-address,
//	                  vlan-tag-filter, no-lag-member, no-vlan, not-vlan-member
//	chip.trap         ran: as chip.port, and the source is no group address
//	                  hit: the traps of ADMIT result in some packet action
//	chip.acl          ran: it is looked up in an ingress ACL table, hit: some entry matched
//	chip.learning     ran: FORWARD 1 looks its source address up: learning is on for the
//	                  bridge port and the VLAN; hit: it is in the FDB already
//	chip.router_mac   ran: FORWARD reaches 4; hit: it is routed
//	chip.ipv4_route, chip.ipv6_route
//	                  ran: routing 4 looks it up, hit: there is a prefix
//	chip.next_hop     ran: routing reaches 7 with a next hop, a group, even if empty, or a
//	                  connected subnet, or FORWARD 3 redirects it to a next hop or group
//	                  and its TTL is above 1; hit: the neighbour is known
//	chip.fdb          ran: a unicast address is looked up to forward to it, of bridged packets and
//	                  of neighbours in a VLAN; hit: there is an entry
//	chip.flymon       ran: the groups of CMUs measure a copy, that is, while there is a task
//	chip.mtu          ran: a copy in the egress pipe reaches egress-mtu; hit: it is short enough
//	chip.egress_acl   ran: it is looked up in an egress ACL table, hit: some entry matched
//	chip.tail_stamp   ran: a session stamps the copies that pass the egress pipe; hit: it does
//
// Copies for mirror sessions run nothing. The path of a copy consists of the tables that its packet ran in the ingress
// pipe, and those that it ran in the egress pipe. The path of a copy for the CPU is the former. It is a path of the
// graph that the chip had when the packet entered. Packets that the CPU injects are an exception: they begin in the
// egress pipe.
//
// # Plans
//
// A plan assigns marks to tables. A mark is a bit that a table sets when it ran or when it hit. For a table of a
// program, it may also be set when the table hit an entry that has one of some actions. Every packet has record bits,
// which are 0 when it enters the ingress pipe. In the egress pipe each copy has its own record bits, which begin with
// the packet's last values. A packet keeps the plans and sessions that existed as it entered. The bits of all plans are
// in the PHV besides the program's fields.
//
// A mirror session whose LABEL begins with "tr:" records. By itself it makes no copies, whatever refers to it. Instead,
// a pre-ingress entry that mirrors to it chooses packets, before any decision about them. Frames dropped by the ingress
// MAC (port-down, runt, oversize) do not reach the parser. Each chosen packet is a match of the session if a plan has
// the label. Matches are in the order in which packets enter. Matches of a label are counted from the creation of the
// plan, or from the change of the plan that added the label. The first of each Sample is recorded: number 1, 1+Sample
// and so on. A packet is not recorded if the graph differs from the plan's when it enters. It then counts as not
// sampled.
//
// Record copies are made of a recorded packet. Each is made by the mirror session in its state when the copy is queued.
// The session must exist then and have that label. Copies are made:
//
//   - of every copy that the egress pipe lets through, or drops: EgressStages*StageCycles +
//     Deparser after it entered that pipe
//   - of every copy that is dropped earlier, at a port that is down, for lack of buffer space, by WRED,
//     or with its port: the same number of cycles after that
//   - of the copy for the CPU, the same number of cycles after it left
//   - of a packet that the ingress pipe drops, or that turns out to have no destination, at the
//     cycle queue, where it is dropped, after ingress mirror copies
//
// All but the last kind are queued together with egress mirror copies, in the order of these decisions. For one copy,
// its egress mirror copies are first, then records in the order of the index of their sessions. Mirror and record
// copies, and packets that the CPU injects, are never recorded.
//
// A record copy is the frame as received, truncated by the session's setting, followed by the record, all in the
// session's headers. The lengths in the headers include the record, and so do the buffer, the MTU and counters.
// ERSPAN's T is for the frame only. These are its fields. Containers, switch id and plan id are those of the plan.
// Ingress time is that of the ingress timestamp. The time of the record is that of the cycle in which the copy is
// queued. Ports are N of EthernetN. The egress port is also set if the copy was dropped there. Ports are 65535 for the
// CPU and for packets that the ingress pipe drops. The drop reason is its number, 0 if there is none. The record is
// marked as not synchronised if the clock was not synchronised at either of the two times.
//
// For the CPU's copy, policed or not, the trap is the first one that requested a copy. The ingress pipe may drop a
// packet for the reasons trap, learning, ttl, no-neighbor or l3-mtu. Then the trap is the first one that removed the
// packet from forwarding. Otherwise the trap is 0. It may also be 0 for these reasons: a trap need not remove the
// packet, and the cause may be no trap, such as an ACL entry. The queue is the one in which the copy was, or that
// refused it. For the CPU's copy it is that of its trap group, if the CPU receives the copy. Lanes are the ports' first
// lanes, also where the copy was dropped. They are 65535 for the CPU and for packets that the ingress pipe drops.
//
// If the session requires identities, the record names the entries that the packet and the copy have hit. They are in
// the order of the pipes. In the ingress pipe, these are entries of ACL tables, the FDB entry of its source, the
// prefix, the next hop, and the FDB entry of its destination. The next hop includes its MAC address if that is known.
// If the copy reached a queue, the queue follows, with the bytes before the copy. Entries of egress ACL tables are
// last. An ACL entry is named by its counter's label when the copy ends, or the last one that it had. Without a label
// it is named by its id. In each pipe, only the first five lookups in ACL tables count. These include lookups in
// pre-ingress tables, which have no identity. Identities beyond 255 bytes are left out. A flag reports that some may be
// missing.
//
// A session of type SFLOW sends UDP: Ethernet, a tag if configured, IPv4 (identification 0, don't fragment) or IPv6,
// UDP with UDP_SRC_PORT and UDP_DST_PORT and checksum 0. SAI has no addresses for it. They are those of the tunnel that
// the plan, in the packet's version, assigns to its label. Without a tunnel there is no copy, and sessions of this type
// that do not record make none either. For sessions of other types the tunnel has no effect.
//
// # Counters, paths
//
// Each label of a plan has four counters. They count matches, matches that were not recorded, record copies that were
// made, and record copies that were dropped anywhere. A copy for which a LAG has no member counts as made. They are
// kept when the plan is set again with the label.
//
// While there are plans, the chip counts paths. A path counts for every packet and copy when it ends. That is the cycle
// in which the egress pipe accepts the copy, or in which it is dropped earlier or handed to the CPU. Packets injected
// by the CPU do not count, nor do those that entered with another graph or without a plan. The chip keeps 1024 paths,
// and counts packets of all other paths together. Counts begin at 0 when the first plan is added and when the graph
// changes.
//
// # Faults
//
// A batch can break the pipes as a bug in a compiler would, [pipe.Fault]. The graph stays that of the correct program.
// Skipped fixed functions behave as if nothing were found. chip.trap finds no trap of ADMIT, chip.acl looks in no
// table, and chip.learning neither looks nor learns. chip.ipv4_route, chip.ipv6_route and chip.fdb find nothing. A
// skipped function did not run. Packets keep the faults that existed when they entered.
package engine
