// Package reference is a second implementation of the chip of saisim, stepped one cycle at a time: slow, simple, and
// written to be read. The tests of this package check that the fast engine equals it, bit for bit and cycle for cycle.
//
// It shares the inputs with the fast engine: profiles, frames, SAI configuration as [config.Tables], and programs as
// [pipe.Program]. It shares no code that decides anything. It has its own parser, tables as lists that are searched
// from the top, checksums that are always recomputed, and an interpreter of programs that looks fields up by name. Its
// MACs and its clock compute in rational numbers, and its pipe is a row of slots, shifted every cycle. It is written
// from the text in saisim, saisim/tm and saisim/pipe, not from the engine.
//
// A cycle's work is done in this order ([Chip.Step]): control batches of the cycle; frames that leave the egress pipe
// reach their MAC; frames whose timestamp point is now leave; the egress pipe accepts a frame of a free scheduler;
// egress mirror copies are queued; packets that leave the ingress pipe are copied and queued; frames that are complete
// now go to the arbiter; one of them enters the ingress pipe.
//
// # Control
//
// Control operations travel through the ingress pipe as bubbles between packets: each stage executes its part when the
// bubble reaches it. A packet keeps the configuration of its entry to the end of the ingress pipe, and the program to
// the end of the egress pipe. Its copies use the current configuration: when they are made, and in the fixed functions
// of the egress pipe.
//
// The egress pipe is computed when a frame enters it, stage after stage, because the scheduler depends on
// whether it will leave, and on its length. One frame enters per cycle, and each word of memory is in one stage. So the
// result equals that of stages that run one after another.
//
// # Alternate marking
//
// The fast engine has the scalable form of section 3.5 of the paper on AM-PM. Here, its tables 1 to 6 are as printed
// (altmarktables.go): rules for TimeBits, Reg and MarkBit, of which the first match counts. Periods are computed in
// rational numbers.
//
// # FlyMon
//
// Tasks run for one packet after the other (flymon.go). Their compressed keys follow the definition of
// [flymon.Compress], bit for bit. A register is a map from the place of a word to the word, and recirculated copies
// wait in a list.
//
// # Table recording
//
// A packet carries the names of the tables that it ran, and each copy adds those of the egress pipe (record.go). The
// bits of a record are looked up in this list when it is made. Work after the egress pipe waits in one list of
// functions.
//
// # Tests
//
// TestEnginesAgree gives both engines the same input: random configurations by SAI calls, random programs, random
// traffic. Configuration, programs, clocks and links change while frames are on their way. It compares every frame that
// leaves, counts of frames and queues at random instants, counters, registers and addresses, and the end and tables of
// each copy. It also counts events, so that a feature that is never used is noticed. The tables that a copy ran in the
// fast engine must be a path of the chip's graph. A failure prints the seed and about the smallest number of packets.
// FuzzEngines does the same from bytes. TestMutantsAreCaught ("make mutants") changes each line of a list in the fast
// engine and requires the comparison to fail. One binary has all of them, so that the engine is compiled once.
//
// The fast engine has two paths: event by event, and in windows, in which up to 64 packets run together. The seed of a
// case chooses the path, and in FuzzEngines the input does. TAMTAM_VECTOR overrides this: 0 is event by event, 1 to 64
// is the maximum number of packets together, and with "windows" the seed chooses between 1, 2, 63 and 64.
// TestPathsAgree lets the two paths, with all of these vectors, process the same 10,000 frames without a control event
// from the first to the last, each engine advanced in steps of its own. It compares frames that leave, counters,
// registers, queue lengths and counts of frames, with frames in the chip and without. A quarter of the cases of
// TestEnginesAgree is as long, from seed 2,000,000 on. In the gate, which has to be quick, only one is. "make
// differential" begins at seed 1,000,000,000, from which on cases have all features.
//
// For a third of the seeds from 2,000,000 on, and one of 11 in the gate, most frames are usual: untagged TCP or UDP
// over IPv4, of hosts that do not move, in a chip with little other configuration. These take the shortcuts. One of
// nine has programs without an egress pipe, which leave a packet with the ingress pipe.
//
// In three of 13 seeds from 3000 on, most frames are routed, by prefixes of all lengths, to next hops, groups,
// neighbours and addresses of the switch, out of ports, LAGs and VLANs. One of the three has all other features and one
// has few. The third has almost none and no observer, so that packets take the shortest path to be routed. The gate has
// some of each.
//
// Seeds from 30,000 to 40,000, and one of seven from 1,000,000,000 on, have ports with a single ACL table, programs
// that only read packets, and almost nothing else. Some entries do more than count and stamp, and some programs write
// one field, so that packets leave the shortcuts in each of the ways in which they can.
//
// Seeds from 60,000 to 70,000, and one of eleven from 1,000,000,000 on, have small ingress pools, profiles of priority
// groups with and without headroom, and frames of priority flow control.
//
// The gate counts the packets on each path of the fast engine, and fails if one of them carries too few: event by
// event, in windows, each shortcut, and each kind of route. A new shortcut is counted by itself.
//
// "make differential" runs as many cases as requested: TestEnginesAgree on each path, then TestPathsAgree.
package reference
