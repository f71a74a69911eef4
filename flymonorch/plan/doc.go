// Package plan computes the layout of a sketch task on a chip's CMU groups (FlyMon, section 3.4). It compiles key,
// attribute and algorithm to units. A greedy placement prefers groups that already have the compressed keys, and
// buckets are allocated as buddies. It also computes the pipeline resources of CMU groups (table 2, figures 8, 11, 13
// and 16).
//
// A [Pool] consists only of the layouts of its tasks, and its usage follows from them, so nothing can leak. The same
// sequence of calls gives the same layouts.
//
// What belongs here: decisions about the place of tasks. What does not: I/O, SAI, registers.
package plan
