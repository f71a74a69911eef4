// Package answer turns the registers of a FlyMon task into answers: of a flow, of all
// flows that are asked for, of the task as a whole. It knows what a layout's units are to
// their algorithm and hands their buckets to the estimators of sketch.
//
// Registers come from a chip, and may be anything: impossible ones are an error, and ones that are
// too full are reported as such.
//
// What belongs here: what joins layouts, registers and estimators. What does not: I/O, where
// registers come from.
package answer
