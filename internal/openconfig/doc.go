// Openconfig compares the modules of yang/, and the data that the switch serves, with the modules that OpenConfig
// publishes.
//
//	go run ./internal/openconfig -public DIR [-update] [-tree FILE]
//
// DIR is a checkout of openconfig/public. A module of yang/ that is published there must have the name, namespace,
// revision and version of DIR. Every node must be one of the published module, with the same kind, keys, type and
// default. It must be mandatory if the published node is. The module tamtam-deviations lists the intended differences
// (absent, read-only, without a default, no reference). A node is read-only if it is so in yang/, or if no Set can
// write it. The module must equal the result of the comparison, and -update writes it.
//
// FILE holds all data that a switch serves, as JSON_IETF. yanglint validates it against the published modules, with
// tamtam-deviations and the tamtam modules. All its findings are errors.
//
// make openconfig does both. The gate has no checkout; there the same JSON is validated against yang/ itself
// (TestServedTreeIsValid of device).
//
//	go run ./internal/openconfig paths [FOLDER] [-tree FILE]
//
// counts the paths that READMEs of featureprofiles name, by family, and writes docs/reference/openconfig-paths.md.
// FOLDER is a checkout of openconfig/featureprofiles, of which paths.txt is written. Without FOLDER, paths.txt stays.
// subjects.txt states by hand of which paths the switch has the subject. With FILE, paths of state with data are
// counted, too.
package main
