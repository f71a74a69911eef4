// Package answer turns the registers of a FlyMon task into answers: of a flow, of all
// flows that are asked for, of the task as a whole. It knows what a layout's units are to
// their algorithm and hands their buckets to the estimators of sketch.
//
// Registers come from a chip, and may be anything: what cannot be is an error, and what is
// too full is said to be.
//
// What may enter: what joins layouts, registers and estimators. What may not: I/O, where
// registers come from.
package answer
