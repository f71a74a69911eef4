// Package feature contains the code that the orchs of TAM features share. A [Feature] is one value. Each feature adds
// only its own logic.
//
// # Sessions
//
// A session is a row of the feature's table. It is in the ASIC while its row is valid, and its feature active and
// supported. The feature's [Logic] must also permit it, usually because its flow group exists. A session that is
// created in several steps is removed by undoing them ([Feature.BringUp]). Every change marks sessions dirty.
// [Feature.Reconcile] brings the dirty ones to their target state in passes. Each pass first removes sessions, then
// adds others. So the capacity of a removed session is available to others in the same Reconcile.
//
// A session without capacity is retried when another leaves, or when any rule is added, removed or changed. A session
// that could not be removed from the ASIC is retried every second ([TryAgain]): it still uses capacity, and no event
// reports when the ASIC could release it. Any other session that SAI refused is retried only when its row or a
// dependency changes.
//
// STATE_DB reports the status of a session: active, pending with the dependency, or failed with the reason. The
// feature is short of resources while the switch lacks capacity for a session.
//
// # Reading and configuring the chip
//
// If SAI has no object for a configuration, it is an [Object] of GENERIC_PROGRAMMABLE. Measurements without a SAI
// object are read through [Windows]. [Rows] of COUNTERS_DB are written as differences.
//
// This package contains code that at least two features need. The measurements of a single feature stay with it.
package feature
