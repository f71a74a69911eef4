// Package cmu is the groups of composable measurement units in a chip's egress pipe (FlyMon, SIGCOMM
// 2022, sections 3.1 to 3.3, 5.3 and appendices A and E): hash units, registers, and the entries that
// tasks put into their stages. The comment of package flymon says what a packet does to a register;
// this is the fast implementation.
//
// [Groups.Run] sees each copy that enters the egress pipe once. Up to 64 of them run together, one
// unit after the other: a unit has a register of its own, which so sees all packets in their order,
// and nothing that a unit gives goes to another packet. Whatever looks at the groups, or changes
// them, first has those run that wait; [Groups.SetLanes] says how many may. Second passes run one by
// one: they touch spliced groups only.
//
// Tasks come and go by [Groups.Apply] and [Groups.Remove] between two packets, each whole or not at
// all, and do not touch other tasks. The packet path allocates nothing, takes no lock and uses no map
// except the oracle's.
//
// A task counts in one bank, or with an epoch in two alternately. The bank, with its
// counts and digests, is chosen by the time of day of the packet alone: a clock that
// is set back counts in the bank of that epoch again.
//
// When Apply replaces a task, a partition keeps its words if the task counted there with the very same
// unit under the same masks and with the same epoch, or, for a frozen partition, if it had it at all.
// Others begin with zeros. If any unit did, the counts, digests and exact values of the banks start
// from zero too, and the earlier ones are reported with the frozen partitions for as long as there are
// any.
//
// Groups after Geometry.Groups are spliced (Appendix E): their units run, and their tasks count, when
// the packet comes back from the recirculation port ([Groups.RunAgain]), in the bank of its first pass.
// A task that zeroed something does not see packets that were being recirculated then.
//
// What belongs here: what a CMU does to a packet and to its registers, and the exact values to compare
// with. What does not: SAI, ports, queues, the chip's clock, estimators.
package cmu
