package flex

// Words of FLEX_COUNTER_DB.
const (
	FieldPollInterval = "POLL_INTERVAL"       // milliseconds
	FieldStatsMode    = "STATS_MODE"          // StatsModeRead or StatsModeReadAndClear
	FieldStatus       = "FLEX_COUNTER_STATUS" // "enable" or "disable"

	FieldPortCounters        = "PORT_COUNTER_ID_LIST"
	FieldQueueCounters       = "QUEUE_COUNTER_ID_LIST"
	FieldPGCounters          = "PG_COUNTER_ID_LIST"
	FieldPoolCounters        = "BUFFER_POOL_COUNTER_ID_LIST"
	FieldRIFCounters         = "RIF_COUNTER_ID_LIST"
	FieldSwitchCounters      = "SWITCH_COUNTER_ID_LIST"
	FieldPolicerCounters     = "POLICER_COUNTER_ID_LIST"
	FieldPortDebugCounters   = "PORT_DEBUG_COUNTER_ID_LIST"
	FieldSwitchDebugCounters = "SWITCH_DEBUG_COUNTER_ID_LIST"
	FieldACLCounters         = "ACL_COUNTER_ATTR_ID_LIST"

	StatsModeRead         = "STATS_MODE_READ"
	StatsModeReadAndClear = "STATS_MODE_READ_AND_CLEAR"

	Table      = "FLEX_COUNTER_TABLE"
	groupTable = "FLEX_COUNTER_GROUP_TABLE"
)
