// Package chaos has tests of switches whose daemons run on their own, in goroutines, processes or containers: what
// becomes of them when daemons, Redis, the network and the chip fail, and when strangers take part.
//
// What belongs here: tests with live daemons, which wait more than they compute. A switch in simulated time shows all
// that does not depend on who runs beside whom: tests of that are in device and its other packages.
package chaos
