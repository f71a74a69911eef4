package ports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
)

// refusedPort adds to the error of creating a port which field of the row is at fault, and its limit. If the status
// does not number the attribute, it is the first field that does not fit what the switch can do.
func (o *Orch) refusedPort(want portSpec, attrs []sai.Attr, err error) error {
	err = orch.AtAttr(err, sai.ObjectTypePort, attrs)
	var call *sai.CallError
	if !errors.As(err, &call) || !orch.Refused(call.Status) {
		return err
	}
	at := *call
	foreign := slices.ContainsFunc(want.lanes, func(l uint32) bool { return !slices.Contains(o.chip.lanes, l) })
	speeds := o.chip.speeds[len(want.lanes)]
	if at.Attr == 0 && foreign && len(o.chip.lanes) > 0 {
		at.Attr = sai.PortAttrHWLaneList
	} else if at.Attr == 0 && speeds != nil && !slices.Contains(speeds, uint64(want.speed)) {
		at.Attr = sai.PortAttrSpeed
	}
	switch at.Attr {
	case sai.PortAttrHWLaneList:
		at.Reason = "lanes " + laneKey(want.lanes)
		if foreign && len(o.chip.lanes) > 0 {
			at.Reason += ": the switch began with ports on lanes " + laneRanges(o.chip.lanes)
		}
	case sai.PortAttrSpeed:
		at.Reason = fmt.Sprintf("speed %d", want.speed)
		if speeds != nil {
			at.Reason += fmt.Sprintf(": a port of %d lanes supports %s", len(want.lanes), numbers(speeds))
		}
	}
	return &at
}

// supportedSpeeds returns the speeds that a port supports, sorted; nil if the switch does not tell.
func supportedSpeeds(ctx context.Context, api sai.API, port sai.OID) []uint64 {
	v, err := getList(ctx, api, sai.Obj(sai.ObjectTypePort, port), sai.PortAttrSupportedSpeed, 16)
	list, ok := v.(sai.Uints)
	if err != nil || !ok || len(list) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(list))
}

// numbers joins numbers for an operator.
func numbers(list []uint64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(texts, ", ")
}

// laneRanges writes sorted lanes as ranges: 0..127, 256..259.
func laneRanges(lanes []uint32) string {
	var parts []string
	for i := 0; i < len(lanes); {
		j := i
		for j+1 < len(lanes) && lanes[j+1] == lanes[j]+1 {
			j++
		}
		part := strconv.FormatUint(uint64(lanes[i]), 10)
		if j > i {
			part += ".." + strconv.FormatUint(uint64(lanes[j]), 10)
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ", ")
}
