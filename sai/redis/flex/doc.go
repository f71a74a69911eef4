// Package flex polls counters: FLEX_COUNTER_DB has which, and how often; COUNTERS_DB gets their values. It also notes
// since when an object counts.
package flex
