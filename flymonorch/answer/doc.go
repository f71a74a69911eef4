// Package answer derives answers from the registers of a FlyMon task: for a flow, for all requested flows, and for the
// task as a whole. It maps a layout's units to their roles in the algorithm, and passes their buckets to the estimators
// of package sketch.
//
// Registers come from a chip, and may contain anything. Impossible ones are an error, and ones that are too full are
// reported as saturated.
//
// What belongs here: the connection of layouts, registers and estimators. What does not: I/O, the origin of registers.
package answer
