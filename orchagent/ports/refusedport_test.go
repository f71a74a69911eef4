package ports

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/sai"
)

// The field at fault is named with its limit. Either the SAI status contains the attribute's index, or the value
// exceeds the initial limits of the switch.
func TestRefusedPort(t *testing.T) {
	const refused = "the switch refused a value (SAI_STATUS_INVALID_PARAMETER"
	known := limits{lanes: []uint32{1, 2, 3, 4, 8}, speeds: map[string]string{speedsField(4): "40000, 100000"}}
	const lanes = " SAI_PORT_ATTR_HW_LANE_LIST: lanes 5,6,7,8: the switch has no lane 5, it began with ports on lanes " +
		"1-4,8)"
	const speed = " SAI_PORT_ATTR_SPEED: speed 123 of a port of 4 lanes: it runs at one of 40000, 100000)"
	for _, tt := range []struct {
		limits limits
		lanes  []uint32
		speed  uint32
		status sai.Status
		want   string
	}{
		{known, []uint32{1, 2, 3, 4}, 123, sai.StatusInvalidAttrValue0 - 1, refused + speed},
		{known, []uint32{8, 7, 6, 5}, 100000, sai.StatusInvalidAttrValue0, refused + lanes},
		{known, []uint32{1, 2, 3, 4}, 123, sai.StatusInvalidParameter, refused + speed},
		{known, []uint32{8, 7, 6, 5}, 123, sai.StatusInvalidParameter, refused + lanes},
		{known, []uint32{1, 2, 3, 4}, 40000, sai.StatusInvalidParameter, refused + ")"},
		{known, []uint32{1, 2}, 123, sai.StatusInvalidAttrValue0 - 1,
			refused + " SAI_PORT_ATTR_SPEED: speed 123 of a port of 2 lanes)"},
		{limits{}, []uint32{5}, 123, sai.StatusInvalidParameter, refused + ")"},
		{limits{}, []uint32{5}, 123, sai.StatusInvalidAttrValue0, refused + " SAI_PORT_ATTR_HW_LANE_LIST: lanes 5)"},
		{known, []uint32{5, 6, 7, 8}, 123, sai.StatusTableFull, "the switch has no room for it (SAI_STATUS_TABLE_FULL)"},
	} {
		want := portSpec{lanes: tt.lanes, speed: tt.speed}
		attrs := []sai.Attr{{ID: sai.PortAttrHWLaneList, Value: laneList(tt.lanes)},
			{ID: sai.PortAttrSpeed, Value: sai.Uint(tt.speed)}}
		err := error(&sai.CallError{Op: "create", Type: sai.ObjectTypePort, Status: tt.status, Reason: "answered by syncd"})
		err = tt.limits.refused(want, 0, orch.AtAttr(err, sai.ObjectTypePort, attrs))
		if got := orch.Explain(fmt.Errorf("%w", err)); got != tt.want {
			t.Errorf("%v %d %s:\n got %s\nwant %s", tt.lanes, tt.speed, tt.status, got, tt.want)
		}
	}
}

// Parsed lanes equal the formatted ones.
func TestRanges(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var lanes []uint32
		for n := rnd.Uint32N(3); n < 70; n += 1 + rnd.Uint32N(3)*rnd.Uint32N(2) {
			lanes = append(lanes, n)
		}
		if got := parseRanges(ranges(lanes)); !slices.Equal(got, lanes) {
			t.Errorf("%v: %s, read as %v", lanes, ranges(lanes), got)
		}
	})
}

// Text that others wrote yields at most the lanes that exist.
func TestHostileRanges(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "x": 0, "4-1": 0, "1,1": 1, "0-3,x,5": 4, "0-65535,0-65535,0-65535": 65_536, "0-9,4-20": 10,
	} {
		if got := parseRanges(text); len(got) != want {
			t.Errorf("%q: %d lanes, want %d", text, len(got), want)
		}
	}
}
