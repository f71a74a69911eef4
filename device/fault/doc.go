// Package fault injects deliberate faults: SAI calls that fail or are slow, lost or duplicated notifications, a Redis
// that is paused, slow, full or emptied, and stepped clocks.
//
// [Fault] is the request, and its row. [Rules] holds the faults in force in one process; [Rules.SAI] puts them
// between syncd and a chip, without any Redis. A [Desk] handles requests for one daemon that was started with
// --allow-faults. [Inject] and [Clear] send requests, and [Told] reads the desks' reports in STATE_DB.
//
// A fault is bounded in time, reported before it is in force, and ends with the process of the daemon. Its effects on
// Redis are undone by the desk, or by the next desk of the same daemon.
//
// What belongs here: the definition of faults, their duration, and their reports. Package device makes daemons with
// faults not ready, and raises the alarm.
package fault
