// Package rows sums up a store's rows of a time range for the collector's page.
//
// A [Snapshot] has the paths, drops, losses, packets and sketches of the range, up to bounds, and counts what it leaves
// out. Slots, loads and totals are the same over time. A row of a longer interval than a slot is a bound, not a count.
// The tables declare the fields of rows for filters.
//
// What belongs here: what rows are known to say, as values with bounds and flags. The form of these values on a page,
// and requests, belong in mgmt/web.
package rows
