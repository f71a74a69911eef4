// Package feature is what the orchs of TAM features share: a [Feature] is one value, and beside
// it a feature needs only its own logic.
//
// # Sessions
//
// A session is a row of the feature's table. It is in the ASIC while the row can be parsed, the
// feature is active, the switch can do it, and the feature's [Logic] wants it, usually because its
// flow group exists. What is made of it in several steps is undone by them ([Feature.BringUp]).
// Every change marks sessions, and [Feature.Settle] brings the marked ones to where they belong, in
// passes: first those leave that must, then those enter that can. So a session that leaves makes room
// for others in the same Settle.
//
// A session for which there was no room is tried again when another leaves, or when any rule comes,
// goes or changes. One that could not be taken out of the ASIC is tried again every second
// ([TryAgain]): it counts and takes up room although nobody wants it, and nothing says when the
// ASIC would let it go. Anything else that SAI refused is tried again only when its row or what it
// depends on changes.
//
// STATE_DB says what became of a session: active, pending and on what, or failed and why. The
// feature is short of resources while the switch has no room for some session.
//
// # Reading and configuring the chip
//
// What SAI has no object for is an [Object] of GENERIC_PROGRAMMABLE where it is configuration, and
// is read through [Windows]. [Rows] of COUNTERS_DB are written as differences.
//
// What belongs here: what two features need, and in the same way. What a single feature measures
// stays with it.
package feature
