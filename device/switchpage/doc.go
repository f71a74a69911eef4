// Package switchpage serves the page of one switch to a browser. It shows the switch's state, read from its databases
// on request, to the same users as gNMI and RESTCONF.
//
// The page lists data that a single switch cannot have. The paths of flows and packets, and losses between two
// switches, require a collector.
//
// What belongs here: the conversion of database rows for package web, and access control. Presentation does not.
package switchpage
