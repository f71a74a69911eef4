// Package engine is the packet path of the chip. It receives and sends Ethernet frames at exact cycles. Its behaviour
// is compiled from rows of plain tables ([tamtam/saisim/config]). [Engine.Apply] compiles a change in place, at the
// cycle that [Engine.Advance] has reached. Rows keep their counts, and packets in flight keep the results of their
// lookups. The cost of one row does not depend on the number of rows.
//
// # Stations
//
// A packet passes stations in this order, each in a file of its own:
//
//	mac        receives the frame; the ingress pipe accepts one packet per cycle
//	parse      parses its headers
//	ingress    the ingress pipe: admission, the tables below, where the packet goes
//	trap       packets for the CPU
//	acl        the ingress ACL tables; tuple searches one of them
//	altmark    marks packets, and counts marked ones; marking keeps the flows
//	clamp      the MSS in TCP segments with SYN
//	bridge     learning and bridging, over the addresses in fdb
//	router     routing: fib finds the prefix, hash chooses among next hops
//	replicate  copies of the packet, for the CPU within the rate of a policer; mirror adds those for mirror sessions
//	queue      the queues, over tamtam/saisim/tm, and their scheduling; shape has ports with a shaper
//	trim       trims packets for which a queue has no space
//	burst      bursts of queues, with their flows; contents follows what queues hold
//	egress     the egress pipe, with the stations below
//	flymon     sketches that count each copy
//	aclegress  the egress ACL tables
//	rewrite    addresses, TTL, tags and marks as they leave
//	stamp      the tail-stamp record
//	transmit   sends the frame
//	record     copies that list the tables that a packet ran; recordpath counts paths
//	fates      where packets end; books holds the counts of all of them
//
// Most packets take shortcuts past several stations, all in the file shortcuts. advance drives packets through time, in
// windows. wheel holds the events due at the MACs, agenda those between them. The stages of a program (program,
// programegress) run between the fixed functions of both pipes. A program that only reads packets (passive) runs behind
// the ingress pipe. readout determines when counters are read out. watch reports to an observer. packet, model and
// encap are the data that stations pass on. aclrows, bridgerows, routerrows, recordplan, port and compile build the
// model from rows. api and query are the interface to other packages. fork predicts the outcome of a packet by running
// it in a copy of the whole engine. finding then holds the findings of stations in their tables, and counts the changes
// of their counters.
//
// [Engine] wires the stations: each uses only those below it, and all share a core. The chapters below define what they
// do with a packet.
//
// What belongs here: rows, profiles, programs and frames. What does not: SAI, which package objects translates to rows;
// locks, because the chip's lock covers everything here; the wall clock.
package engine
