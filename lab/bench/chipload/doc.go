// Package chipload holds the loads of the benchmarks of the simulated chip. Each is a chip that is configured through
// SAI, with packets that arrive as fast as the load requires ([Load], [Feed]). [Parts] are the steps of a packet's
// path.
//
// This package holds only the measured code. The clocks belong to its users, such as package bench for "tamtam bench
// asic".
package chipload
