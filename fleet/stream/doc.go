// Package stream defines the log of the collector: messages are appended to topics, read in order, acknowledged, and
// distributed among workers. Joins, the page and sweeps use only this interface, so any implementation serves them.
// Memory keeps them inside the process; fleet/jetstream keeps them on disk, on one node or on several.
//
// What belongs here: the interface, the tests for every implementation (in streamtest), and the implementation inside a
// process. Not: the contents of messages.
package stream
