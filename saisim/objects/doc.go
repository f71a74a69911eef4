// Package objects keeps the SAI objects of a chip, and says what they mean: rows of plain tables.
//
// A call of SAI is checked here, against the objects that there are and against what the chip implements, and becomes
// one change of the tables, which the packet path compiles. What the path learns and counts is read through its
// methods; nothing here looks inside.
//
// What belongs here: what SAI's text says of objects and their attributes. What does not: packets; locks (the chip's
// is around all of it).
//
// # Areas
//
// A [Store] is a core, areas, and the calls of SAI, which are the same for all types of objects. The core is what all
// areas share: the objects by their names, the rows that they stand for, and the change that a call makes. An area
// knows what the objects of some types mean, with one kind for each type, and keeps the state that this takes:
//
//	acls        tables, groups and their members, entries, counters, ranges   acl*.go
//	ports       ports, their queues and host interfaces, LAGs                 port.go, stats.go, queue.go, ...
//	qos         schedulers, WRED, buffers, maps of traffic classes            qos.go, qosmap.go
//	bridge      bridge ports, VLANs, FDB entries                              bridge*.go, vlan.go, fdb.go
//	router      router interfaces, neighbours, next hops and groups, routes   router.go, rif.go, ...
//	mirrors     mirror sessions                                               mirror.go
//	traps       traps and their groups                                        trap.go
//	monitors    TAM objects, which have drops reported                        dropmonitor.go, tamcollector.go
//	extensions  objects of extensions                                         extension.go, package extension
//
// The switch object (switch.go) and in-band telemetry (tam.go) have no state of their own. Areas meet in few places:
// ports and bridge ask acls whether something may be bound, qos has ports put their rows again when a profile
// changes, extensions read the counters of acls, and one says what more entries match (aclflow.go).
// The core says for any area what an object is used as, and describes it without its id (describe.go).
package objects
