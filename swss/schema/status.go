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
	OperUnknown     = "unknown" // so is the state of the ASIC

	// FieldLastChange is when it became that, in ns since 1970, in APPL_DB. It is not there where nobody saw it.
	FieldLastChange = "last_change"
)

// LastOper returns a row of a port or LAG with the oper_status of the row before, nil if there was none, while it is
// unknown. A host stack that took unknown for down would lose neighbours and routing sessions to each restart of syncd.
func LastOper(was, row map[string]string) map[string]string {
	if last, known := was[FieldOperStatus]; known && row[FieldOperStatus] == OperUnknown {
		row = maps.Clone(row)
		row[FieldOperStatus] = last
	}
	return row
}

// Processes that own a status row.
const (
	ByTAMMgr    = "tammgrd"
	ByOrchAgent = "orchagent"
)

// MoreRows is the key of the row that stands for those that a limited table of statuses does not list.
const MoreRows = "more"

// moreForm is the reason of a row MoreRows.
const moreForm = "%d more rows are not in force"

// MoreReason returns the reason of the row [MoreRows] for n rows.
func MoreReason(n int) string { return fmt.Sprintf(moreForm, n) }

// MoreCount returns the number of rows in a reason that [MoreReason] made; 0 for another text.
func MoreCount(reason string) (n int) {
	if _, err := fmt.Sscanf(reason, moreForm, &n); err != nil {
		return 0
	}
	return n
}

// IsDescription reports whether a field of a row holds text for people, which affects nothing but
// displays.
func IsDescription(field string) bool {
	return strings.EqualFold(field, "description") || strings.EqualFold(field, "POLICY_DESC")
}

// StatusField is the field of stateTable's rows that holds the status.
func StatusField(stateTable string) string {
	switch stateTable {
	case StateTAMFeature:
		return FieldOpStatus
	case StateTAMDropMonitor:
		return FieldState
	}
	return FieldStatus
}

// SONiCStatus is what the field status of a row of stateTable says besides its [StatusField], where SONiC has fewer
// words for it; the field [FieldStatusDetail] has the reason then, while there is one. "": the table is not such a one.
func SONiCStatus(stateTable, status string) string {
	switch {
	case stateTable != StateTAMDropMonitor:
		return ""
	case status == StatusPending || status == StatusFailed:
		return TAMInactive
	}
	return status
}

// StatusIn is the status of a row of stateTable. A row of the drop monitor by somebody who has SONiC's field alone says
// that it is active, or not: then this is SONiC's word.
func StatusIn(stateTable string, fields map[string]string) string {
	return cmp.Or(fields[StatusField(stateTable)], fields[FieldStatus])
}

// Status is a row of STATE_DB: what became of a configured row.
type Status struct {
	Status string
	Reason string    // in words; empty when there is nothing to say
	Since  time.Time // when Status became what it is
	By     string    // the process that decides it: ByTAMMgr, ByOrchAgent
}

// ParseStatus reads a status row of stateTable; other fields are ignored.
func ParseStatus(stateTable, key string, fields map[string]string) (Status, error) {
	r := newReader(stateTable, key, fields, false)
	s := Status{Status: r.text(StatusField(stateTable)), Reason: r.text(FieldReason), By: r.text(FieldBy)}
	if v, ok := r.take(FieldSince); ok {
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
