// Package ipfix is the IP Flow Information Export protocol of RFC 7011, as records go over UDP: messages are made of
// records, and read back.
//
// An [Encoder] is given records of a few kinds, and gives messages that fit a bound, with templates in front of what
// they describe and again by time and count, and with the sequence number that tells a collector what it has not got.
// Both are stepped: the time is an argument. A field of a record that is not known is not on the wire: the template
// is one without it. So nothing unknown is read as zero.
//
// A [Decoder] trusts nothing: what is not as RFC 7011 has it is an error that names the byte and the field.
//
// What belongs here: the protocol, the standard elements that tamtam has a use for, and tamtam's own. What does not:
// sockets, and what a record says of a measurement.
package ipfix
