// Package tailstamp encodes and decodes the records that switches append to the tail of a frame: the id of the switch,
// and when the frame arrived and left.
//
// A record is between the frame's payload and padding and the FCS. Each hop appends one, so the newest is last. IP and
// transport lengths and checksums do not cover records: a receiver that uses them never sees any.
//
// The default record is 32 bytes, big-endian:
//
//	bytes  field
//	0-3    switch id
//	4-13   ingress time: 48-bit seconds, 32-bit nanoseconds (IEEE 1588)
//	14-23  egress time, likewise; all zero if it was not taken
//	24-25  ingress port: N of EthernetN; 65535 none
//	26-27  egress port, likewise; 65535 CPU
//	28-29  reserved, zero
//	30     0x5A
//	31     version 1 in the high nibble, flags in the low:
//	       bit 0 no egress time, bit 1 clock not synchronised, bit 2 the clock
//	       was set between the two times, so that they cannot be compared
//
// Captures may have undeclared bytes after a frame (an FCS, the trailer of a tap). A switch that receives such a frame
// puts its stamp after these. [ReadTail] therefore searches for records that are not in their place, and flags them.
//
// This package implements record formats, and the search for records in a frame. The chip decides when and why a frame
// is stamped.
package tailstamp
