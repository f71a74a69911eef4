// Package fault injects faults on purpose: SAI calls that fail or take long, notifications that are lost or come twice,
// a Redis that is paused, slow, full or emptied, a clock that is set.
//
// [Fault] is what is asked for, and its row. [Rules] are those that are in force in one process: [Rules.SAI] puts
// them between syncd and a chip, without any Redis. A [Desk] takes requests for one daemon that was started with
// --allow-faults; [Inject] and [Clear] ask, and [Told] reads what the desks say in STATE_DB.
//
// A fault is bounded in time, told before it is in force, and gone with the process of the daemon. What it does to
// Redis is undone by the desk, or by the next desk of that name.
//
// What belongs here: what a fault is, how long it lasts, who is told. That a daemon with faults is not ready, and the
// alarm, are device's.
package fault
