// # FlyMon
//
// Groups of composable measurement units (CMUs), as the FlyMon paper (SIGCOMM
// 2022) has them, sit in the egress pipe. [tamtam/tam/flymon] says what a unit
// computes, [tamtam/saisim/cmu] what a group of them does with tasks; this is
// what the chip gives them. Tasks are extension objects, docs/internals/extensions.md.
//
// A packet is measured as a copy of it enters the egress pipe: each copy once, those
// of floods and those that the CPU has injected too, copies for mirror sessions and
// for the CPU not. It is measured whatever becomes of it in the egress pipe, before
// the program, the MTU and the egress ACL. Such copies are numbered from 1 on, whether
// there are tasks or not, since the switch object was created.
//
//   - The candidate key is of the headers as the frame came in: addresses if the IP
//     header is well-formed, the protocol behind IPv6 extension headers, ports if the
//     parser has found them (TCP, UDP, UDP-Lite, SCTP, DCCP, no later fragments).
//   - The time is the chip's time of day at the cycle in which the egress pipe takes
//     the copy, in whole nanoseconds since 1970, mod 2^64.
//   - The size is that of the frame as it leaves, with its VLAN tag and FCS, without a
//     tail-stamp record and without padding.
//   - The queue length is the bytes that its queue held when the copy came to it, without
//     it; the delay the cycles from then on, times 10^9 / ClockHz, rounded down to ns.
//
// All groups are passed at once, in the cycle of entry. Spliced groups (Appendix E)
// lie behind a recirculation port: a copy that a task with units there matches is
// mirrored at the end of the egress pipe. The mirror copy is the whole frame as it
// leaves, without a record, and 16 bytes of metadata: what the key, the time, the size
// and the queue were. With B the exact time of a byte at RecirculationMbps and L the
// frame's length with FCS and metadata, at least 64:
//
//	at the port  a   = entry + EgressStages*StageCycles + Deparser
//	sent         end = max(a, end') + (L+20) B            ': the mirror copy before
//	measured     ceil(end) + Parser + IngressStages*StageCycles + TrafficManager
//
// It is lost if end' is later than a + 32768 B: the port's buffer is full. In one
// cycle what is measured in this way comes after frames that waited for the egress
// pipe, and before what leaves the ingress pipe. Mirror copies take no turn in the
// pipes, no room in the shared buffer and no place in the books, since nothing of
// them ever leaves.
//
// What control does takes effect, as everything does, at the cycle that the last
// Advance reached: copies that enter the egress pipe later see it. A mirror copy
// does not count for a task that began, or began again, after its packet had entered.
// The switch object takes all tasks and mirror copies with it.
package engine
