package sairedis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// process does one request.
func (s *Server) process(ctx context.Context, e swss.Entry) *result {
	if e.Op == "" {
		return s.refuse(message{key: e.Key}, fmt.Errorf("half a request %.200q: %w", e.Key, sai.StatusFailure))
	}
	m, err := decode(e)
	if err != nil {
		return s.refuse(m, fmt.Errorf("%w: %w", err, sai.StatusInvalidParameter))
	}
	res, err := s.dispatch(ctx, m)
	if err != nil {
		return s.refuse(m, err)
	}
	res.op = answerOp(m.op)
	return res
}

// answerOp returns the op of the answer to a request.
func answerOp(op string) string {
	switch op {
	case opNotify:
		return opNotify
	case opFlush:
		return "flushresponse"
	case opAttrQuery, opEnumQuery, opStatsQuery, opStatsStQuery, opAvailQuery:
		return strings.TrimSuffix(op, "query") + "response"
	}
	return opResponse
}

// refuse answers a request with the status in err.
func (s *Server) refuse(m message, err error) *result {
	status, ok := sai.StatusOf(err)
	if !ok || status == sai.StatusSuccess {
		status = sai.StatusFailure
	}
	s.log.Warn("syncd: refused a request", "op", m.op, "key", m.key, "status", status, "error", err)
	return &result{status: status, op: answerOp(m.op)}
}

// dispatch calls what does the request.
func (s *Server) dispatch(ctx context.Context, m message) (*result, error) {
	switch m.op {
	case opNotify:
		return s.notifySyncd(ctx, m)
	case opBulkCreate, opBulkRemove, opBulkSet, opBulkGet:
		return s.bulk(ctx, m)
	case opCreate, opRemove, opSet, opGet:
		return s.single(ctx, m)
	case opGetStats, opClearStats:
		return s.getStats(ctx, m)
	case opFlush:
		return s.flush(ctx, m)
	case opAttrQuery, opEnumQuery, opStatsQuery, opStatsStQuery:
		return s.capability(ctx, m)
	case opAvailQuery:
		return s.availability(ctx, m)
	case opStartPoll, opStopPoll, opSetGroup, opDelGroup:
		return s.counterRequest(ctx, m)
	}
	return nil, fmt.Errorf("operation %.40q: %w", m.op, sai.StatusNotSupported)
}

// parseKey reads the key of a request.
func parseKey(text string) (sai.Key, error) {
	k, err := sai.ParseKey(text)
	if err == nil && sai.ObjectMeta(keyType(k)) == nil {
		err = fmt.Errorf("%s: no metadata: %w", k, sai.StatusNotSupported)
	}
	return k, err
}

// single does a create, remove, set or get.
func (s *Server) single(ctx context.Context, m message) (*result, error) {
	k, err := parseKey(m.key)
	if err != nil {
		return nil, err
	}
	res := &result{}
	switch m.op {
	case opGet:
		return s.get(ctx, k, m.fields)
	case opCreate:
		err = s.create(ctx, res, k, m.fields)
	case opRemove:
		err = s.remove(ctx, res, k)
	case opSet:
		err = s.set(ctx, res, k, m.fields)
	}
	return res, err
}

func (s *Server) create(ctx context.Context, res *result, k sai.Key, pairs []swss.Pair) error {
	attrs, err := parseAttrs(keyType(k), pairs)
	if err != nil {
		return err
	}
	if s.view != nil {
		return s.view.create(ctx, res, k, attrs, pairs)
	}
	if isSwitch(k) && s.ids.known(SwitchVID) {
		return fmt.Errorf("create %s: the switch exists already: %w", k, sai.StatusFailure)
	}
	if k.Entry == nil && k.OID != sai.NullOID && s.ids.known(k.OID) {
		return fmt.Errorf("create %s: %w", k, sai.StatusItemAlreadyExists)
	}
	real, err := s.ids.toRealAttrs(attrs)
	if err != nil {
		return err
	}
	if k.Entry != nil {
		return s.createEntry(ctx, res, k, real, pairs)
	}
	return s.createObject(ctx, res, k, real, pairs)
}

// createEntry creates an object that has no id; attrs name real ids.
func (s *Server) createEntry(
	ctx context.Context, res *result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair,
) error {
	e, err := s.ids.toRealKey(k)
	if err != nil {
		return err
	}
	if err := s.backend.CreateEntry(ctx, e.Entry, attrs); err != nil {
		return err
	}
	res.write(putRow(ctx, asicState, k, pairs))
	return nil
}

// createObject creates an object with an id; attrs name real ids.
func (s *Server) createObject(
	ctx context.Context, res *result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair,
) error {
	if k.OID == sai.NullOID || k.Type == sai.ObjectTypeSwitch && k.OID != SwitchVID {
		return fmt.Errorf("create %s: the virtual id is not valid: %w", k, sai.StatusInvalidObjectID)
	}
	rid, err := s.backend.Create(ctx, k.Type, attrs)
	if err != nil {
		return err
	}
	s.created(ctx, res, k, rid, pairs)
	if k.Type == sai.ObjectTypeSwitch || k.Type == sai.ObjectTypePort {
		return s.discover(ctx, res, sai.Obj(k.Type, rid))
	}
	return nil
}

// created notes a new object.
func (s *Server) created(ctx context.Context, res *result, k sai.Key, rid sai.OID, pairs []swss.Pair) {
	s.ids.add(k.OID, rid)
	res.write(putRow(ctx, asicState, k, pairs))
	res.mapped = append(res.mapped, k.OID.String(), rid.String())
}

// putRow writes attributes into the row of an object.
func putRow(ctx context.Context, view string, k sai.Key, pairs []swss.Pair) func(redis.Pipeliner) {
	if len(pairs) == 0 {
		pairs = nullPair
	}
	args := make([]any, 0, 2*len(pairs))
	for _, p := range pairs {
		args = append(args, p.Field, p.Value)
	}
	row := view + ":" + sai.FormatKey(k)
	return func(p redis.Pipeliner) { p.HSet(ctx, row, args...) }
}

func (s *Server) remove(ctx context.Context, res *result, k sai.Key) error {
	if k.Entry == nil && k.Type == sai.ObjectTypeSwitch {
		return fmt.Errorf("remove %s: %w", k, sai.StatusNotImplemented)
	}
	if s.view != nil {
		return s.view.remove(ctx, res, k)
	}
	real, err := s.ids.toRealKey(k)
	if err != nil {
		return err
	}
	if err := s.backend.Remove(ctx, real); err != nil {
		return err
	}
	s.removed(ctx, res, k, real)
	return nil
}

// removed forgets an object, and with a port what came with it.
func (s *Server) removed(ctx context.Context, res *result, k, real sai.Key) {
	row := asicState + ":" + sai.FormatKey(k)
	res.write(func(p redis.Pipeliner) { p.Del(ctx, row) })
	if k.Entry != nil {
		return
	}
	gone := append([]sai.OID{real.OID}, s.ids.children[real.OID]...)
	for _, rid := range gone {
		vid, ok := s.ids.vid(rid)
		if !ok {
			continue
		}
		s.ids.remove(vid, rid)
		s.flex.drop(vid)
		res.write(func(p redis.Pipeliner) {
			p.HDel(ctx, vidToRID, vid.String())
			p.HDel(ctx, ridToVID, rid.String())
			if t, ok := VIDType(vid); ok && rid != real.OID {
				p.Del(ctx, asicState+":"+sai.FormatKey(sai.Obj(t, vid)))
			}
		})
	}
}

func (s *Server) set(ctx context.Context, res *result, k sai.Key, pairs []swss.Pair) error {
	if len(pairs) != 1 {
		return fmt.Errorf("set %s: %d attributes, want one: %w", k, len(pairs), sai.StatusInvalidParameter)
	}
	attrs, err := parseAttrs(keyType(k), pairs)
	if err != nil {
		return err
	}
	if len(attrs) != 1 {
		return fmt.Errorf("set %s: no attribute: %w", k, sai.StatusInvalidParameter)
	}
	if s.view != nil {
		return s.view.set(ctx, res, k, attrs[0], pairs)
	}
	real, err := s.ids.toRealKey(k)
	if err != nil {
		return err
	}
	values, err := s.ids.toRealAttrs(attrs)
	if err != nil {
		return err
	}
	if err := s.backend.Set(ctx, real, values[0]); err != nil {
		return err
	}
	res.write(putRow(ctx, asicState, k, pairs))
	return nil
}

func (s *Server) get(ctx context.Context, k sai.Key, pairs []swss.Pair) (*result, error) {
	want, err := parseAttrs(keyType(k), pairs)
	if err != nil {
		return nil, err
	}
	if s.view != nil {
		if err := s.view.checkGet(k); err != nil {
			return nil, err
		}
	}
	real, err := s.ids.toRealKey(k)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 {
		return nil, fmt.Errorf("get %s: no attribute asked for: %w", k, sai.StatusInvalidParameter)
	}
	for i, a := range want {
		if n, list := sai.ListLen(a.Value); list && n == 0 {
			return nil, fmt.Errorf("get %s: %s has no room: %w", k, a.ID, sai.StatusInvalidParameter)
		}
		want[i].Value = sai.MapOIDs(a.Value, func(sai.OID) sai.OID { return sai.NullOID })
	}
	got, err := s.backend.Get(ctx, real, want)
	status, ok := sai.StatusOf(err)
	if !ok || status != sai.StatusSuccess && status != sai.StatusBufferOverflow {
		return nil, err
	}
	res := &result{status: status}
	for _, a := range got {
		text, err := s.formatGot(ctx, res, a, status)
		if err != nil {
			return nil, err
		}
		res.fields = append(res.fields, swss.Pair{Field: a.ID.String(), Value: text})
	}
	return res, nil
}

// formatGot returns what the backend said, with virtual ids; at an overflow
// lists are counts.
func (s *Server) formatGot(ctx context.Context, res *result, a sai.Attr, status sai.Status) (string, error) {
	if status == sai.StatusBufferOverflow {
		return sai.FormatCount(a.ID, a.Value)
	}
	v, err := s.toVirtual(ctx, res, a)
	if err != nil {
		return "", err
	}
	return sai.FormatValue(a.ID, v)
}
