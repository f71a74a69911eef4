// Package hft implements the stream of SONiC's high-frequency telemetry (HFT): records of IPFIX that hold statistics of
// many objects at one instant.
//
// A [Stream] encodes the records of one group. Each record has a time and a value for each [Column]. There are two
// formats:
//
//   - [SONiC]: what SONiC's countersyncd decodes. The time is in nanoseconds since 1970, and the template has for each
//     statistic the element 0x8000 | label of the enterprise object type << 16 | statistic.
//   - [Conforming]: RFC 7011. The time is in NTP's format, the elements belong to one enterprise and are described
//     (RFC 5610), and options records name the object of each field.
//
// # Reconfiguration
//
// [Stream.Prepare] makes templates for other columns while a stream runs, and [Stream.Switch] begins to use them after
// the records before. The templates have new ids. A label belongs to one object as long as the stream exists
// ([Labels]). So a reader whose names are newer or older than a record never takes one object for another.
//
// A [Decoder] decodes both formats, which differ by the enterprise number, and does not trust its input. It follows
// each stream over changes of templates, and reports each time at which a gap differs from the interval.
//
// What belongs here: formats, without sockets. Object types and statistics are numbers; their names are arguments.
package hft
