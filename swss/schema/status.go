package schema

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Fields of the status rows in STATE_DB.
const (
	FieldStatus   = "status"
	FieldOpStatus = "op-status" // instead of status in TAM_STATE_FEATURES_TABLE
	FieldReason   = "reason"
	FieldSince    = "since"
	FieldBy       = "by"
)

// The state of a port or LAG, in the rows of both in APPL_DB and STATE_DB.
const (
	FieldOperStatus = "oper_status"
	OperUp          = "up"
	OperDown        = "down"
	OperUnknown     = "unknown" // the state of the ASIC is unknown

	// FieldNetdevOperStatus holds the state of a port in STATE_DB, under the name that SONiC's portsyncd uses.
	FieldNetdevOperStatus = "netdev_oper_status"

	// FieldLastChange holds the time of the last change, in ns since 1970, in APPL_DB. It is absent if no process saw
	// the change.
	FieldLastChange = "last_change"

	// SONiC's fields of a port in APPL_DB: the number of changes of its state that were seen, and the times of the last
	// ones, in UTC.
	FieldFlapCount    = "flap_count"
	FieldLastUpTime   = "last_up_time"
	FieldLastDownTime = "last_down_time"

	// FieldActiveSpeed holds the sum of the speeds of the members of a PortChannel that send, in Mbit/s, in APPL_DB.
	FieldActiveSpeed = "active_speed"
)

// LastOper returns a row of a port or LAG. If its oper_status is unknown, it replaces it by the oper_status of was, the
// former row, which may be nil. Otherwise a host stack would treat unknown as down, and lose neighbours and routing
// sessions at each restart of syncd.
func LastOper(was, row map[string]string) map[string]string {
	if last, known := was[FieldOperStatus]; known && row[FieldOperStatus] == OperUnknown {
		row = maps.Clone(row)
		row[FieldOperStatus] = last
	}
	return row
}

// Processes that write status rows.
const (
	ByTAMMgr    = "tammgrd"
	ByOrchAgent = "orchagent"
)

// MoreRows is the key of the row that stands for the rows that a limited table of statuses omits.
const MoreRows = "more"

// moreForm is the format of the reason of the row MoreRows.
const moreForm = "%d more rows are not in force"

// MoreReason returns the reason of the row [MoreRows] for n rows.
func MoreReason(n int) string { return fmt.Sprintf(moreForm, n) }

// MoreCount returns the number of rows in a reason from [MoreReason]. It returns 0 for other texts.
func MoreCount(reason string) (n int) {
	if _, err := fmt.Sscanf(reason, moreForm, &n); err != nil {
		return 0
	}
	return n
}

// IsDescription reports whether a field of a row holds text for people, which only displays use.
func IsDescription(field string) bool {
	return strings.EqualFold(field, "description") || strings.EqualFold(field, "POLICY_DESC")
}

// StatusField returns the field of stateTable's rows that holds the status.
func StatusField(stateTable string) string {
	switch stateTable {
	case StateTAMFeature:
		return FieldOpStatus
	case StateTAMDropMonitor:
		return FieldState
	}
	return FieldStatus
}

// SONiCStatus returns the value of SONiC's field status in a row of stateTable, if that table also has a
// [StatusField] with more words. The field [FieldStatusDetail] then holds the reason, if there is one. It returns ""
// for other tables.
func SONiCStatus(stateTable, status string) string {
	switch {
	case stateTable != StateTAMDropMonitor:
		return ""
	case status == StatusPending || status == StatusFailed:
		return TAMInactive
	}
	return status
}

// Fields of a row of [StateCOPPTrap] about the trap with this id. FieldHWStatus has the value [HWInstalled] if the trap
// is in the ASIC; other traps do not have it. FieldHWError has the reason if the ASIC refused the trap or its group.
const (
	FieldHWStatus = "hw_status"
	HWInstalled   = "installed"
	FieldHWError  = "hw_error"
)

// FieldSONiCState is SONiC's field which has the value [SONiCStateOK] in the status row of a port, PortChannel, VLAN,
// interface or VRF that exists.
const (
	FieldSONiCState = "state"
	SONiCStateOK    = "ok"
)

// SONiCState returns the value of [FieldSONiCState] in a status row of stateTable. It returns "-" if the row must not
// have the field, and "" if rows of the table do not have it at all.
func SONiCState(stateTable, status string) string {
	switch stateTable {
	case StatePort, StateLAG, StateVLAN, StateInterface, StateVRF:
		if status == StatusActive {
			return SONiCStateOK
		}
		return "-"
	}
	return ""
}

// StatusIn returns the status of a row of stateTable. If another program wrote the row with only SONiC's field
// status, it returns SONiC's word.
func StatusIn(stateTable string, fields map[string]string) string {
	return cmp.Or(fields[StatusField(stateTable)], fields[FieldStatus])
}

// Status is a row of STATE_DB: the status of a configured row.
type Status struct {
	Status string
	Reason string    // reason in words; empty if there is none
	Since  time.Time // time of the last change of Status
	By     string    // the process that decides the status: ByTAMMgr, ByOrchAgent
}

// ParseStatus parses a status row of stateTable. It ignores other fields.
func ParseStatus(stateTable, key string, fields map[string]string) (Status, error) {
	r := newReader(stateTable, key, fields, false)
	s := Status{Status: r.text(StatusField(stateTable)), Reason: r.text(FieldReason), By: r.text(FieldBy)}
	if v, ok := r.value(FieldSince); ok {
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			r.bad(FieldSince, v, "a time as in RFC 3339")
		}
		s.Since = t
	}
	return s, r.err()
}

// Fields formats the row for stateTable.
func (s Status) Fields(stateTable string) map[string]string {
	return map[string]string{
		StatusField(stateTable): s.Status,
		FieldReason:             s.Reason,
		FieldSince:              s.Since.UTC().Format(time.RFC3339Nano),
		FieldBy:                 s.By,
	}
}
