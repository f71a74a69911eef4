// Package recordplan finds table record plans: it reads programs as graphs, evaluates sets of tables by
// the entropy of what they record, and finds the best set under the constraints of a switch, after the
// paper that package record names.
//
// What belongs here: readers of programs, probabilities, entropy, search, constraints,
// and the value of a plan. What does not: packets, chips, databases.
package recordplan
