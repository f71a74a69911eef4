package ports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
)

// limits holds the lanes of the switch, and the speeds that a port of a number of lanes supports. SAI reports both only
// for existing ports. So the limits are those of the ports at the start of the switch, and they are kept in STATE_DB.
// After a restart other ports may exist, but the reason for a refusal must not change.
type limits struct {
	lanes  []uint32
	speeds map[string]string // by field, which contains the number of lanes
}

const lanesField = "lanes"

// speedsField returns the field with the speeds of ports of n lanes.
func speedsField(n int) string { return fmt.Sprintf("speeds_of_%d_lanes", n) }

// see adds the lanes and speeds of a port.
func (l *limits) see(ctx context.Context, api sai.API, port sai.OID, lanes []uint32) error {
	if l.speeds == nil {
		l.speeds = map[string]string{}
	}
	l.lanes = append(l.lanes, lanes...)
	field := speedsField(len(lanes))
	if _, ok := l.speeds[field]; ok {
		return nil
	}
	v, err := getList(ctx, api, sai.Obj(sai.ObjectTypePort, port), sai.PortAttrSupportedSpeed, 16)
	if _, answered := sai.StatusOf(err); !answered {
		return fmt.Errorf("read the speeds of a port: %w", err)
	}
	list, _ := v.(sai.Uints)
	texts := make([]string, len(list))
	for i, n := range slices.Sorted(slices.Values(list)) {
		texts[i] = strconv.FormatUint(n, 10)
	}
	l.speeds[field] = strings.Join(texts, ", ")
	return nil
}

// remember writes the limits if the switch has just started, or if none are stored. Otherwise it reads them.
func (l *limits) remember(ctx context.Context, table *swss.Table, begun bool) error {
	row, there, err := table.Get(ctx, "")
	if err != nil {
		return err
	}
	if there && !begun {
		l.lanes, l.speeds = parseRanges(row[lanesField]), row
		return nil
	}
	row = swss.FieldValues{lanesField: ranges(l.lanes)}
	for field, speeds := range l.speeds {
		row[field] = speeds
	}
	if err := table.Del(ctx, ""); err != nil {
		return err
	}
	return table.Set(ctx, "", row)
}

// refused adds to an error the field of the row at fault, and its limit. id is the attribute at fault. If it is zero
// and the error does not name one, it is the attribute that exceeds a limit. The reason is the same for a creation and
// a change, since a restart may turn one into the other.
func (l *limits) refused(want portSpec, id sai.AttrID, err error) error {
	var call *sai.CallError
	if !errors.As(err, &call) || !orch.Refused(call.Status) {
		return err
	}
	reasons := map[sai.AttrID]string{}
	lacks := slices.DeleteFunc(slices.Clone(want.lanes), func(n uint32) bool { return slices.Contains(l.lanes, n) })
	if len(l.lanes) > 0 && len(lacks) > 0 {
		reasons[sai.PortAttrHWLaneList] = fmt.Sprintf(": the switch has no lane %d, it began with ports on lanes %s",
			slices.Min(lacks), ranges(l.lanes))
	}
	speeds := l.speeds[speedsField(len(want.lanes))]
	if speeds != "" && !slices.Contains(strings.Split(speeds, ", "), strconv.Itoa(int(want.speed))) {
		reasons[sai.PortAttrSpeed] = ": it runs at one of " + speeds
	}
	if id = cmp.Or(id, call.Attr); id == 0 && reasons[sai.PortAttrHWLaneList] != "" {
		id = sai.PortAttrHWLaneList
	} else if id == 0 && reasons[sai.PortAttrSpeed] != "" {
		id = sai.PortAttrSpeed
	}
	at := *call
	switch id {
	case sai.PortAttrHWLaneList:
		at.Reason = "lanes " + laneKey(want.lanes)
	case sai.PortAttrSpeed:
		at.Reason = fmt.Sprintf("speed %d of a port of %d lanes", want.speed, len(want.lanes))
	default:
		return err
	}
	at.Attr, at.Status, at.Reason = id, sai.StatusInvalidParameter, at.Reason+reasons[id]
	return &at
}

// ranges formats lanes as ranges, for example 0-127,256-259.
func ranges(lanes []uint32) string {
	lanes = slices.Sorted(slices.Values(lanes))
	var parts []string
	for i := 0; i < len(lanes); {
		j := i
		for j+1 < len(lanes) && lanes[j+1] <= lanes[j]+1 {
			j++
		}
		part := strconv.Itoa(int(lanes[i]))
		if j > i {
			part += "-" + strconv.Itoa(int(lanes[j]))
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ",")
}

// parseRanges parses the format of ranges. The text may have been changed by others: it ends at the first range that is
// invalid or not above the one before it, so the lanes are bounded.
func parseRanges(text string) (lanes []uint32) {
	least := uint64(0)
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 16)
		b, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || a < least || b < a {
			break
		}
		for least = a; least <= b; least++ {
			lanes = append(lanes, uint32(least))
		}
	}
	return lanes
}
