// Package asicview compares views of the ASIC: a [Graph] has the objects of a view and their references, [Match] finds
// which objects of two views are the same, and a [Transition] brings the ASIC from one view to the other.
package asicview
