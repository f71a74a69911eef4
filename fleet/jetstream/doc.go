// Package jetstream keeps the collector's log in NATS JetStream: in a server inside this process, which by default
// listens nowhere, or in a cluster elsewhere.
//
// A topic is a stream, tamtam-TOPIC, of one subject; its sequences are the stream's. A full stream accepts no more
// messages (DiscardNew), so that unread messages are lost only by age. Acknowledged messages are purged. A topic with
// several workers has one durable consumer, from which all of them pull. Temporary errors, such as an unreachable
// server or an election, are retried until the caller's context ends. A retry has the same id, so that a message is
// kept once even if its acknowledgement was lost.
//
// A server that cannot write to its folder any more is restarted until it can: see heal.go.
//
// What belongs here: the implementation of stream.Log with JetStream, and the server. Not: the contents of messages,
// and flags.
package jetstream
