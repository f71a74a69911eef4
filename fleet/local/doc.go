// Package local is the fleet's collector inside one process: a log and a store in memory, a reader of captures, and a
// worker for each partition. A lab that has run is shown by it, in `tamtam lab run --serve` and the demo.
//
// What belongs here: how the parts are put together where nothing is installed. Not: a log on disk or on other nodes
// and live sources, which tamtam-collectd has, and what the parts do.
package local
