// Package export sends collected data to other collectors as IPFIX: one record per hop of a stamped frame, and one per
// result of alternate marking. It also prints IPFIX from any source.
//
// Uncertainty is exported with the values, as flags, a status and reasons. Unknown values are omitted.
package export
