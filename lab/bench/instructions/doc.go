// Instructions counts the processor instructions that the simulated chip executes for a packet of each load, and
// compares them with a table, counts.txt. Unlike times, these counts hardly change from run to run, even on a busy
// machine.
//
//	go run ./lab/bench/instructions [-update | -functions LOAD]
//
// It builds itself as a release is built, with the profile of the chip, and runs each load under Debian's valgrind
// (callgrind). Only the packets are counted, not the configuration of the chip. A count that is more than one percent
// above the table is an error. A count more than one percent below it is an error too: the table must follow
// (-update).
//
// With -functions it prints which functions execute the instructions of one load.
//
// The counts depend on the version of Go and on the processor, which the table names. For another version or
// processor, the tree of the last commit that changed the table is built and counted beside this one.
package main
