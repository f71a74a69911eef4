// Package local is the fleet's collector inside one process: a log and a store in memory, a reader of captures, and a
// worker for each partition. `tamtam lab run --serve` and the demo use it to show a finished lab.
//
// What belongs here: the assembly of the parts without an installation. Not: a log on disk or on other nodes and live
// sources, which tamtam-collectd has, and the work of the parts.
package local
