// Package flymonorch programs sketch tasks (FlyMon). Each row of TAM_FLYMON_TASK_TABLE in APPL_DB becomes one SAI
// extension object, if TAM_APPL_FEATURES_TABLE:FLYMON enables the feature. The chip's counts go to COUNTERS_DB, with
// the answers to the queries of TAM_FLYMON_QUERY_TABLE.
//
// # Tasks
//
// The planner (flymonorch/plan) determines the place of a task. The chip accepts or refuses the task as a whole, and
// only then the planner allocates. A changed task gets a new place beside its old one, and all packets count there
// immediately. The old place stays frozen until it has been read ("freeze and divert", section 6 of the paper), and is
// then freed. Tasks without a place are retried when another one is removed. A task in plan mode only has a row of
// TAM_FLYMON_PLACEMENT.
//
// An orchagent that restarts finds its tasks in the ASIC, where they have continued to count, at the places in
// STATE_DB. It continues a count if the chip reports the same count: then the stored data about its start are valid.
// For a task with readout "live", it is unknown which registers the last sweep had read. So the task is cleared, and
// its next answers are flagged as the first.
//
// # Epochs
//
// Epoch n of a task is over when the chip's time of day reaches (n+1) times its length. Then packets count in the other
// bank. The bank of epoch n is read, and cleared before it is needed again. Each read of the chip's clock yields that
// time by the daemon's clock. A task with readout "live" has one bank, which counts while it is read; see [sweep]. A
// task without epochs is read every [unboundedPeriod], and never cleared.
//
// # Parts
//
// The [Orch] places tasks, and passes the active ones to a reader. The reader reads each task when its epoch is over,
// asks the queries for their flows, and writes the rows.
//
// What belongs here: what only FlyMon needs. What does not: the compilation of tasks to layouts (flymonorch/plan), and
// the meaning of registers (flymonorch/answer).
package flymonorch
