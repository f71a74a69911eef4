// Package conform is what a client of gNMI may expect, point by point, and what this server makes of each. What belongs
// here: the list and the table of docs/gnmi.md that is made of it. The checks are tests of package mgmt, one for each
// point (mgmt/conform_*_test.go); a point without a check, and a check without a point, fail them.
//
// Sections are those of gnmi-specification.md of openconfig/reference, at 0.6.0; where it says nothing, the newer
// gnmi.proto (0.10.0) does, or the specification of the extension, or there is a choice, and it is written down.
package conform
