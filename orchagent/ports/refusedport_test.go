package ports

import (
	"fmt"
	"testing"

	"tamtam/orch"
	"tamtam/sai"
)

// The field that is at fault is named where the status numbers its attribute, as SAI has it.
func TestRefusedPort(t *testing.T) {
	const refused = "the switch refused a value "
	for _, tt := range []struct {
		lanes  []uint32
		speed  uint32
		status sai.Status
		want   string
	}{
		{[]uint32{1, 2, 3, 4}, 123, sai.StatusInvalidAttrValue0 - 1, refused +
			"(SAI_STATUS_INVALID_PARAMETER SAI_PORT_ATTR_SPEED: speed 123: a port of 4 lanes does not run at it)"},
		{[]uint32{5, 6, 7, 8}, 100000, sai.StatusInvalidAttrValue0, refused +
			"(SAI_STATUS_INVALID_PARAMETER SAI_PORT_ATTR_HW_LANE_LIST: lanes 5,6,7,8: it does not have all of them)"},
		{[]uint32{1, 2, 3, 4}, 123, sai.StatusInvalidParameter, refused + "(SAI_STATUS_INVALID_PARAMETER)"},
		{[]uint32{5, 6, 7, 8}, 123, sai.StatusTableFull, "the switch has no room for it (SAI_STATUS_TABLE_FULL)"},
	} {
		attrs := []sai.Attr{{ID: sai.PortAttrHWLaneList, Value: laneList(tt.lanes)},
			{ID: sai.PortAttrSpeed, Value: sai.Uint(tt.speed)}}
		err := &sai.CallError{Op: "create", Type: sai.ObjectTypePort, Status: tt.status, Reason: "answered by syncd"}
		got := orch.Explain(fmt.Errorf("%w", refusedPort(portSpec{lanes: tt.lanes, speed: tt.speed}, attrs, err)))
		if got != tt.want {
			t.Errorf("%v %d %s:\n got %s\nwant %s", tt.lanes, tt.speed, tt.status, got, tt.want)
		}
	}
}
