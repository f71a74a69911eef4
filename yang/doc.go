// Package yang holds the YANG modules that the northbound serves. Its folder tamyang holds the Go code that ygot
// generates from them.
//
// What belongs here: only modules. Package mgmt/models maps nodes to the databases, with one table per module.
//
// A module with a name of OpenConfig, IANA or the IETF is the published one, of the revision and version that it
// states, without nodes that the switch does not serve. Names, types, identities, namespaces and paths are theirs, and
// every description is ours. Further nodes of the switch are in tamtam-* modules, which may augment theirs. The name
// openconfig-tam is SONiC's, and no such module is published. The module tamtam-deviations lists nodes of the published
// modules that the switch lacks, and those that no Set can write. It applies only to the published modules, and no code
// is generated from it.
//
// The folder sonic has no served module. Its module sonic-tamtam describes the tables of CONFIG_DB for telemetry to
// SONiC's own tools, which read it beside SONiC's modules.
//
// After a change of a module, run go generate ./yang. With a checkout of openconfig/public, run also
// make openconfig UPDATE=1 OPENCONFIG_DIR=..., which compares the modules and writes tamtam-deviations.
package yang

//go:generate sh -c "go run ../internal/tables yang > tamtam-losses.yang"
//go:generate go run ../internal/tables regions .
//go:generate sh -c "go run ../internal/tables sonic > sonic/sonic-tamtam.yang"
//go:generate ./generate.sh
