package sairedis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// Stats implements [sai.API].
func (c *Client) Stats(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	fields, err := c.stats(ctx, protocol.OpGetStats, k, ids)
	if err != nil {
		return nil, err
	}
	if len(fields) != len(ids) {
		return nil, c.lose(
			fmt.Errorf("sairedis: answer to %s %s: %d values, want %d", protocol.OpGetStats, k, len(fields), len(ids)),
		)
	}
	values := make([]uint64, len(ids))
	for i, f := range fields {
		n, err := strconv.ParseUint(f.Value, 10, 64)
		if err != nil || f.Field != ids[i].String() {
			return nil, fmt.Errorf("sairedis: answer to %s %s: %s=%.40q, want a number for %s",
				protocol.OpGetStats, k, f.Field, f.Value, ids[i])
		}
		values[i] = n
	}
	return values, nil
}

// ClearStats implements [sai.API].
func (c *Client) ClearStats(ctx context.Context, k sai.Key, ids []sai.StatID) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	_, err := c.stats(ctx, protocol.OpClearStats, k, ids)
	return err
}

func (c *Client) stats(ctx context.Context, op string, k sai.Key, ids []sai.StatID) ([]swss.Pair, error) {
	if err := c.check.CheckStats(k, ids); err != nil {
		return nil, err
	}
	fields := make([]swss.Pair, len(ids))
	for i, id := range ids {
		fields[i].Field = id.String()
	}
	return c.query(ctx, protocol.Message{Key: sai.FormatKey(k), Op: op, Fields: fields}, protocol.OpResponse, k.Type)
}

// query sends a request whose answer has fields.
func (c *Client) query(
	ctx context.Context,
	req protocol.Message,
	answer string,
	t sai.ObjectType,
) ([]swss.Pair, error) {
	c.rec.attrs("q", req.Op+"|"+req.Key, req.Fields)
	status, fields, err := c.do(ctx, req, answer)
	if err != nil {
		return nil, err
	}
	c.rec.attrs("Q", req.Op+"|"+status.String(), fields)
	return fields, statusError(req.Op, t, status)
}

// FlushFDB implements [sai.API]. Between InitView and ApplyView it does nothing. SONiC's syncd would stop, since its
// ASIC lacks the objects that the flush names. Learned entries disappear with the old view.
func (c *Client) FlushFDB(ctx context.Context, attrs []sai.Attr) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := c.check.CheckFlush(attrs); err != nil {
		return err
	}
	pairs, err := protocol.FormatAttrs(attrs)
	if err != nil {
		return err
	}
	if c.inView {
		return nil
	}
	key := sai.FormatKey(sai.Obj(sai.ObjectTypeFDBFlush, protocol.SwitchVID))
	c.rec.attrs("f", key, pairs)
	status, _, err := c.do(
		ctx,
		protocol.Message{Key: key, Op: protocol.OpFlush, Fields: pairs},
		protocol.OpFlush+"response",
	)
	if err != nil {
		return err
	}
	c.rec.line("F", status.String())
	return statusError(protocol.OpFlush, sai.ObjectTypeFDBFlush, status)
}

// ask sends a query on the switch: an object type and one more field.
func (c *Client) ask(
	ctx context.Context, op, answer string, t sai.ObjectType, fields ...swss.Pair,
) (map[string]string, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	if c.check.Switch() == sai.NullOID {
		return nil, refuse(op, t, sai.StatusInvalidParameter, "the switch must be created first")
	}
	got, err := c.query(ctx, protocol.Message{Key: protocol.SwitchVID.String(), Op: op, Fields: fields}, answer, t)
	return swss.ToFieldValues(got), err
}

func typeField(t sai.ObjectType) swss.Pair { return swss.Pair{Field: "OBJECT_TYPE", Value: t.String()} }

// known refuses queries about types and attributes that SAI's metadata lacks, because they would stop syncd.
func known(op string, t sai.ObjectType, id sai.AttrID) error {
	if sai.ObjectMeta(t) == nil || id != 0 && sai.Meta(id) == nil {
		return &sai.CallError{
			Op: op, Type: t, Attr: id, Status: sai.StatusInvalidParameter, Reason: "unknown to SAI's metadata",
		}
	}
	return nil
}

// AttrCapability implements [sai.API].
func (c *Client) AttrCapability(ctx context.Context, id sai.AttrID) (sai.Capability, error) {
	t := id.ObjectType()
	if err := known(protocol.OpAttrQuery, t, id); err != nil {
		return sai.Capability{}, err
	}
	got, err := c.ask(ctx, protocol.OpAttrQuery, "attribute_capability_response", t,
		typeField(t), swss.Pair{Field: "ATTR_ID", Value: id.String()})
	return sai.Capability{
		Create: got["CREATE_IMPLEMENTED"] == "true",
		Set:    got["SET_IMPLEMENTED"] == "true",
		Get:    got["GET_IMPLEMENTED"] == "true",
	}, err
}

// maxEnumValues is the list capacity in capability queries.
const maxEnumValues = 512

// EnumCapability implements [sai.API].
func (c *Client) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	t := id.ObjectType()
	if err := known(protocol.OpEnumQuery, t, id); err != nil {
		return nil, err
	}
	got, err := c.ask(ctx, protocol.OpEnumQuery, "attr_enum_values_capability_response", t, typeField(t),
		swss.Pair{Field: "ATTR_ID", Value: id.String()}, swss.Pair{Field: "LIST_SIZE", Value: strconv.Itoa(maxEnumValues)})
	if err != nil {
		return nil, err
	}
	values, err := numbers(got["ENUM_CAPABILITIES"])
	if err != nil {
		return nil, fmt.Errorf("sairedis: enum capability of %s: %w", id, err)
	}
	list := make([]sai.Enum, len(values))
	for i, n := range values {
		list[i] = sai.Enum(n)
	}
	return list, nil
}

// numbers decodes "1,2,3,". SONiC leaves a comma at the end.
func numbers(text string) ([]int64, error) {
	var list []int64
	for w := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		if w == "" {
			continue
		}
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.40q is no number", w)
		}
		list = append(list, n)
	}
	return list, nil
}

// StatsCapability implements [sai.API].
func (c *Client) StatsCapability(ctx context.Context, t sai.ObjectType) ([]sai.StatID, error) {
	list, _, err := c.countable(ctx, protocol.OpStatsQuery, "stats_capability_response", t)
	return list, err
}

// countable asks for statistics of a type, and returns them with all fields of the answer.
func (c *Client) countable(ctx context.Context, op, answer string, t sai.ObjectType) (
	list []sai.StatID, got map[string]string, err error,
) {
	if err := known(op, t, 0); err != nil {
		return nil, nil, err
	}
	room := swss.Pair{Field: "LIST_SIZE", Value: strconv.Itoa(maxEnumValues)}
	if got, err = c.ask(ctx, op, answer, t, typeField(t), room); err != nil {
		return nil, nil, err
	}
	values, err := numbers(got["STAT_ENUM"])
	if err != nil {
		return nil, nil, fmt.Errorf("sairedis: statistics of %s: %w", t, err)
	}
	for _, n := range values {
		list = append(list, sai.StatID(uint64(t)<<32|uint64(uint32(n))))
	}
	return list, got, nil
}

// StreamCapability implements [sai.API].
func (c *Client) StreamCapability(ctx context.Context, t sai.ObjectType) ([]sai.StreamedStat, error) {
	ids, got, err := c.countable(ctx, protocol.OpStatsStQuery, "stats_st_capability_response", t)
	if err != nil {
		return nil, err
	}
	least, err := numbers(got["MINIMAL_POLLING_INTERVALS"])
	if err != nil || len(least) != len(ids) {
		return nil, fmt.Errorf("sairedis: %d least intervals for %d statistics of %s (%v)", len(least), len(ids), t, err)
	}
	list := make([]sai.StreamedStat, len(ids))
	for i, id := range ids {
		list[i] = sai.StreamedStat{ID: id, Least: time.Duration(least[i])}
	}
	return list, nil
}

// Availability implements [sai.API].
func (c *Client) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	if err := known(protocol.OpAvailQuery, t, 0); err != nil {
		return 0, err
	}
	for _, a := range attrs {
		if sai.Meta(a.ID) == nil || a.ID.ObjectType() != t {
			return 0, &sai.CallError{
				Op: protocol.OpAvailQuery, Type: t, Attr: a.ID, Status: sai.StatusInvalidParameter,
				Reason: "no such attribute of this type",
			}
		}
	}
	pairs, err := protocol.FormatAttrs(attrs)
	if err == nil {
		err = c.checkNamed(ctx, protocol.OpAvailQuery, t, attrs)
	}
	if err != nil {
		return 0, err
	}
	got, err := c.ask(
		ctx,
		protocol.OpAvailQuery,
		"object_type_get_availability_response",
		t,
		append(pairs, typeField(t))...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(got["OBJECT_COUNT"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("sairedis: availability of %s: OBJECT_COUNT=%.40q is no number", t, got["OBJECT_COUNT"])
	}
	return n, nil
}
