// Package engine is the packet path of the chip: it takes and gives Ethernet frames at exact cycles, and what it
// does with them is compiled from rows of plain tables ([tamtam/saisim/config]). [Engine.Apply] compiles a change
// in place, at the cycle that [Engine.Advance] has reached: what a row has counted stays, what a packet in flight
// has met stays, and one row costs the same however many there are.
//
// # Stations
//
// A packet passes stations, each in a file of its own, in this order:
//
//	mac        it comes in; the ingress pipe takes one packet per cycle
//	parse      its headers
//	ingress    the ingress pipe: admission, the tables below, where the packet goes
//	trap       what the CPU wants to see
//	acl        the ingress ACL tables; tuple is how one is searched
//	altmark    marks, and counts what is marked; marking keeps the flows
//	clamp      the MSS in TCP segments with SYN
//	bridge     learning and bridging, over the addresses in fdb
//	router     routing: fib finds the prefix, hash chooses among next hops
//	replicate  the copies of the packet, for the CPU within the rate of a policer; mirror adds those for mirror sessions
//	queue      the queues, over tamtam/saisim/tm, and whose turn it is
//	egress     the egress pipe, with what follows
//	flymon     sketches see each copy
//	aclegress  the egress ACL tables
//	rewrite    addresses, TTL, tags and marks as they leave
//	stamp      the tail-stamp record
//	transmit   it goes out
//	record     copies that say which tables a packet ran; recordpath counts paths
//	fates      where packets end, and books, which account for all of them
//
// Most packets take shortcuts past several stations, all in a file of their own. advance drives them through time, in
// windows; wheel keeps what is due at the MACs, agenda what is due between.
// A program's stages (program, programegress) run between the fixed functions of both pipes. watch tells an observer.
// packet, model and encap are the data that stations pass on. aclrows, bridgerows, routerrows, recordplan, port and
// compile make the model from rows; api and query are what others call. fork says what would become of a packet, by
// having it come to a copy of the whole engine: finding is what stations tell of their tables then, counts what they
// have counted.
//
// [Engine] wires the stations: each knows only those below it, and all share a core. The chapters below say what they
// do with a packet.
//
// What belongs here: rows, profiles, programs and frames. What does not: SAI, which package objects translates to rows;
// locks (the chip's is around all of it); the wall clock.
package engine
