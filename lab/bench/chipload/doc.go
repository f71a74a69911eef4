// Package chipload has the loads of the benchmarks of the simulated chip: each is a chip that is told by
// SAI what it does, and packets that it gets as fast as it is asked to ([Load], [Feed]). [Parts] are the steps of a
// packet's way.
//
// What belongs here: what is measured. What measures has clocks, and belongs to those who use it: package
// bench, for "tamtam bench asic".
package chipload
