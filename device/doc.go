// Package device assembles one switch from its parts: Redis, the managers, the
// orchs, syncd, the chip and, when live, the northbound. It starts each daemon
// alone ([NewManagers], [NewOrchagent], [NewSyncd]), all of them in one process
// on wall time ([Up]), or all of them in simulated time ([Sim]).
//
// What belongs here: wiring, and the order in which things start and step. What a
// daemon does belongs to its own package.
package device
