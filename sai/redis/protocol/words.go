package protocol

import (
	"fmt"

	"tamtam/sai"
)

// Names in ASIC_DB.
const (
	ASICState     = "ASIC_STATE"
	TempASICState = "TEMP_ASIC_STATE"
	GetResponse   = "GETRESPONSE"

	KeyVIDCounter = "VIDCOUNTER"
	KeyRIDToVID   = "RIDTOVID"
	KeyHidden     = "HIDDEN"
	KeyLanes      = "LANES"
	KeyColdVIDs   = "COLDVIDS"

	Notifications = "NOTIFICATIONS"
	RestartQuery  = "RESTARTQUERY"
)

// KeyVIDToRID is the hash of ASIC_DB with the real id of each object. It exists as long as syncd has a switch.
const KeyVIDToRID = "VIDTORID"

// Operations, without their letter.
const (
	OpCreate       = "create"
	OpRemove       = "remove"
	OpSet          = "set"
	OpGet          = "get"
	OpBulkCreate   = "bulkcreate"
	OpBulkRemove   = "bulkremove"
	OpBulkSet      = "bulkset"
	OpBulkGet      = "bulkget"
	OpNotify       = "notify"
	OpGetStats     = "get_stats"
	OpClearStats   = "clear_stats"
	OpFlush        = "flush"
	OpAttrQuery    = "attribute_capability_query"
	OpEnumQuery    = "attr_enum_values_capability_query"
	OpStatsQuery   = "stats_capability_query"
	OpStatsStQuery = "stats_st_capability_query"
	OpAvailQuery   = "object_type_get_availability_query"
	OpStartPoll    = "start_poll"
	OpStopPoll     = "stop_poll"
	OpSetGroup     = "set_counter_group"
	OpDelGroup     = "del_counter_group"

	OpResponse = "getresponse"
	InitView   = "INIT_VIEW"
	ApplyView  = "APPLY_VIEW"
)

// SwitchVID is the virtual id of the switch: type 0x21, index 0.
const SwitchVID sai.OID = 0x21000000000000

// VIDType returns the object type in a virtual object id, or false if it is unknown.
func VIDType(vid sai.OID) (sai.ObjectType, bool) {
	if vid>>39&1 != 0 {
		return 0, false // an extension type
	}
	t := sai.ObjectType(vid >> 48 & 0xff)
	return t, t != 0
}

// NewVID returns the virtual id of the index-th object.
func NewVID(t sai.ObjectType, index int64) (sai.OID, error) {
	if t == 0 || t > 0xff || index <= 0 || index >= 1<<39 {
		return 0, fmt.Errorf("%s %d has no virtual object id", t, index)
	}
	return sai.OID(uint64(t)<<48 | uint64(index)), nil
}
