// Package stream is the log under the collector: messages are appended to topics, read in order, acknowledged, and
// shared out among workers. Joins, the page and sweeps depend only on this interface, not on where messages are kept.
// Memory keeps them inside the process; fleet/jetstream keeps them on disk, on one node or on several.
//
// What belongs here: the interface, the tests for every implementation (in streamtest), and the implementation inside a
// process. Not: the contents of messages.
package stream
