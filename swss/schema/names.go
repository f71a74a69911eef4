// Package schema holds the names of SONiC's tables and fields and the typed rows that tamtam's daemons exchange through
// them. It does not read or write databases.
//
// Each kind of row is a struct with a layout: its key, and for each field its range, default, description, leaf, and
// place in the struct. Its Parse function and its method Fields are generated from the layout, unless they are written
// by hand. Fields produces canonical form: Parse of the output of Fields returns the same row. [Tables] lists all kinds
// of rows, with the name of their table in each database. docs/reference/databases.md is generated from it.
//
// The error of a Parse function joins all errors of the row. Each part is a [FieldError] with row, field, value and
// the valid form. [Reason] returns the text for a status row. Numbers are decimal, or hexadecimal after 0x. In the
// matches of ACL rules a leading 0 means octal, as in SONiC. The case of words does not matter.
package schema

//go:generate sh -c "go run ../../internal/rows . > zz_generated.go"

import "tamtam/tam/words"

// CONFIG_DB tables. Only users and the northbound interfaces write them.
const (
	CfgDeviceMetadata = "DEVICE_METADATA"
	CfgPort           = "PORT"
	CfgPortChannel    = "PORTCHANNEL"
	CfgPortChannelMbr = "PORTCHANNEL_MEMBER"
	CfgVLAN           = "VLAN"
	CfgVLANMember     = "VLAN_MEMBER"
	CfgBreakout       = "BREAKOUT_CFG"
	CfgSwitch         = "SWITCH" // key "switch"
	CfgFDB            = "FDB"
	CfgStaticRoute    = "STATIC_ROUTE"
	CfgNeigh          = "NEIGH"
	CfgVRF            = "VRF"

	CfgInterface            = "INTERFACE"
	CfgVLANInterface        = "VLAN_INTERFACE"
	CfgPortChannelInterface = "PORTCHANNEL_INTERFACE"
	CfgLoopbackInterface    = "LOOPBACK_INTERFACE"
	CfgVLANSubInterface     = "VLAN_SUB_INTERFACE"

	CfgDSCPToTC      = "DSCP_TO_TC_MAP"
	CfgDot1pToTC     = "DOT1P_TO_TC_MAP"
	CfgTCToQueue     = "TC_TO_QUEUE_MAP"
	CfgTCToPG        = "TC_TO_PRIORITY_GROUP_MAP"
	CfgTCToDSCP      = "TC_TO_DSCP_MAP"
	CfgPFCToQueue    = "MAP_PFC_PRIORITY_TO_QUEUE"
	CfgPFCToPG       = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"
	CfgPortQoS       = "PORT_QOS_MAP"
	CfgScheduler     = "SCHEDULER"
	CfgWRED          = "WRED_PROFILE"
	CfgQueue         = "QUEUE"
	CfgBufferPool    = "BUFFER_POOL"
	CfgBufferProfile = "BUFFER_PROFILE"
	CfgBufferQueue   = "BUFFER_QUEUE"
	CfgBufferPG      = "BUFFER_PG"
	CfgBufferIngress = "BUFFER_PORT_INGRESS_PROFILE_LIST"
	CfgBufferEgress  = "BUFFER_PORT_EGRESS_PROFILE_LIST"
	CfgWatermark     = "WATERMARK_TABLE"
	CfgMirrorSession = "MIRROR_SESSION"
	CfgCOPPGroup     = "COPP_GROUP"
	CfgCOPPTrap      = "COPP_TRAP"
	CfgFeature       = "FEATURE" // whether a feature of SONiC is enabled

	CfgACLTable     = "ACL_TABLE"
	CfgACLTableType = "ACL_TABLE_TYPE"
	CfgACLRule      = "ACL_RULE"
	CfgFlexCounter  = "FLEX_COUNTER_TABLE"
	CfgCRM          = "CRM"
	CfgTAMSwitch    = "TAM_SWITCH_TABLE"
	CfgTAMCollector = "TAM_COLLECTORS_TABLE"
	CfgTAMFeature   = "TAM_FEATURES_TABLE"
	CfgTAMSampler   = "TAM_SAMPLINGRATE_TABLE"
	CfgTAMFlowGroup = "TAM_FLOWGROUP_TABLE"
)

// APPL_DB tables. Managers write them, orchs read them.
const (
	AppPort         = "PORT_TABLE"
	AppLAG          = "LAG_TABLE"
	AppLAGMember    = "LAG_MEMBER_TABLE"
	AppVLAN         = "VLAN_TABLE"
	AppVLANMember   = "VLAN_MEMBER_TABLE"
	AppSwitch       = "SWITCH_TABLE" // key "switch"; also capabilities, written by orchagent
	AppFDB          = "FDB_TABLE"
	AppInterface    = "INTF_TABLE"
	AppRoute        = "ROUTE_TABLE"
	AppNeigh        = "NEIGH_TABLE"
	AppVRF          = "VRF_TABLE"
	AppLLDPEntry    = "LLDP_ENTRY_TABLE"    // by port; hostd or hostifd writes it, as SONiC's lldp-syncd
	AppNeighResolve = "NEIGH_RESOLVE_TABLE" // neighbours that some daemon asks to be resolved
	AppACLTable     = "ACL_TABLE_TABLE"
	AppACLTableType = "ACL_TABLE_TYPE_TABLE"
	AppACLRule      = "ACL_RULE_TABLE"
	AppTAMSwitch    = "TAM_APPL_SWITCH_TABLE"
	AppTAMFeature   = "TAM_APPL_FEATURES_TABLE"
	AppTAMCollector = "TAM_COLLECTORS_TABLE"
	AppTAMSampler   = "TAM_SAMPLINGRATE_TABLE"
)

// LLDPDescription is the description of the system that the switch announces by LLDP.
const LLDPDescription = "tamtam, a switch in software"

// QoS, buffer, mirror and trap tables, with the same names in APPL_DB and STATE_DB.
const (
	AppDSCPToTC      = "DSCP_TO_TC_MAP_TABLE"
	AppDot1pToTC     = "DOT1P_TO_TC_MAP_TABLE"
	AppTCToQueue     = "TC_TO_QUEUE_MAP_TABLE"
	AppTCToPG        = "TC_TO_PRIORITY_GROUP_MAP_TABLE"
	AppTCToDSCP      = "TC_TO_DSCP_MAP_TABLE"
	AppPFCToQueue    = "MAP_PFC_PRIORITY_TO_QUEUE_TABLE"
	AppPFCToPG       = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP_TABLE"
	AppPortQoS       = "PORT_QOS_MAP_TABLE"
	AppScheduler     = "SCHEDULER_TABLE"
	AppWRED          = "WRED_PROFILE_TABLE"
	AppQueue         = "QUEUE_TABLE"
	AppBufferPool    = "BUFFER_POOL_TABLE"
	AppBufferProfile = "BUFFER_PROFILE_TABLE"
	AppBufferQueue   = "BUFFER_QUEUE_TABLE"
	AppBufferPG      = "BUFFER_PG_TABLE"
	AppBufferIngress = "BUFFER_PORT_INGRESS_PROFILE_LIST_TABLE"
	AppBufferEgress  = "BUFFER_PORT_EGRESS_PROFILE_LIST_TABLE"
	AppMirrorSession = "MIRROR_SESSION_TABLE"
	AppCOPP          = "COPP_TABLE" // by group
	StateCOPPTrap    = "COPP_TRAP_TABLE"
)

// STATE_DB tables: the status of each configured row.
const (
	StatePort         = "PORT_TABLE"
	StateLAG          = "LAG_TABLE"
	StateLAGMember    = "LAG_MEMBER_TABLE"
	StateLACP         = "LACP_TABLE"        // PortChannels that use LACP
	StateLACPMember   = "LACP_MEMBER_TABLE" // members of PortChannels with LACP: the permitted states of each, and why
	StateVLAN         = "VLAN_TABLE"
	StateVLANMember   = "VLAN_MEMBER_TABLE"
	StateBreakout     = "BREAKOUT_CFG"
	StateSwitch       = "SWITCH_TABLE"
	StateInterface    = "INTERFACE_TABLE" // for all kinds of interfaces
	StateStaticRoute  = "STATIC_ROUTE_TABLE"
	StateRoute        = "ROUTE_TABLE" // routes of FRR and other programs that are not in force
	StateNeigh        = "NEIGH_TABLE"
	StateVRF          = "VRF_TABLE"
	StateHostNeigh    = "HOST_NEIGH_TABLE"   // neighbours that hostd asks to be resolved
	StateHostAddress  = "HOST_ADDRESS_TABLE" // addresses of the switch as a host
	StateStaticFDB    = "STATIC_FDB_TABLE"   // for rows of FDB
	StateFDB          = "FDB_TABLE"          // entries in the ASIC, as in SONiC: VlanN:mac
	StateACLTable     = "ACL_TABLE_TABLE"
	StateACLTableType = "ACL_TABLE_TYPE_TABLE"
	StateACLRule      = "ACL_RULE_TABLE"
	StateACLStageCap  = "ACL_STAGE_CAPABILITY_TABLE"
	// StateACLHolders stores which rule holds the resources that an ACL rule waits for, for the next run: one hash of
	// keys in CONFIG_DB.
	StateACLHolders = "TAMTAM_ACL_HOLDERS"
	// StateSingleRoutes stores which routes use only one of several next hops, and why, for the next run: one hash of
	// keys in APPL_DB.
	StateSingleRoutes = "TAMTAM_SINGLE_ROUTES"
	// StatePortLimits stores the initial lanes and speeds of the switch's ports: one hash.
	StatePortLimits   = "TAMTAM_PORT_LIMITS"
	StateSwitchCap    = "SWITCH_CAPABILITY"
	StateFlexCounter  = "FLEX_COUNTER_TABLE"
	StateWatermark    = "WATERMARK_TABLE"
	StateCRM          = "CRM"
	StateTAMSwitch    = "TAM_STATE_SWITCH_TABLE"
	StateTAMFeature   = "TAM_STATE_FEATURES_TABLE"
	StateTAMCollector = "TAM_STATE_COLLECTORS_TABLE"
	StateTAMSampler   = "TAM_STATE_SAMPLINGRATE_TABLE"
	StateTAMFlowGroup = "TAM_STATE_FLOWGROUP_TABLE"
)

// COUNTERS_DB names.
const (
	CountersTable         = "COUNTERS"                 // COUNTERS:oid:0x...
	CountersPortNameMap   = "COUNTERS_PORT_NAME_MAP"   // Ethernet0 -> oid
	CountersRIFNameMap    = "COUNTERS_RIF_NAME_MAP"    // Ethernet0 -> oid of its router interface
	CountersRIFTypeMap    = "COUNTERS_RIF_TYPE_MAP"    // oid of a router interface -> SAI_ROUTER_INTERFACE_TYPE_...
	CountersLACP          = "LACP_COUNTERS"            // PortChannel1:Ethernet0
	CountersLAGNameMap    = "COUNTERS_LAG_NAME_MAP"    // PortChannel1 -> oid
	CountersSwitchNameMap = "COUNTERS_SWITCH_NAME_MAP" // SwitchName -> oid of the switch
	CountersQueueNameMap  = "COUNTERS_QUEUE_NAME_MAP"  // Ethernet0:3 -> oid
	CountersQueuePortMap  = "COUNTERS_QUEUE_PORT_MAP"  // oid of a queue -> oid of its port
	CountersQueueIndexMap = "COUNTERS_QUEUE_INDEX_MAP" // oid of a queue -> 3
	CountersQueueTypeMap  = "COUNTERS_QUEUE_TYPE_MAP"  // oid of a queue -> SAI_QUEUE_TYPE_...
	CountersPGNameMap     = "COUNTERS_PG_NAME_MAP"     // Ethernet0:3 -> oid of an ingress priority group
	CountersPGPortMap     = "COUNTERS_PG_PORT_MAP"     // oid of a priority group -> oid of its port
	CountersPGIndexMap    = "COUNTERS_PG_INDEX_MAP"    // oid of a priority group -> 3
	CountersPoolNameMap   = "COUNTERS_BUFFER_POOL_NAME_MAP"
	CountersACLRuleMap    = "ACL_COUNTER_RULE_MAP" // TABLE:RULE -> oid of the ACL counter
	CountersACLTableMap   = "ACL_TABLE_NAME_MAP"   // TABLE -> oid of the ACL table; a feature's is TABLE:FEATURE
	// CountersPolicerNameMap maps names to policers; the names are those of groups of COPP_GROUP.
	CountersPolicerNameMap = "COUNTERS_POLICER_NAME_MAP"
	// CountersCollected is a hash with the time at which syncd last read the counters of each group.
	CountersCollected = "TAMTAM_COLLECTED"
	// CountersCleared is a hash with the values of counters when an operator cleared them: the fields as JSON, by the
	// key of their row. mgmtd subtracts them. A process that resets the counters of a row deletes the row's field.
	CountersCleared = "TAMTAM_CLEARED"
	// CountersRun is a table that maps the name of another table to the syncd whose chip counted its rows.
	CountersRun = "TAMTAM_RUN"
	CountersCRM = "CRM"
	// CRMThresholds is the key in CountersCRM of the thresholds that are in force.
	CRMThresholds = "THRESHOLDS"
	// Rates and the tables of watermarks contain rows that syncd computes from what it polls, by the id of the object.
	Rates                = "RATES"
	UserWatermarks       = "USER_WATERMARKS"
	PersistentWatermarks = "PERSISTENT_WATERMARKS"
	PeriodicWatermarks   = "PERIODIC_WATERMARKS"
	CountersHost         = "HOST_COUNTERS"
)

// TAMTable is the default ACL table of flow groups.
const TAMTable = "TAM"

// ACLTypeTAM is the ACL table type of flow groups.
const ACLTypeTAM = "TAM"

// Status words of all STATE_DB rows except those of ACLs, which use SONiC's.
const (
	StatusPending = words.Pending
	StatusActive  = words.Active
	StatusFailed  = words.Failed
	StatusUnknown = words.Unknown // the row was active when the state of the ASIC was last known
)

// Status words of ACL tables and rules in STATE_DB, as in SONiC.
const (
	ACLActive          = "Active"
	ACLInactive        = "Inactive"
	ACLPendingCreation = "Pending creation"
	ACLPendingRemoval  = "Pending removal"
	ACLUnknown         = "Unknown" // like StatusUnknown, for which SONiC has no word
)

// ResponseChannel returns the channel on which orchagent reports whether rows of a table of APPL_DB are in the ASIC.
// Its name is that of SONiC's ResponsePublisher. A message has the op [ResponseSuccess] or [ResponseUnavailable], the
// row's key, [FieldErrStr] with the op again, and the fields of the row. SONiC's messages contain only the field
// protocol.
func ResponseChannel(table string) string { return "APPL_DB_" + table + "_RESPONSE_CHANNEL" }

// The op of a message on a [ResponseChannel] and the value of its first field.
const (
	ResponseSuccess     = "SWSS_RC_SUCCESS"
	ResponseUnavailable = "SWSS_RC_UNAVAIL" // the row is not in the ASIC, or no longer there
	FieldErrStr         = "err_str"
)

// FlushFDBChannel is the channel on which SONiC's utilities request the flush of learned addresses: ALL, PORT with a
// port, VLAN with a number, or PORTVLAN with port|number.
const FlushFDBChannel = "FLUSHFDBREQUEST"

// ClearWatermarkChannel is the channel on which SONiC's utilities request the clearing of watermarks: USER or
// PERSISTENT, and what.
const ClearWatermarkChannel = "WATERMARK_CLEAR_REQUEST"
