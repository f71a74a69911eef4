// Package local is the fleet's collector inside one process: a log and a store in memory, sources that read interfaces,
// sockets and captures, and a worker for each partition.
//
// What belongs here: how the parts are put together where nothing is installed. Not: a log on disk or on other nodes,
// which tamtam-collectd has, and what the parts do.
package local
