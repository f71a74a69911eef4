// Package recordorch programs table recording: the rows of
// TAM_APPL_FEATURES_TABLE:TABLERECORD and TAM_TABLERECORD_TABLE of APPL_DB become
// plans in the chip, mirror sessions that carry records to collectors, and ACL
// entries that say which packets are recorded.
//
// # Plans
//
// What can be recorded is what the chip says its pipeline is: a graph, read through
// a window. Sessions that want the same of it (containers, mode, algorithm, tables
// that must be recorded, probabilities) share one plan, found by package recordplan
// within a fixed budget, and one object of the chip, a [scheme] here. When the graph
// changes, as a program is swapped, plans are made anew; until then the chip makes no
// records. A plan by counted probabilities is first made with uniform ones, and once
// more when [enough] packets are counted.
//
// # Sessions
//
// A session is, in this order, its label in the plan's object, a mirror session with
// that label, and an entry of its flow group that mirrors to it; it goes the other
// way round. A step that fails takes back those before it. Where the way to the
// collector changes, the mirror session follows; where there is none, the session
// goes until there is one.
//
// All this is in the ASIC from the first view on: before, nobody has asked the chip
// what it is like. An orchagent that begins anew therefore begins its sessions anew.
//
// What may enter: what only table recording needs. ACL entries are aclorch's, ways
// are the routes', plans are recordplan's.
package recordorch
