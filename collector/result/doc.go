// Package result defines the collector's results as rows, which joins produce, stores keep and the page shows.
//
// Rows come in batches. A batch is identified by the messages behind it. So a batch that is made twice, by a worker
// that was presumed dead or was restarted, is stored once.
//
// What belongs here: rows and their invariants, the definition of a store, and the in-process store. What does not: the
// origin and the display of rows.
package result
