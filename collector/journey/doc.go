// Package journey joins the records that several switches made of a packet into its path through the network: where it
// entered, the tables, ports and times on its path, and how it ended.
//
// Records are joined by fields that no switch rewrites (see [KeyOf]), by the wires between switches, and by time.
// Ambiguous steps are shown with all candidates, and never guessed.
//
// What belongs here: the join. What does not: reading captures and plans (package collector), and topologies, which the
// callers read.
package journey
