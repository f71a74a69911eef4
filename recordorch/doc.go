// Package recordorch programs table recording: the rows of
// TAM_APPL_FEATURES_TABLE:TABLERECORD and TAM_TABLERECORD_TABLE of APPL_DB become
// plans in the chip, mirror sessions that carry records to collectors, and ACL
// entries that say which packets are recorded.
//
// # Plans
//
// What can be recorded is what the chip says its pipeline is: a graph, read through a window.
// Sessions that want the same of it (containers, mode, algorithm, tables that must be recorded,
// probabilities) share one plan, found by package recordplan within a fixed budget, and one object
// of the chip, a [scheme] here. When the graph changes, because a program was swapped, plans are
// made again; until then the chip makes no records. A plan by counted probabilities is first made
// with uniform ones, and made again when [enough] packets were counted.
//
// # Sessions
//
// A session consists, in the order of creation, of its label in the plan's object, a mirror session
// with that label, and an entry of its flow group that mirrors to it; removal is in reverse. A step
// that fails undoes those before it. When the way to the collector changes, the mirror session
// follows; while there is none, the session is taken down.
//
// An orchagent that restarts finds its sessions in the ASIC, and they go on: STATE_DB remembers
// which bits each plan has, and by which paths it was made.
//
// What belongs here: what only table recording needs. ACL entries are aclorch's, ways
// are the routes', plans are recordplan's.
package recordorch
