// Package sflow encodes and decodes version 5 of sFlow over UDP: flow samples, counter samples and notifications of
// dropped packets.
//
// A [Datagram] is the content of a datagram; its Append encodes it. A [Packer] packs samples into datagrams of a
// bounded size, and numbers them. [Decode] does not trust its input: a violation of the specification is an error that
// names the byte and the field. Unknown structures are kept as [Other], with number and length.
//
// The value of a counter that is not counted is [Unknown32] or [Unknown64], as the specification requires, never zero.
//
// The specification is sflow_version_5.txt of sflow.org, with sflow_drops.txt (notifications of dropped packets) and
// the registry of structures.
//
// What belongs here: the protocol and the registry of reasons. What does not: sockets, and the choice of samples.
package sflow
