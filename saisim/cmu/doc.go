// Package cmu implements the groups of composable measurement units in a chip's egress pipe (FlyMon, SIGCOMM 2022,
// sections 3.1 to 3.3, 5.3 and appendices A and E): hash units, registers, and the entries that tasks put into their
// stages. The comment of package flymon specifies what a packet does to a register. This is the fast implementation.
//
// [Groups.Run] is called once for each copy that enters the egress pipe. Up to 64 copies run together, one unit after
// the other. Each unit has its own register, so the register processes all packets in order. No result of a unit is
// used for another packet. Every function that reads or changes the groups first runs the waiting packets.
// [Groups.SetLanes] sets how many may wait. Second passes run one by one and affect spliced groups only.
//
// [Groups.Apply] and [Groups.Remove] add and remove tasks between two packets, each atomically, and do not affect other
// tasks. The packet path allocates nothing, takes no lock and uses no map except the oracle's.
//
// A task counts in one bank, or with an epoch in two alternately. The time of day of the packet alone selects the bank,
// with its counts and digests. A clock that is set back counts in the bank of that epoch again.
//
// When Apply replaces a task, a partition keeps its words if the task counted there with an identical unit under the
// same masks and with the same epoch. A frozen partition keeps its words if the task had this partition before. Other
// partitions begin with zeros. If any partition does, the counts, digests and exact values of the banks also start from
// zero. The earlier values are reported with the frozen partitions as long as these exist.
//
// Groups after Geometry.Groups are spliced (Appendix E). Their units run, and their tasks count, when the packet
// returns from the recirculation port ([Groups.RunAgain]), in the bank of its first pass. A task that zeroed something
// ignores packets that were being recirculated then.
//
// This package implements what a CMU does to a packet and to its registers, and the exact values for comparison. It
// does not handle SAI, ports, queues, the chip's clock, or estimators.
package cmu
