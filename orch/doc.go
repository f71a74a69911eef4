// Package orch is the framework that every daemon of the control plane runs
// on: managers (CONFIG_DB to APPL_DB) and orchestrators (APPL_DB to SAI).
//
// A [Daemon] consumes tables in the order of their registration and hands their
// rows as tasks to one [Handler] per table. All handlers, timers and observers
// of a daemon run on one goroutine at a time, so they hold no locks. A handler
// answers each task with an error: nil is done, a [WaitError] parks the task
// until its [Dep] is resolved, an invalid field rejects it, anything else is a
// failure. Every outcome becomes a STATE_DB row {status, reason, since, by}.
//
// A daemon runs on wall time ([Daemon.Run]) or is stepped at simulated times
// ([Daemon.Step]); a step does all the work there is and never sleeps.
//
// What belongs here: what all daemons share. No table's meaning, no SAI object.
package orch
