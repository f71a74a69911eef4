// Package event encodes the events of sources as batches: the messages of the collector's log.
//
// A batch is of one source and one kind, and the source numbers those of each partition from 1 on without gaps. So
// the reader of a partition detects missing and repeated batches. A batch also carries a watermark (promise): the
// source sends no event from before that time any more. A checksum at its end detects damage.
//
// All numbers are big-endian, or the varints of encoding/binary:
//
//	0   "TE", version 1, kind        4 bytes
//	4   number                       8
//	12  promise                      8, nanoseconds since 1970
//	20  times of events, from        8; without events: times from which some may be missing
//	28  to                           8, 0 if there is none
//	36  the latest time so far       8
//	44  events                       4
//	48  length of the source's name  1
//	49  the name
//	    events
//	    CRC-32C of all before        4
//
// What belongs here: the encoding and decoding of batches. Not: the origin and the use of events.
package event
