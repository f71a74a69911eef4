// Package flymonorch programs sketch tasks (FlyMon): the rows of
// TAM_APPL_FEATURES_TABLE:FLYMON and TAM_FLYMON_TASK_TABLE of APPL_DB become one
// extension object of SAI each, and what the chip counts of them goes to COUNTERS_DB,
// with the answers to the queries of TAM_FLYMON_QUERY_TABLE.
//
// # Tasks
//
// The planner (flymonorch/plan) says where a task goes; the chip takes or refuses it as a whole;
// only then the planner allocates. A changed task gets a new place beside its old one, all packets
// go there at once, and the old place stays frozen until it has been read ("freeze and divert",
// section 6 of the paper); then it is freed. Tasks that find no room are tried again when another
// one leaves. A task in plan mode only has a row of TAM_FLYMON_PLACEMENT.
//
// An orchagent that restarts finds its tasks in the ASIC, where they have counted on, at the places
// that STATE_DB remembers. It goes on with a count if the chip says that it is the same one: then
// what is remembered of its beginning holds. Of a task with readout "live" nobody knows which
// registers the last sweep had read: it is cleared, and its next answers are flagged as the first.
//
// # Epochs
//
// Epoch n of a task is over when the chip's time of day reaches (n+1) times its length. Then
// packets count in the other bank; the bank of epoch n is read, and cleared before it is needed
// again. Each look at the chip's clock tells when that is by the daemon's. A task with readout
// "live" has one bank, which counts while it is read; see [sweep]. A task without epochs is read
// every [unboundedPeriod], and never cleared.
//
// # Parts
//
// The [Orch] says where tasks go, and hands those that count to a reader, which
// reads each when its epoch is over, asks the queries which flows it is to tell of,
// and writes the rows.
//
// What may enter: what only FlyMon needs. How a task becomes a layout is
// flymonorch/plan's, what registers mean flymonorch/answer's.
package flymonorch
