// Package objects keeps the SAI objects of a chip and maps them to rows of plain tables.
//
// A call of SAI is checked here, against the existing objects and against the features that the chip implements. It
// becomes one change of the tables, which the packet path compiles. Learned and counted values are read through the
// packet path's methods; this package does not access its internals.
//
// This package implements the SAI text on objects and their attributes. It does not handle packets or locks (the chip's
// lock is around all of it).
//
// # Areas
//
// A [Store] is a core, areas, and the calls of SAI, which are the same for all types of objects. The core is the state
// that all areas share: the objects by their names, their rows, and the change that a call makes. An area implements
// some object types, with one kind for each type, and keeps the state for them:
//
//	acls        tables, groups and their members, entries, counters, ranges   acl*.go
//	ports       ports, their queues and host interfaces, LAGs                 port.go, stats.go, queue.go, ...
//	qos         schedulers, WRED, buffers, maps of traffic classes            qos.go, qosmap.go, package qosmap
//	bridge      bridge ports, VLANs, FDB entries                              bridge*.go, vlan.go, fdb.go
//	router      router interfaces, neighbours, next hops and groups, routes   router.go, rif.go, ...
//	mirrors     mirror sessions                                               mirror.go
//	traps       traps, their groups and counters                              trap.go
//	monitors    TAM objects, for drop reports                                 dropmonitor.go, tamcollector.go
//	extensions  objects of extensions                                         extension.go, package extension
//
// The switch object with its hashes (switch.go) and in-band telemetry (tam.go) have no state of their own. Kinds
// declare what they only store, which capability.go lists. Areas interact little. ports and bridge ask acls whether
// something may be bound. qos makes ports put their rows again when a profile changes. extensions read the counters of
// acls, and one of them adds matches to ACL entries (aclflow.go). The core reports for any area how an object is used,
// and describes it without its id (describe.go).
package objects
