// Package join makes rows of what sources say: the partitions of the collector's log, read in order.
//
// A Partition is a state machine: what it is depends on the messages that it has taken and on nothing else, but for
// sources that are silent, which the wall clock says. Windows of event time are open until the watermark, the least of
// what the sources have promised, is past them. Then their rows go into a batch that is named by the messages that went
// in; the store keeps each once. A Worker that is killed leaves nothing but the store and the log, and whoever follows
// reads the messages of the windows that were open once more: its rows are those that it would have made.
//
// What belongs here: partitions, what is joined in them, and the loop of a worker. Not: where messages come from, and
// where rows go.
package join
