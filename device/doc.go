// Package device assembles one switch from its parts: Redis, the managers, the orchs, syncd, the chip and, when live,
// the northbound. It runs all daemons in one process on wall time ([Up]), or steps them in simulated time ([Sim]).
//
// What belongs here: wiring, the order in which parts start and step, and the report of a simulation. Package daemons
// makes and runs each daemon. The work of a daemon belongs to the daemon's own package.
package device
