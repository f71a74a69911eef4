// Package asicview compares views of the ASIC. A [Graph] holds the objects of a view and their references. [Match]
// finds the objects that two views share. A [Transition] brings the ASIC from one view to the other.
package asicview
