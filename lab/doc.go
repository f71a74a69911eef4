// Package lab runs experiments: whole switches, hosts, links and traffic in one simulated time. A [Topology] lists the
// parts and the events, in Go or in YAML. [New] builds it, [Lab.Run] advances time, and [Lab.Result] returns and checks
// the measurements.
//
// # Time
//
// Time is a whole number of picoseconds. Each chip counts cycles of its own clock. Cycle c of a chip begins at base +
// floor(c * 10^12 / ClockHz). base is 0, or the time at which its syncd was restarted. A chip sees an arrival at time t
// in the first cycle that begins at t or later. Both conversions are 128-bit integer divisions, so nothing drifts. A
// frame's time on a link is that of its start-of-frame delimiter. A chip stamps the cycle in which its clock sees it.
// The wait for that cycle, less than one cycle, counts as time in the chip. Hosts are exact to the picosecond.
//
// # Cores
//
// One core at a time advances a switch with its hosts, in windows no longer than the shortest link between switches;
// see [Lab.Run]. The results are the same bytes for any number of workers.
//
// # Chance
//
// All random numbers come from integer generators. Each use has its own, seeded by the run's seed and the name of the
// use.
//
// # Rooms
//
// The files topology, document, decode and validate hold the topology and its YAML. The files lab, wiring, run and
// events hold the simulation, and node, host, link and traffic its parts. The files result, check, sample and output
// hold the results. Through study and tap, packages above observe a run, or run something else. This package holds the
// code that drives switches from outside. Code that depends on a switch's internals belongs in a [Study].
package lab
