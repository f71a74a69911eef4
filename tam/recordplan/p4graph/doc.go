// Package p4graph reads programs as graphs of tables and conditions. It also computes what a recording plan needs: the
// dependencies of tables, the minimum number of stages, and the probability of each path.
//
// What belongs here: [Read], for the BMv2 JSON of p4c and a plain JSON form, and [ReadProbabilities] and [ReadPaths],
// for measured packets. What does not: the choice of tables to record.
package p4graph
