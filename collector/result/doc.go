// Package result has what the collector says, as rows: what joins give, the store keeps and the page shows.
//
// Rows come in batches. A batch is named by the messages that went into it, so that one which is made twice, by a
// worker that was thought dead or one that was restarted, is kept once.
//
// What belongs here: rows, and what must hold of them; what a store is, and the store inside a process. Not: where
// rows come from, how they are shown.
package result
