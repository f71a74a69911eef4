// Package collector turns what switches put into packets and reports into answers about flows:
// latency per hop, delay between hops, the path taken. Loss and delay of marked packets are computed in package marks.
//
// It reads frames and reports that have left a switch and knows nothing of the switch's
// inside: no database, no SAI. Everything is computed from integers, so that equal input
// gives equal output and a percentile is a value that was measured. Memory grows with
// the flows, paths and distinct latencies seen, not with the packets, and to a bound: what
// is beyond it is counted, and the report says so.
package collector
