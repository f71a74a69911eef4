// Package altmark implements the arithmetic of alternate marking (AM-PM): intervals and periods, the words for roles,
// methods, marks and flags, and the guard conditions. Chip, orchestrator, collector and lab share it, so that a period
// has the same number everywhere.
//
// Sources: "AM-PM: Efficient Network Telemetry using Alternate Marking" and its
// later version on time-multiplexed parsing (SYSTOR 2019), tables 1 to 6; RFC
// 9341, section 5 for the guard; RFC 9343 for the IPv6 option.
//
// What belongs here: facts about alternate marking that hold on any switch. What does not: I/O, SAI, SONiC's tables.
package altmark
