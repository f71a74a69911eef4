package sairedis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// A processor executes the requests, each as a whole: it translates object ids, calls the backend, and
// returns what changes in ASIC_DB. Between INIT_VIEW and APPLY_VIEW it is the view that changes.
type processor struct {
	db       *swss.DB
	backend  sai.API
	log      *slog.Logger
	objects  *translator
	counters *FlexCounters
	views    *views
	queries  queries
}

// process executes one request.
func (p *processor) process(ctx context.Context, e swss.Entry) *result {
	if e.Op == "" {
		return p.refuse(message{key: e.Key}, fmt.Errorf("half a request %.200q: %w", e.Key, sai.StatusFailure))
	}
	m, err := decode(e)
	if err != nil {
		return p.refuse(m, fmt.Errorf("%w: %w", err, sai.StatusInvalidParameter))
	}
	res, err := p.dispatch(ctx, m)
	if err != nil {
		return p.refuse(m, err)
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
func (p *processor) refuse(m message, err error) *result {
	status, ok := sai.StatusOf(err)
	if !ok || status == sai.StatusSuccess {
		status = sai.StatusFailure
	}
	p.log.Warn("syncd: refused a request", "op", m.op, "key", m.key, "status", status, "error", err)
	return &result{status: status, op: answerOp(m.op)}
}

// dispatch calls the function for the request.
func (p *processor) dispatch(ctx context.Context, m message) (*result, error) {
	switch m.op {
	case opNotify:
		return p.views.notify(ctx, m)
	case opBulkCreate, opBulkRemove, opBulkSet, opBulkGet:
		return p.bulk(ctx, m)
	case opCreate, opRemove, opSet, opGet:
		return p.single(ctx, m)
	case opGetStats, opClearStats:
		return p.queries.stats(ctx, m)
	case opFlush:
		return p.flush(ctx, m)
	case opAttrQuery, opEnumQuery, opStatsQuery, opStatsStQuery:
		return p.queries.capability(ctx, m)
	case opAvailQuery:
		return p.queries.availability(ctx, m)
	case opStartPoll, opStopPoll, opSetGroup, opDelGroup:
		return p.counters.request(ctx, m)
	}
	return nil, fmt.Errorf("operation %.40q: %w", m.op, sai.StatusNotSupported)
}

// parseKey reads the key of a request.
func parseKey(text string) (sai.Key, error) {
	k, err := sai.ParseKey(text)
	if err == nil && sai.ObjectMeta(keyType(k)) == nil {
		err = noMetadata(k)
	}
	return k, err
}

// noMetadata refuses an object of a type that we know nothing of.
func noMetadata(k sai.Key) error { return fmt.Errorf("%s: no metadata: %w", k, sai.StatusNotSupported) }

// single executes a create, remove, set or get.
func (p *processor) single(ctx context.Context, m message) (*result, error) {
	k, err := parseKey(m.key)
	if err != nil {
		return nil, err
	}
	res := &result{}
	switch m.op {
	case opGet:
		return p.get(ctx, k, m.fields)
	case opCreate:
		err = p.create(ctx, res, k, m.fields)
	case opRemove:
		err = p.remove(ctx, res, k)
	case opSet:
		err = p.set(ctx, res, k, m.fields)
	}
	return res, err
}

func (p *processor) create(ctx context.Context, res *result, k sai.Key, pairs []swss.Pair) error {
	attrs, err := parseAttrs(keyType(k), pairs)
	if err != nil {
		return err
	}
	if p.views.making != nil {
		return p.views.making.create(ctx, res, k, attrs, pairs)
	}
	if isSwitch(k) && p.objects.ids.known(SwitchVID) {
		return fmt.Errorf("create %s: the switch exists already: %w", k, sai.StatusFailure)
	}
	if k.Entry == nil && k.OID != sai.NullOID && p.objects.ids.known(k.OID) {
		return fmt.Errorf("create %s: %w", k, sai.StatusItemAlreadyExists)
	}
	real, err := p.objects.ids.toRealAttrs(attrs)
	if err != nil {
		return err
	}
	if k.Entry != nil {
		return p.createEntry(ctx, res, k, real, pairs)
	}
	return p.createObject(ctx, res, k, real, pairs)
}

// createEntry creates an object without an id; attrs have real ids.
func (p *processor) createEntry(
	ctx context.Context, res *result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair,
) error {
	e, err := p.objects.ids.toRealKey(k)
	if err != nil {
		return err
	}
	if err := p.backend.CreateEntry(ctx, e.Entry, attrs); err != nil {
		return numbered(err, attrs)
	}
	res.write(putRow(ctx, asicState, k, pairs))
	return nil
}

// createObject creates an object with an id; attrs have real ids.
func (p *processor) createObject(
	ctx context.Context, res *result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair,
) error {
	if k.OID == sai.NullOID || k.Type == sai.ObjectTypeSwitch && k.OID != SwitchVID {
		return fmt.Errorf("create %s: the virtual id is not valid: %w", k, sai.StatusInvalidObjectID)
	}
	rid, err := p.backend.Create(ctx, k.Type, attrs)
	if err != nil {
		return numbered(err, attrs)
	}
	p.objects.created(ctx, res, k, rid, pairs)
	if k.Type == sai.ObjectTypeSwitch || k.Type == sai.ObjectTypePort {
		return p.objects.discover(ctx, res, sai.Obj(k.Type, rid))
	}
	return nil
}

// numbered returns the error of a create with SAI's status for the value of an attribute, which has the attribute's
// number: nothing but the status reaches the client.
func numbered(err error, attrs []sai.Attr) error {
	var call *sai.CallError
	if !errors.As(err, &call) || call.Status != sai.StatusInvalidParameter || call.Attr == 0 {
		return err
	}
	i := slices.IndexFunc(attrs, func(a sai.Attr) bool { return a.ID == call.Attr })
	if i < 0 {
		return err
	}
	at := *call
	at.Status = sai.StatusInvalidAttrValue0 - sai.Status(i)
	return &at
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
	return func(to redis.Pipeliner) { to.HSet(ctx, row, args...) }
}

func (p *processor) remove(ctx context.Context, res *result, k sai.Key) error {
	if k.Entry == nil && k.Type == sai.ObjectTypeSwitch {
		return fmt.Errorf("remove %s: %w", k, sai.StatusNotImplemented)
	}
	if p.views.making != nil {
		return p.views.making.remove(ctx, res, k)
	}
	real, err := p.objects.ids.toRealKey(k)
	if err != nil {
		return err
	}
	if err := p.backend.Remove(ctx, real); err != nil {
		return err
	}
	p.removed(ctx, res, k, real)
	return nil
}

// removed forgets an object, and with a port what came with it.
func (p *processor) removed(ctx context.Context, res *result, k, real sai.Key) {
	row := asicState + ":" + sai.FormatKey(k)
	res.write(func(p redis.Pipeliner) { p.Del(ctx, row) })
	if k.Entry != nil {
		return
	}
	gone := append([]sai.OID{real.OID}, p.objects.ids.children[real.OID]...)
	for _, rid := range gone {
		vid, ok := p.objects.ids.vid(rid)
		if !ok {
			continue
		}
		p.objects.ids.remove(vid, rid)
		p.counters.groups.drop(vid)
		res.write(func(p redis.Pipeliner) {
			p.HDel(ctx, vidToRID, vid.String())
			p.HDel(ctx, ridToVID, rid.String())
			if t, ok := VIDType(vid); ok && rid != real.OID {
				p.Del(ctx, asicState+":"+sai.FormatKey(sai.Obj(t, vid)))
			}
		})
	}
}

func (p *processor) set(ctx context.Context, res *result, k sai.Key, pairs []swss.Pair) error {
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
	if p.views.making != nil {
		return p.views.making.set(ctx, res, k, attrs[0], pairs)
	}
	real, err := p.objects.ids.toRealKey(k)
	if err != nil {
		return err
	}
	values, err := p.objects.ids.toRealAttrs(attrs)
	if err != nil {
		return err
	}
	if err := p.backend.Set(ctx, real, values[0]); err != nil {
		return err
	}
	res.write(putRow(ctx, asicState, k, pairs))
	return nil
}

func (p *processor) get(ctx context.Context, k sai.Key, pairs []swss.Pair) (*result, error) {
	want, err := parseAttrs(keyType(k), pairs)
	if err != nil {
		return nil, err
	}
	if p.views.making != nil {
		if err := p.views.making.checkGet(k); err != nil {
			return nil, err
		}
	}
	real, err := p.objects.ids.toRealKey(k)
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
	got, err := p.backend.Get(ctx, real, want)
	status, ok := sai.StatusOf(err)
	if !ok || status != sai.StatusSuccess && status != sai.StatusBufferOverflow {
		return nil, err
	}
	res := &result{status: status}
	for _, a := range got {
		text, err := p.formatGot(ctx, res, a, status)
		if err != nil {
			return nil, err
		}
		res.fields = append(res.fields, swss.Pair{Field: a.ID.String(), Value: text})
	}
	return res, nil
}

// formatGot returns the backend's answer with virtual ids; on overflow lists are counts.
func (p *processor) formatGot(ctx context.Context, res *result, a sai.Attr, status sai.Status) (string, error) {
	if status == sai.StatusBufferOverflow {
		return sai.FormatCount(a.ID, a.Value)
	}
	v, err := p.objects.toVirtual(ctx, res, a)
	if err != nil {
		return "", err
	}
	return sai.FormatValue(a.ID, v)
}

// flush executes an FDB flush, and deletes the rows of the entries that are gone.
func (p *processor) flush(ctx context.Context, m message) (*result, error) {
	_, err := parseKey(m.key)
	if err != nil {
		return nil, err
	}
	attrs, err := parseAttrs(sai.ObjectTypeFDBFlush, m.fields)
	if err != nil {
		return nil, err
	}
	if p.views.making != nil {
		return &result{}, nil // the entries stay until the view is applied
	}
	real, err := p.objects.ids.toRealAttrs(attrs)
	if err != nil {
		return nil, err
	}
	if err := p.backend.FlushFDB(ctx, real); err != nil {
		return nil, err
	}
	res := &result{}
	keys, err := p.db.Client().Keys(ctx, asicState+":"+sai.ObjectTypeFDBEntry.String()+":*").Result()
	if err != nil {
		return nil, err
	}
	for _, row := range keys {
		k, err := sai.ParseKey(strings.TrimPrefix(row, asicState+":"))
		if err != nil {
			continue
		}
		if entry, err := p.objects.ids.toRealKey(k); err == nil {
			_, err = p.backend.Get(ctx, entry, []sai.Attr{sai.Want(sai.FDBEntryAttrType, 1)})
			if status, _ := sai.StatusOf(err); status != sai.StatusItemNotFound {
				continue
			}
		}
		res.write(func(to redis.Pipeliner) { to.Del(ctx, row) })
	}
	return res, nil
}
