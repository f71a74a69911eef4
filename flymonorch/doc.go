// Package flymonorch programs sketch tasks (FlyMon): the rows of
// TAM_APPL_FEATURES_TABLE:FLYMON and TAM_FLYMON_TASK_TABLE of APPL_DB become one
// extension object of SAI each, and what the chip counts of them goes to COUNTERS_DB,
// with the answers to the queries of TAM_FLYMON_QUERY_TABLE.
//
// # Tasks
//
// The planner (flymonorch/plan) says where a task goes; the chip takes or refuses it as
// a whole; only then the planner allocates. A task that is changed is put beside its old
// place, all packets go there at once, and the old place stays frozen until it has been
// read ("freeze and divert", section 6 of the paper): then it is given back. Tasks that
// find no room are looked at again when another one goes. A task in plan mode only has a row
// of TAM_FLYMON_PLACEMENT.
//
// Tasks are in the ASIC from the first view on: before, nobody has asked the chip what
// its CMU groups are like. An orchagent that begins anew therefore begins its tasks
// anew, and their first epoch says so.
//
// # Epochs
//
// Epoch n of a task is over when the chip's time of day reaches (n+1) times its length.
// Then packets count in the other bank; the bank of epoch n is read, and cleared
// before it is needed again. When that is by the daemon's clock is known from every look
// at the chip's. A task with readout "live" has one bank, which counts while it is read;
// see [sweep]. A task without epochs is read every [unboundedPeriod], and never cleared.
//
// What may enter: what only FlyMon needs. How a task becomes a layout is
// flymonorch/plan's, what registers mean flymonorch/answer's.
package flymonorch
