// Package fault injects deliberate faults: failing or slow SAI calls, lost or duplicated notifications, and stepped
// clocks. It can also pause, slow down, fill or empty Redis.
//
// A [Fault] is the request for a fault, which can also be written as a row. [Rules] holds the faults in force in one
// process. [Rules.SAI] injects them between syncd and a chip, without Redis. A [Controller] handles requests for one
// daemon that was started with --allow-faults. [Inject] and [Clear] send requests, and [Reported] reads the
// controllers' reports in STATE_DB.
//
// A fault is bounded in time, reported before it is in force, and ends with the process of the daemon. Its effects on
// Redis are undone by the controller, or by the next controller of the same daemon.
//
// What belongs here: the definition of faults, their duration, and their reports. Package device makes daemons with
// faults not ready, and raises the alarm.
package fault
