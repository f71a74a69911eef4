// Package p4graph reads programs as graphs of tables and conditions, with what a recording plan needs of them: the
// dependencies of the tables, how many stages these take at least, and how probable each way through the graph is.
//
// [Read] takes what p4c writes for BMv2 and a plain JSON form. [ReadProbabilities] and [ReadPaths] take what
// was measured of packets. What does not belong here: which tables a plan records.
package p4graph
