// Package cmu is the CMU groups of a chip (FlyMon, section 3): registers, and the
// tasks that count in them. The package comment of flymon says what a task does for
// a packet; this is the fast form of it.
//
// A task is applied or removed whole, between two packets. The packet path allocates
// nothing, takes no lock and touches no map: filters are a tuple space of small hash
// tables, compressed keys are computed once per packet and hash unit, and maps of
// parameters are tables where they are small.
//
// What may enter: what a CMU group has. What may not: SAI, ports, queues, the clock of
// the chip; the caller gives each packet its time of day.
package cmu
