// Package flex polls counters. FLEX_COUNTER_DB defines the counters and their intervals, and COUNTERS_DB receives the
// values. The package also records the time since which each object counts.
package flex
