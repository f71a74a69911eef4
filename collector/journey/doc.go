// Package journey joins the records that several switches made of one packet into its way through the network: where it
// came in, by which tables, ports and times it went on, and how it ended.
//
// Records are joined by what no switch rewrites (see [KeyOf]), by the wires between switches, and by time. What
// cannot be told apart is shown with all candidates, and never guessed.
//
// What belongs here: the join. Not: reading captures and plans, which is the collector's, and topologies, which are
// read by whoever has them.
package journey
