// Package jetstream keeps the collector's log in NATS JetStream: in a server inside this process, which listens nowhere
// unless it is told to, or in a cluster elsewhere.
//
// A topic is a stream, tamtam-TOPIC, of one subject; its sequences are the stream's. A stream that is full takes no
// more (DiscardNew), so that nothing leaves unread but by age. What is acknowledged is purged. A topic that is shared
// out has one durable consumer, from which all pull. Whatever may pass (a server that is away, an election) is tried
// again until the caller's context ends, under the same id, so that what was kept without our learning of it is kept
// once.
//
// A server that cannot write to its folder any more is started again until it can: see heal.go.
//
// What belongs here: stream.Log in JetStream's words, and the server. Not: what messages say, and flags.
package jetstream
