// Package dropreport is the language of a chip's reports of drops: what stands in a record, in which order, and by
// which names its counters are read.
//
// What belongs here: fields, numbers and words that the chip, its reference and those who read reports share. What does
// not: messages and packets; who makes them writes them by these tables.
package dropreport
