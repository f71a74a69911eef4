// Package recordplan finds table record plans: it reads programs as graphs, evaluates sets of tables by
// the entropy of what they record, and finds the best set under the constraints of a switch, after the
// paper that package record names.
//
// What belongs here: entropy, search, constraints, decoding of records,
// and the value of a plan. What does not: readers of programs (p4graph), packets, chips, databases.
package recordplan
