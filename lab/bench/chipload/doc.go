// Package chipload has the loads of the benchmarks of the simulated chip: each is a chip that is told by
// SAI what it does, and packets that it gets as fast as it is asked to ([Load], [Feed]). [Chip] and [Parts]
// name those that are compared over time.
//
// What belongs here: what is measured. What measures has clocks, and belongs to those who use it: package
// bench, for "tamtam bench asic", and internal/paired, which takes this package to an older tree and compiles
// it there. So it uses little of the tree: SAI, the chip and the languages of its extensions.
package chipload
