// Package rows converts a finished lab run to what the page shows: the topology with the counters of its links, the
// state of each switch's configuration, and rows.
//
// The rows are those that the collector derives from the captures of the lab's hosts after the run: from tail-stamps,
// copies of records and drop reports. Rows of alternate marking come from the study's join, and rows of sketches from
// the switches' results. The lab adds the exact values, which no collector has.
//
// This package converts a lab to rows. The display of rows belongs elsewhere.
package rows
