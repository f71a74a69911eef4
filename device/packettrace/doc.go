// Package packettrace says what would become of a packet, in the operator's words: it makes the frame of what was asked
// for, has the chip's fork take it, and names what was found there as the databases do. A [Desk] answers requests in
// syncd; who asks goes by Redis, [tamtam/swss/schema.PacketTraceChannel].
//
// What belongs here: words and frames. What becomes of a packet is the chip's to say, and not known twice.
package packettrace
