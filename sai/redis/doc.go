// Package sairedis carries the SAI API over ASIC_DB, as SONiC does: [Client] is
// libsairedis' side (orchagent), [Server] is syncd's. Both speak the redis_sync
// protocol byte for byte, so that each works with SONiC's counterpart. An [Agent] is a client that
// begins with what a former one left in ASIC_DB.
//
// A request goes one way through the server: [Server] takes it from ASIC_DB and sends the answer; a
// processor executes it; views bring the ASIC from one view to another; [FlexCounters] poll what
// was asked for; a translator knows each object by its virtual and its real id; a discovery asks
// the ASIC which objects there are. Each knows only those after it. A [Notifier] goes the other
// way, from the ASIC to ASIC_DB, and needs the translator alone.
//
// What may enter: the protocol, the virtual object ids, the views of ASIC_DB
// and their comparison, the flex counters. What may not: what any SAI object
// means to a feature, and any backend.
package sairedis

import (
	"errors"
	"fmt"

	"tamtam/sai"
)

// Names in ASIC_DB.
const (
	asicState     = "ASIC_STATE"
	tempAsicState = "TEMP_ASIC_STATE"
	getResponse   = "GETRESPONSE"

	vidCounter = "VIDCOUNTER"
	vidToRID   = KeyVIDToRID
	ridToVID   = "RIDTOVID"
	hidden     = "HIDDEN"
	lanes      = "LANES"
	coldVIDs   = "COLDVIDS"

	notifications = "NOTIFICATIONS"
	restartQuery  = "RESTARTQUERY"
)

// KeyVIDToRID is the hash of ASIC_DB with the real id of each object. It is
// there as long as syncd has a switch.
const KeyVIDToRID = "VIDTORID"

// Operations, without their letter.
const (
	opCreate       = "create"
	opRemove       = "remove"
	opSet          = "set"
	opGet          = "get"
	opBulkCreate   = "bulkcreate"
	opBulkRemove   = "bulkremove"
	opBulkSet      = "bulkset"
	opBulkGet      = "bulkget"
	opNotify       = "notify"
	opGetStats     = "get_stats"
	opClearStats   = "clear_stats"
	opFlush        = "flush"
	opAttrQuery    = "attribute_capability_query"
	opEnumQuery    = "attr_enum_values_capability_query"
	opStatsQuery   = "stats_capability_query"
	opStatsStQuery = "stats_st_capability_query"
	opAvailQuery   = "object_type_get_availability_query"
	opStartPoll    = "start_poll"
	opStopPoll     = "stop_poll"
	opSetGroup     = "set_counter_group"
	opDelGroup     = "del_counter_group"

	opResponse = "getresponse"
	initView   = "INIT_VIEW"
	applyView  = "APPLY_VIEW"
)

// SwitchVID is the virtual id of the switch: type 0x21, index 0.
const SwitchVID sai.OID = 0x21000000000000

// ErrShutdown is what [Server.Serve] returns when it was asked to stop through
// the channel RESTARTQUERY.
var ErrShutdown = errors.New("asked to shut down")

// VIDType returns the object type in a virtual object id, false if it has none
// that tamtam knows.
func VIDType(vid sai.OID) (sai.ObjectType, bool) {
	if vid>>39&1 != 0 {
		return 0, false // an extension type
	}
	t := sai.ObjectType(vid >> 48 & 0xff)
	return t, t != 0
}

// newVID returns the virtual id of the index-th object.
func newVID(t sai.ObjectType, index int64) (sai.OID, error) {
	if t == 0 || t > 0xff || index <= 0 || index >= 1<<39 {
		return 0, fmt.Errorf("%s %d has no virtual object id", t, index)
	}
	return sai.OID(uint64(t)<<48 | uint64(index)), nil
}
