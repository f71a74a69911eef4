// Package extension has the objects for which SAI has no type: they are GENERIC_PROGRAMMABLE objects, whose name says
// what they are, and whose ENTRY is JSON. Some configure the chip, such as profiles of alternate marking, sketches of
// FlyMon, plans of table recording and MSS clamps; others are windows, which read its registers.
//
// An [Area] makes them. What belongs here: names, ENTRY, and what becomes of it in the chip's tables. What does not:
// objects, attributes and calls of SAI, which package objects has; of it an area knows only the [ACLs].
package extension
