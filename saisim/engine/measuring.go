// # FlyMon
//
// Groups of composable measurement units (CMUs), as in the FlyMon paper (SIGCOMM 2022), are in the egress pipe.
// [tamtam/tam/flymon] defines the computation of a unit, and [tamtam/saisim/cmu] that of a group of units with tasks.
// This chapter defines the chip's input to them. Tasks are extension objects, docs/internals/extensions.md.
//
// A packet is measured as a copy of it enters the egress pipe. Each copy is measured once, including those of floods
// and those injected by the CPU, but not copies for mirror sessions and for the CPU. It is measured whatever happens to
// it in the egress pipe, before the program, the MTU and the egress ACL. The chip numbers the
// measured copies from 1 on, beginning when the switch object is created, also while there are no tasks.
//
//   - The candidate key is of the headers as received: addresses if the IP
//     header is well-formed, the protocol after IPv6 extension headers, ports if the
//     parser has found them (TCP, UDP, UDP-Lite, SCTP, DCCP, no later fragments).
//   - The time is the chip's time of day at the cycle in which the egress pipe accepts
//     the copy, in whole nanoseconds since 1970, mod 2^64.
//   - The size is that of the frame as it leaves, with its VLAN tag and FCS, without a
//     tail-stamp record and without padding.
//   - The queue length is the number of bytes in its queue when the copy reached it, without
//     the copy. The delay is the cycles from then on, times 10^9 / ClockHz, rounded down to ns.
//
// All groups are passed in one step, in the cycle of entry. Spliced groups (Appendix E) are reached through a
// recirculation port. If a task with units there matches a copy, the copy is mirrored at the end of the egress pipe.
// The mirror copy is the complete frame as it leaves, without a record, and 16 bytes of metadata: key, time, size and
// queue. With B the exact time of a byte at RecirculationMbps and L the frame's length with FCS and metadata, at least
// 64:
//
//	at the port  a   = entry + EgressStages*StageCycles + Deparser
//	sent         end = max(a, end') + (L+20) B            (end' is that of the previous mirror copy)
//	measured     ceil(end) + Parser + IngressStages*StageCycles + TrafficManager
//
// It is lost if end' is later than a + 32768 B: the port's buffer is full. Within one cycle, these measurements come
// after frames that waited for the egress pipe, and before packets that leave the ingress pipe. Mirror copies use no
// cycle of the pipes and no space in the shared buffer. [FrameCounts] does not count them, because no part of them ever
// leaves.
//
// A control call takes effect, as always, at the cycle that the last Advance reached: copies that enter the egress pipe
// later are affected. A mirror copy does not count for a task that began, or began again, after its packet had entered.
// Removal of the switch object removes all tasks and mirror copies.
package engine
