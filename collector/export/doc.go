// Package export gives what was collected to other collectors, as IPFIX: each hop of each stamped frame is a record,
// and each result of alternate marking. And it shows the IPFIX that comes from anywhere.
//
// What is doubtful of a value goes with it, as flags, a status and reasons; what is not known is not in the record.
package export
