// Package device assembles one switch from its parts: Redis, the managers, the
// orchs, syncd, the chip and, when live, the northbound. It runs all daemons in one
// process on wall time ([Up]), or steps them in simulated time ([Sim]).
//
// What belongs here: wiring, the order in which things start and step, and what a
// simulation reports. How one daemon is made and runs belongs to package daemons,
// what it does to its own package.
package device
