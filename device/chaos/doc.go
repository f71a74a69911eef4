// Package chaos has tests of switches whose daemons run concurrently, in goroutines, processes or containers. They
// show what happens when daemons, Redis, the network and the chip fail, and when unknown clients interfere.
//
// What belongs here: tests with live daemons, which wait more than they compute. Tests that do not depend on
// concurrency use a switch in simulated time: they are in device and its other packages.
package chaos
