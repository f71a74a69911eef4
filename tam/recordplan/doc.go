// Package recordplan finds plans for table recording, after the paper that package record names. It evaluates sets of
// tables by the entropy of their records, and finds the best set under the constraints of a switch.
//
// What belongs here: entropy, search, constraints, decoding of records, and the value of a plan. What does not: readers
// of programs (p4graph), packets, chips, databases.
package recordplan
