// Package ipfix implements the IP Flow Information Export protocol of RFC 7011 over UDP. It encodes records into
// messages and decodes messages into records.
//
// An [Encoder] packs records of a small set of kinds into messages of a bounded size. It sends each template before the
// records that need it, and repeats templates by time and by message count. Sequence numbers let a collector detect
// lost records. The encoder has no clock: the time is an argument. An unknown field is not sent: the record uses a
// template without it. So nothing unknown is read as zero.
//
// A [Decoder] does not trust its input: a violation of RFC 7011 is an error that names the byte and the field.
//
// What belongs here: the protocol, the standard elements that tamtam uses, and tamtam's own. What does not: sockets,
// and the meaning of a record for a measurement.
package ipfix
