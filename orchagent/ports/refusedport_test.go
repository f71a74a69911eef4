package ports

import (
	"fmt"
	"testing"

	"tamtam/orch"
	"tamtam/sai"
)

// A vendor's switch may number the attribute in its status, or not: then what it can do tells which field is at fault.
func TestRefusedPort(t *testing.T) {
	o := &Orch{asic: asic{chip: &chip{lanes: []uint32{1, 2, 3, 4, 9, 10, 11, 12}, speeds: map[int][]uint64{4: {40000, 100000}}}}}
	const refused = "the switch refused a value "
	for _, tt := range []struct {
		lanes  []uint32
		speed  uint32
		status sai.Status
		want   string
	}{
		{[]uint32{1, 2, 3, 4}, 123, sai.StatusInvalidAttrValue0 - 1, refused +
			"(SAI_STATUS_INVALID_ATTR_VALUE_1 SAI_PORT_ATTR_SPEED: speed 123: a port of 4 lanes supports 40000, 100000)"},
		{[]uint32{5, 6, 7, 8}, 100000, sai.StatusInvalidAttrValue0, refused +
			"(SAI_STATUS_INVALID_ATTR_VALUE_0 SAI_PORT_ATTR_HW_LANE_LIST: lanes 5,6,7,8: the switch began with ports on lanes 1..4, 9..12)"},
		{[]uint32{5, 6, 7, 8}, 123, sai.StatusInvalidParameter, refused +
			"(SAI_STATUS_INVALID_PARAMETER SAI_PORT_ATTR_HW_LANE_LIST: lanes 5,6,7,8: the switch began with ports on lanes 1..4, 9..12)"},
		{[]uint32{1, 2, 3, 4}, 123, sai.StatusInvalidParameter, refused +
			"(SAI_STATUS_INVALID_PARAMETER SAI_PORT_ATTR_SPEED: speed 123: a port of 4 lanes supports 40000, 100000)"},
		{[]uint32{1, 2, 3, 4}, 100000, sai.StatusInvalidParameter, refused + "(SAI_STATUS_INVALID_PARAMETER)"},
		{[]uint32{1, 2}, 7, sai.StatusInvalidParameter, refused + "(SAI_STATUS_INVALID_PARAMETER)"},
		{[]uint32{1, 2}, 7, sai.StatusInvalidAttrValue0 - 1, refused + "(SAI_STATUS_INVALID_ATTR_VALUE_1 SAI_PORT_ATTR_SPEED: speed 7)"},
		{[]uint32{5, 6, 7, 8}, 123, sai.StatusTableFull, "the switch has no room for it (SAI_STATUS_TABLE_FULL)"},
	} {
		attrs := []sai.Attr{{ID: sai.PortAttrHWLaneList, Value: laneList(tt.lanes)},
			{ID: sai.PortAttrSpeed, Value: sai.Uint(tt.speed)}}
		err := &sai.CallError{Op: "create", Type: sai.ObjectTypePort, Status: tt.status, Reason: "answered by syncd"}
		got := orch.Explain(fmt.Errorf("%w", o.refusedPort(portSpec{lanes: tt.lanes, speed: tt.speed}, attrs, err)))
		if got != tt.want {
			t.Errorf("%v %d %s:\n got %s\nwant %s", tt.lanes, tt.speed, tt.status, got, tt.want)
		}
	}
}
