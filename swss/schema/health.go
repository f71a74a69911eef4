package schema

import "time"

// Tables of STATE_DB in which the daemons report their state: one row per daemon, and one per alarm.
const (
	StateHealth = "TAMTAM_HEALTH"
	StateAlarm  = "TAMTAM_ALARM"
	// StateAlarmHistory has the last alarms that were cleared. A key is the time at which the alarm was raised, a dash,
	// and the alarm's id. The rows have the fields of those of StateAlarm, AlarmCleared and AlarmNumber.
	StateAlarmHistory = "TAMTAM_ALARM_HISTORY"
)

// AlarmHistory is the largest number of rows of StateAlarmHistory.
const AlarmHistory = 100

// HealthTTL is the time to live of a row of StateHealth that its daemon does not renew.
const HealthTTL = 5 * time.Second

// Fields of a row of StateHealth, and the state of a daemon that works.
const (
	HealthState = "state"
	HealthSince = "since"
	HealthOwner = "owner" // identifies the daemon's process
	HealthReady = "ready"
)

// Fields of a row of StateAlarm, whose key is the alarm's id.
const (
	AlarmResource = "resource"
	AlarmText     = "text"
	AlarmCreated  = "time-created" // time at which the alarm was raised, in nanoseconds since 1970
	AlarmSeverity = "severity"     // one of the severities below
	AlarmType     = "type-id"      // one of the kinds below
	AlarmCleared  = "time-cleared" // time at which the alarm was cleared, in nanoseconds since 1970
	// AlarmNumber is the number of the alarm in StateAlarmHistory, in the order in which the alarms were cleared.
	AlarmNumber = "number"
	// AlarmCount is the number of objects with this cause; absent for one. For an output it is the least number of
	// messages, a power of ten.
	AlarmCount = "count"
)

// Severities of alarms.
const (
	SeverityWarning  = "WARNING"
	SeverityMajor    = "MAJOR"
	SeverityCritical = "CRITICAL"
)

// Kinds of alarms.
const (
	AlarmSilent        = "SILENT"
	AlarmNotReady      = "NOT_READY"
	AlarmDrift         = "DRIFT"
	AlarmNotOwn        = "NOT_OWN"
	AlarmEmptied       = "EMPTIED"
	AlarmRestarted     = "RESTARTED"
	AlarmStatusUnknown = "STATUS_UNKNOWN"
	AlarmFault         = "FAULT_INJECTED"
	AlarmFile          = "FILE_NOT_IN_FORCE"
	AlarmMTU           = "MTU_ABOVE_WIRE"
	AlarmConflict      = "ADDRESS_CONFLICT"
	AlarmOutput        = "OUTPUT_FAILED" // the resource is the output

	AlarmPersistentDrops = "PERSISTENT_DROPS" // the resource is the port

	AlarmObjectsFailed  = "OBJECTS_FAILED"
	AlarmObjectsPending = "OBJECTS_PENDING"
)
