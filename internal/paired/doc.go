// Command paired measures this tree's simulated chip beside another build of it: a commit before (-rev), whose
// tree it unpacks in a temporary folder, with the loads of lab/bench/chipload from here; or this tree without a
// profile for the compiler, and with it (-pgo). It prints what a packet costs in both, for every load and for
// each part of its way, and how many times as fast the second is. `make bench-before` and `make bench-pgo` run it.
//
// Both are compiled first. Then two processes, each on one core, have the same chip and send the same packets
// in turn, a few hundredths of a second each, many times. A figure is processor time (getrusage), the least of
// all turns: what else runs on the machine only adds to it. Times are the quotient of the least, and the
// median of the quotients of the turns, which are close where the machine was quiet.
//
// A part of the way is the difference of two loads (chipload.Parts): what a packet costs more that gets one
// step further, or has one thing more done to it. It is no stopwatch around a station: where stations overlap
// in the processor, or packets go in batches, the difference is what one would save without it.
package main
