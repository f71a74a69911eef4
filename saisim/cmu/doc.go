// Package cmu is the groups of composable measurement units in a chip's egress
// pipe (FlyMon, SIGCOMM 2022, sections 3.1 to 3.3, 5.3 and appendices A and E):
// hash units, registers, and the entries that tasks put into their stages. What a
// packet does to a register is said in the comment of package flymon; this is the
// fast way to do it.
//
// [Groups.Run] sees each copy that enters the egress pipe once. Tasks come and go
// by [Groups.Apply] and [Groups.Remove] between two packets, each whole or not at
// all, and touch nothing of other tasks. The packet path allocates nothing, takes no
// lock and looks into no map, but for the oracle's.
//
// A task counts in one bank, or with an epoch in two by turns. The bank, with its
// counts and digests, is chosen by the time of day of the packet alone: a clock that
// is set back counts in the bank of that epoch again.
//
// When Apply replaces a task, a partition keeps its words if the task counted there
// with the very same unit under the same masks and with the same epoch, or, for a
// frozen partition, if it had it at all. Others begin with zeros. If any unit did, the
// counts, digests and exact values of the banks begin anew too, and those from before
// are told with the frozen partitions for as long as there are any.
//
// Groups behind Geometry.Groups are spliced (Appendix E): their units run, and their
// tasks count, when the packet comes back from the recirculation port
// ([Groups.RunAgain]), in the bank of its first pass. A task that zeroed something does
// not see packets that were on their way round then.
//
// What may enter: what a CMU does to a packet and to its registers, and what is exact
// beside it. What may not: SAI, ports, queues, the chip's clock, estimators.
package cmu
