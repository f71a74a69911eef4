// Package tailstamp encodes and decodes the records that switches append to the
// tail of a frame: who the switch is, when the frame arrived and when it left.
//
// A record stands after the frame's payload and padding and before the FCS;
// each hop appends one, so the newest is last. IP and transport lengths and
// checksums do not cover records: a receiver that goes by them never sees any.
//
// The default record is 32 bytes, big-endian:
//
//	bytes  field
//	0-3    switch id
//	4-13   ingress time: 48-bit seconds, 32-bit nanoseconds (IEEE 1588)
//	14-23  egress time, likewise; all zero: not taken
//	24-25  ingress port: N of EthernetN; 65535 none
//	26-27  egress port, likewise; 65535 CPU
//	28-29  reserved, zero
//	30     0x5A
//	31     version 1 in the high nibble, flags in the low:
//	       bit 0 no egress time, bit 1 clock not synchronised, bit 2 the clock
//	       was set between the two times, so that they cannot be compared
//
// Captures may have undeclared bytes behind a frame (an FCS, the trailer of a tap), and a switch that receives such a
// frame stamps it behind these. [ReadTail] therefore searches for records that are not at their place, and flags them.
//
// What belongs here: record formats and what it takes to find records in a frame.
// What does not: when and why a frame is stamped (that is the chip's matter).
package tailstamp
