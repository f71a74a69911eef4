// Package tamorch is what the orchs of TAM features share: a [Feature] is one value, and beside
// it a feature needs only its own logic.
//
// # Sessions
//
// A session is a row of the feature's table: in the ASIC while the row can be read, the feature is
// active, the switch can do it, and the feature's [Logic] wants it, as a rule because its flow
// group is there. Whatever changes marks sessions, and [Feature.Settle] brings the marked ones to
// where they belong, in passes: first those go that must, then those come that can. So a session
// that leaves makes room for others in the same settling.
//
// A session for which there was no room is looked at again when another leaves, or when its rule or
// another comes, goes or changes. One that could not be taken out of the ASIC is tried again every
// second ([TryAgain]): it counts and takes room where nobody wants it, and nothing tells when the
// ASIC would let it go. What SAI refused otherwise is not tried again before its row
// or what it depends on changes.
//
// What became of a session is told in STATE_DB: active, pending and on what, or failed and why. The
// feature is short of resources while the switch has no room for some.
//
// # What is asked of the chip, and what is told of it
//
// What SAI has no object for is an [Object] of GENERIC_PROGRAMMABLE where it is configuration, and
// is read through [Windows]. [Rows] of COUNTERS_DB are written as differences.
//
// What may enter: what two features need, and the same way. What one feature measures stays with
// it.
package tamorch
