// Package join turns the messages of sources into rows. It reads the partitions of the collector's log in order.
//
// A Partition is a state machine: its state depends only on the messages that it has consumed, except for silent
// sources, which it detects by the wall clock. Windows of event time are open until the watermark, the minimum of the
// watermarks of the sources, is past them. Then their rows go into a batch, which is named by the messages that it
// covers; the store keeps each batch once. A Worker that is killed leaves only the store and the log. Its successor
// reads the messages of the open windows again, and makes the rows that the first would have made.
//
// What belongs here: partitions, the joiners in them, and the loop of a worker. Not: the origin of messages, and the
// destination of rows.
package join
