// Package event has what sources tell the collector, as batches: the messages of its log.
//
// A batch is of one source and one kind, and the source numbers those of each partition from 1 on without gaps. So
// whoever reads a partition sees what is missing and what comes twice. It also carries a promise: the source sends no
// event from before that time any more. A checksum at its end says that it is as it was written.
//
// All numbers are big-endian, or the varints of encoding/binary:
//
//	0   "TE", version 1, kind        4 bytes
//	4   number                       8
//	12  promise                      8, nanoseconds since 1970
//	20  times of events, from        8; without events: those from which some may be missing
//	28  to                           8, 0 if there is none
//	36  the latest time so far       8
//	44  events                       4
//	48  length of the source's name  1
//	49  the name
//	    events
//	    CRC-32C of all before        4
//
// What belongs here: batches, written and read. Not: what events come from, or what becomes of them.
package event
