// Package dropreport defines the format of a chip's drop reports: the fields of a record, their order, and the names of
// the counters.
//
// What belongs here: fields, numbers and words that the chip, its reference and the readers of reports share. What does
// not: messages and packets, which their writers encode by these tables.
package dropreport
