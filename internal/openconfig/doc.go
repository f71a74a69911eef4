// Openconfig holds the modules of yang/, and what the switch serves, to the modules that OpenConfig publishes.
//
//	go run ./internal/openconfig -public DIR [-update] [-tree FILE]
//
// DIR is a checkout of openconfig/public. Of each module of yang/ that is published there, the name, namespace,
// revision and version must be those of DIR, and every node one of the published module: of the same kind, keys,
// type, default, and mandatory where that is. Where ours differ on purpose (absent, read-only, without a default),
// the module tamtam-deviations says so: it must be what follows from the comparison, and -update writes it.
//
// FILE is all that a switch serves, as JSON_IETF. yanglint validates it against the published modules, with
// tamtam-deviations and the tamtam modules: what it finds is an error.
//
// make openconfig does both. The gate has no checkout; there the same JSON is validated against yang/ itself
// (TestServedTreeIsValid of device).
package main
