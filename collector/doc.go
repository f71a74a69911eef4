// Package collector evaluates the records that switches put into packets and reports. The results describe flows:
// latency per hop, delay between hops, and paths. Package marks computes loss and delay of marked packets.
//
// It reads frames and reports that left a switch, and does not depend on the switch's internals: no database, no SAI.
// Everything is computed from integers. So equal input gives equal output, and a percentile is a value that was
// measured. Memory grows with the number of flows, paths and distinct latencies, not of packets, and is limited. Data
// beyond the limit are counted and reported.
package collector
