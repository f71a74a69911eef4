// Package stream is the log under the collector: messages are appended to topics, read in order, acknowledged, and
// shared out among those who work together. Joins, the page and sweeps stand on it and know no more of where messages
// are kept. Memory keeps them inside the process; fleet/jetstream keeps them on disk, on one node or on several.
//
// What belongs here: the interface, what holds for every implementation (in streamtest), and the implementation inside
// a process. Not: what messages say.
package stream
