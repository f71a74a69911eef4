// Package plan turns a sketch task into its layout on a chip's CMU groups (FlyMon,
// section 3.4): a compiler from key, attribute and algorithm to units, a greedy
// placement that prefers groups which have the compressed keys already, and buddy
// allocation of buckets. It also accounts for what CMU groups take of a pipeline
// (table 2, figures 8, 11, 13 and 16).
//
// A [Pool] is nothing but the layouts of its tasks: what is in use follows from them, so
// nothing can leak. The same sequence of calls gives the same layouts.
//
// What belongs here: what decides where a task goes. What may not: I/O, SAI, registers.
package plan
