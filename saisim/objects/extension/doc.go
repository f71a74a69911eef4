// Package extension has the objects for which SAI has no type. They are GENERIC_PROGRAMMABLE objects, whose name
// selects their function and whose ENTRY is JSON. Some configure the chip, such as profiles of alternate marking,
// sketches of FlyMon, plans of table recording and MSS clamps. Others read its registers.
//
// An [Area] makes them. This package handles names, ENTRY, and the resulting rows of the chip's tables. It does not
// handle objects, attributes and calls of SAI, which package objects has. From that package, an area uses only the
// [ACLs].
package extension
