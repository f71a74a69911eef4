// Package ingest makes events of what switches send, and appends them to the collector's log.
//
// A Sender is one source of the log: it spreads its events over the partitions of their kind, in batches that it
// numbers, and appends each until the log has kept it. A log that has no room makes it wait, and with it whoever reads
// for it: what is lost meanwhile is known by the numbers of what came (IPFIX, sFlow), or by the kernel (an interface, a
// socket), and the partitions are told that something is missing. A Tap finds in frames what there is to tell:
// tail-stamps, also in copies that came as ERSPAN, copies of records in UDP and ERSPAN, and reports of drops in IPFIX
// and sFlow. Live sources tell from when on they hear, by their own clock or by those of the switches. Copies in ERSPAN
// whose sequence numbers have a gap are told as lost.
//
// What belongs here: frames and datagrams to events, and their way into the log. Not: what is made of events.
package ingest
