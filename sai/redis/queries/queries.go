// Package queries executes the requests that change no object: statistics and capabilities.
package queries

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// A Server executes queries.
type Server struct {
	Backend sai.API
	Objects *objectids.Translator
}

// Stats executes get_stats and clear_stats.
func (q Server) Stats(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	k, err := asicview.ParseKey(m.Key)
	if err != nil {
		return nil, err
	}
	real, err := q.Objects.IDs.RealKey(k)
	if err != nil {
		return nil, err
	}
	ids := make([]sai.StatID, len(m.Fields))
	for i, f := range m.Fields {
		if ids[i], err = protocol.ParseStat(protocol.KeyType(k), f.Field); err != nil {
			return nil, err
		}
	}
	if m.Op == protocol.OpClearStats {
		return &protocol.Result{}, q.Backend.ClearStats(ctx, real, ids)
	}
	values, err := q.Backend.Stats(ctx, real, ids)
	if err != nil {
		return nil, err
	}
	res := &protocol.Result{}
	for i, id := range ids {
		res.Fields = append(res.Fields, swss.Pair{Field: id.String(), Value: strconv.FormatUint(values[i], 10)})
	}
	return res, nil
}

// Capability answers the capability queries.
func (q Server) Capability(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	fields := swss.ToFieldValues(m.Fields)
	t, err := protocol.ParseType(fields["OBJECT_TYPE"])
	if err != nil {
		return nil, err
	}
	if err := q.checkSwitch(m.Key); err != nil {
		return nil, err
	}
	room := 0
	if m.Op != protocol.OpAttrQuery {
		if room, err = strconv.Atoi(fields["LIST_SIZE"]); err != nil || room < 0 {
			return nil, fmt.Errorf("LIST_SIZE %.40q: %w", fields["LIST_SIZE"], sai.StatusInvalidParameter)
		}
	}
	switch m.Op {
	case protocol.OpStatsQuery:
		ids, err := q.Backend.StatsCapability(ctx, t)
		if err != nil {
			return nil, err
		}
		return statsResult(ids, room), nil
	case protocol.OpStatsStQuery:
		stats, err := q.Backend.StreamCapability(ctx, t)
		if err != nil {
			return nil, err
		}
		return streamResult(stats, room), nil
	}
	id, ok := sai.LookupAttr(fields["ATTR_ID"])
	switch {
	case !ok && protocol.IsAttrName(t, fields["ATTR_ID"]):
		return nil, fmt.Errorf("ATTR_ID %.80q: %w", fields["ATTR_ID"], sai.StatusNotSupported)
	case !ok || id.ObjectType() != t:
		return nil, fmt.Errorf("ATTR_ID %.80q: no attribute of %s: %w", fields["ATTR_ID"], t, sai.StatusInvalidParameter)
	}
	if m.Op == protocol.OpAttrQuery {
		return q.attrCapability(ctx, id)
	}
	return q.enumCapability(ctx, id, room)
}

// attrCapability returns the operations that an attribute supports.
func (q Server) attrCapability(ctx context.Context, id sai.AttrID) (*protocol.Result, error) {
	c, err := q.Backend.AttrCapability(ctx, id)
	if err != nil {
		return nil, err
	}
	return &protocol.Result{Fields: []swss.Pair{
		{Field: "CREATE_IMPLEMENTED", Value: strconv.FormatBool(c.Create)},
		{Field: "SET_IMPLEMENTED", Value: strconv.FormatBool(c.Set)},
		{Field: "GET_IMPLEMENTED", Value: strconv.FormatBool(c.Get)},
	}}, nil
}

// enumCapability returns the values that an attribute supports, if they fit into room.
func (q Server) enumCapability(ctx context.Context, id sai.AttrID, room int) (*protocol.Result, error) {
	values, err := q.Backend.EnumCapability(ctx, id)
	if err != nil {
		return nil, err
	}
	count := swss.Pair{Field: "ENUM_COUNT", Value: strconv.Itoa(len(values))}
	if len(values) > room {
		return &protocol.Result{Status: sai.StatusBufferOverflow, Fields: []swss.Pair{count}}, nil
	}
	var list strings.Builder
	for _, v := range values {
		fmt.Fprintf(&list, "%d,", v)
	}
	return &protocol.Result{Fields: []swss.Pair{{Field: "ENUM_CAPABILITIES", Value: list.String()}, count}}, nil
}

func streamResult(stats []sai.StreamedStat, room int) *protocol.Result {
	ids := make([]sai.StatID, len(stats))
	var least strings.Builder
	for i, s := range stats {
		ids[i] = s.ID
		fmt.Fprintf(&least, "%d,", s.Least.Nanoseconds())
	}
	res := statsResult(ids, room)
	if res.Status == sai.StatusSuccess {
		res.Fields = slices.Insert(res.Fields, 2, swss.Pair{Field: "MINIMAL_POLLING_INTERVALS", Value: least.String()})
	}
	return res
}

func statsResult(ids []sai.StatID, room int) *protocol.Result {
	count := swss.Pair{Field: "STAT_COUNT", Value: strconv.Itoa(len(ids))}
	if len(ids) > room {
		return &protocol.Result{Status: sai.StatusBufferOverflow, Fields: []swss.Pair{count}}
	}
	var list, modes strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&list, "%d,", int32(uint32(id)))
		modes.WriteString("1,") // mode in which counters are only read
	}
	return &protocol.Result{Fields: []swss.Pair{
		{Field: "STAT_ENUM", Value: list.String()}, {Field: "STAT_MODES", Value: modes.String()}, count,
	}}
}

// checkSwitch checks the key of a query: the switch's virtual id.
func (q Server) checkSwitch(key string) error {
	vid, err := sai.ParseOID(key)
	if err != nil {
		return err
	}
	if vid == sai.NullOID || !q.Objects.IDs.Known(vid) {
		return fmt.Errorf("switch %s: %w", vid, sai.StatusInvalidObjectID)
	}
	return nil
}

// Availability executes object_type_get_availability_query: attributes, then the object type.
func (q Server) Availability(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	if err := q.checkSwitch(m.Key); err != nil {
		return nil, err
	}
	n := len(m.Fields)
	if n == 0 || m.Fields[n-1].Field != "OBJECT_TYPE" {
		return nil, fmt.Errorf("%s: OBJECT_TYPE must come last: %w", m.Op, sai.StatusInvalidParameter)
	}
	t, err := protocol.ParseType(m.Fields[n-1].Value)
	if err != nil {
		return nil, err
	}
	attrs, err := protocol.ParseAttrs(t, m.Fields[:n-1])
	if err != nil {
		return nil, err
	}
	if attrs, err = q.Objects.IDs.RealAttrs(attrs); err != nil {
		return nil, err
	}
	count, err := q.Backend.Availability(ctx, t, attrs)
	if err != nil {
		return nil, err
	}
	return &protocol.Result{Fields: []swss.Pair{{Field: "OBJECT_COUNT", Value: strconv.FormatUint(count, 10)}}}, nil
}
