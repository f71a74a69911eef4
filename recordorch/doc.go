// Package recordorch programs table recording. The rows of TAM_APPL_FEATURES_TABLE:TABLERECORD and
// TAM_TABLERECORD_TABLE in APPL_DB become plans in the chip, mirror sessions that carry records to collectors, and ACL
// entries that determine which packets are recorded.
//
// # Plans
//
// The chip describes its pipeline as a graph, which is read through a read object. The graph determines what can be
// recorded. Sessions with equal settings (containers, mode, algorithm, tables that must be recorded, probabilities)
// share one plan and one object of the chip, a [scheme] here. Package recordplan finds the plan within a fixed budget.
// When the graph changes, because a program was swapped, all plans are made again. Until then the chip makes no
// records. A plan by counted probabilities is first made with uniform ones, and made again after [enough] packets were
// counted.
//
// # Sessions
//
// A session consists, in the order of creation, of its label in the plan's object, a mirror session with that label,
// and an entry of its flow group that mirrors to it. Removal is in reverse order. If a step fails, the previous steps
// are undone. When the path to the collector changes, the mirror session follows. While there is no path, the session
// is removed.
//
// An orchagent that restarts finds its sessions in the ASIC, and they continue. STATE_DB contains the bits of each
// plan, and the paths that determined it.
//
// What belongs here: what only table recording needs. What does not: ACL entries (aclorch), paths to collectors (the
// routes), and plans (recordplan).
package recordorch
