// Package sflow is version 5 of sFlow as it goes over UDP: flow samples, counter samples and notifications of dropped
// packets to datagrams, and back.
//
// What a datagram has is one value, [Datagram]; its Append makes the bytes. A [Packer] puts samples together into
// datagrams of a bounded size, and numbers them. [Decode] trusts nothing: what is not as the specification has it is an
// error that names the byte and the field, and what it does not know is kept as [Other], by its number and length.
//
// A counter that nobody counts is [Unknown32] or [Unknown64], as the specification has it, never zero.
//
// The specification is sflow_version_5.txt of sflow.org, with sflow_drops.txt (notifications of dropped packets) and
// the registry of structures.
//
// What belongs here: the protocol and the registry of reasons. What does not: sockets, and what is sampled.
package sflow
