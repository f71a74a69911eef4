// Command outputs writes the sha256 of what tamtam puts out, to be compared before and after a
// change that may not change it:
//
//	make outputs > before.txt
//	make outputs > after.txt; diff before.txt after.txt
//
// One line for each output, the hash and what it is: what the demo prints and every file that it
// writes; the same of every experiment of the lab, in its short form if it has one (-long: whole); and
// what both engines did in some cases of the differential test. An output is what tamtam's
// commands give, so that it does not matter where the code that makes it has gone.
//
// All of it is the same in every run, on any number of cores (-workers), but what the
// wall clock measured. That stands in blur.go by name, with the reason, and only that is left
// out. A name that an output no longer has is an error, so that nothing is left out by mistake. An
// output that is nothing but wall-clock time, a plot of it, has "-" for its hash.
//
// flymon-table3 measures on a redis-server too if one is installed: compare on one machine.
package main
