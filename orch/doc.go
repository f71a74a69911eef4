// Package orch is the framework of every daemon of the control plane: managers (CONFIG_DB to APPL_DB) and
// orchestrators (APPL_DB to SAI).
//
// A [Daemon] consumes tables in the order of their registration and passes their rows as tasks to one [Handler] per
// table. All handlers, timers and observers of a daemon run on one goroutine at a time, so they hold no locks. A
// handler returns an error for each task. nil means done. A [WaitError] parks the task until its [Dep] is resolved. An
// invalid field rejects the task, and any other error is a failure. Every outcome becomes a STATE_DB row {status,
// reason, since, by}.
//
// A daemon runs on wall time ([Daemon.Run]) or is stepped at simulated times ([Daemon.Step]). A step does all pending
// work and never sleeps.
//
// This package contains the code that all daemons share. It interprets no table and creates no SAI object.
package orch
