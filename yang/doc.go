// Package yang holds the YANG modules that the northbound serves, and in
// tamyang the Go that ygot generates from them. Only modules enter here. What a
// node is in the databases is said in package mgmt, one table per module.
//
// A module with a name of OpenConfig's, IANA's or the IETF's is the published
// one, of the revision and version that it names, without what the switch does
// not serve: names, types, identities, namespaces and paths are theirs, every
// description is ours. What the switch has beyond them stands in tamtam-*
// modules, which may augment theirs. (openconfig-tam is SONiC's name; nobody
// publishes it.) The module tamtam-deviations says what the switch lacks of the
// published modules; it fits those alone, and nothing is generated from it.
//
// After a change of a module run go generate ./yang, and where there is a
// checkout of openconfig/public, make openconfig UPDATE=1 OPENCONFIG_DIR=...,
// which compares the modules and writes tamtam-deviations.
package yang

//go:generate sh -c "go run ../internal/tables yang > tamtam-losses.yang"
//go:generate go run ../internal/tables regions .
//go:generate ./generate.sh
