// Package ifa encodes and decodes Inband Flow Analyzer 2.0 (draft-kumar-ippm-ifa-08). An initiating node inserts IFA
// into packets of TCP and UDP. Each further node adds a hop, and a terminating node removes IFA.
//
//	IP header        its protocol (IPv6: next header) is 253; the total length covers all that follows
//	IFA header       4 bytes: version 2, name space, the protocol that IP had, flags, longest stack
//	TCP or UDP       unchanged: its length and checksum do not cover IFA
//	metadata header  4 bytes: request and action vector, hop limit, length of the stack
//	metadata stack   the newest hop first
//	payload          unchanged
//
// Lengths are in words of 4 bytes. A hop has the global name space 15. Its first four bits, the local name space,
// select the layout of the rest. All known layouts agree on the first five of eight words, which are the named fields
// of [Hop]. The rest is specific to the switch. The layout [LNS], which this package writes, is:
//
//	word  bits  field
//	0     4     local name space
//	0     20    device id
//	0     8     TTL or hop limit of the packet as it leaves
//	1     4     speed of the egress port
//	1     2     congestion: the ECN codepoint with which the packet leaves
//	1     6     queue of the egress port
//	1     20    time of arrival, seconds: the low 20 bits of Unix time
//	2     16    egress port, N of EthernetN; 65535 if none
//	2     16    ingress port, N of EthernetN; 65535 if none
//	3     32    time of arrival, nanoseconds
//	4     32    residence time, nanoseconds, from arrival to departure; all ones if that long or longer, or unknown
//	5     32    bytes in the queue when the packet arrived there
//	6     16    flags of a tail-stamp record: bit 0 no egress time, bit 1 clock not synchronised,
//	            bit 2 clock set while the packet was in the switch, so the residence time is unknown
//	6     16    zero
//	7     32    zero
//
// What belongs here: the bytes. What does not: the choice of packets that get IFA, which the chip makes.
package ifa
