// Package flex polls counters. FLEX_COUNTER_DB defines which and how often; COUNTERS_DB receives their values. The
// package also records since when an object counts.
package flex
