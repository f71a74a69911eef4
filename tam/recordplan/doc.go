// Package recordplan finds table record plans: it reads programs as graphs, weighs
// sets of tables by the entropy of what they record, and finds the set that says most
// under the constraints of a switch, after the paper that package record names.
//
// What may enter: readers of programs, probabilities, entropy, search, constraints,
// and what a plan is worth. What may not: packets, chips, databases.
package recordplan
