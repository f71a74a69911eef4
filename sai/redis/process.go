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
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/redis/queries"
	"tamtam/swss"
)

// A processor executes the requests, each as a whole. It translates object ids, calls the backend, and returns the
// changes of ASIC_DB. Between INIT_VIEW and APPLY_VIEW it changes the view instead.
type processor struct {
	db       *swss.DB
	backend  sai.API
	log      *slog.Logger
	objects  *objectids.Translator
	counters *flex.Counters
	views    *views
	queries  queries.Server
}

// process executes one request.
func (p *processor) process(ctx context.Context, e swss.Entry) *protocol.Result {
	if e.Op == "" {
		return p.refuse(protocol.Message{Key: e.Key}, fmt.Errorf("half a request %.200q: %w", e.Key, sai.StatusFailure))
	}
	m, err := protocol.Decode(e)
	if err != nil {
		return p.refuse(m, fmt.Errorf("%w: %w", err, sai.StatusInvalidParameter))
	}
	res, err := p.dispatch(ctx, m)
	if err != nil {
		return p.refuse(m, err)
	}
	res.Op = protocol.AnswerOp(m.Op)
	return res
}

// refuse answers a request with the status in err.
func (p *processor) refuse(m protocol.Message, err error) *protocol.Result {
	status, ok := sai.StatusOf(err)
	if !ok || status == sai.StatusSuccess {
		status = sai.StatusFailure
	}
	p.log.Warn("syncd: refused a request", "op", m.Op, "key", m.Key, "status", status, "error", err)
	return &protocol.Result{Status: status, Op: protocol.AnswerOp(m.Op)}
}

// dispatch calls the function for the request.
func (p *processor) dispatch(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	switch m.Op {
	case protocol.OpNotify:
		return p.views.notify(ctx, m)
	case protocol.OpBulkCreate, protocol.OpBulkRemove, protocol.OpBulkSet, protocol.OpBulkGet:
		return p.bulk(ctx, m)
	case protocol.OpCreate, protocol.OpRemove, protocol.OpSet, protocol.OpGet:
		return p.single(ctx, m)
	case protocol.OpGetStats, protocol.OpClearStats:
		return p.queries.Stats(ctx, m)
	case protocol.OpFlush:
		return p.flush(ctx, m)
	case protocol.OpAttrQuery, protocol.OpEnumQuery, protocol.OpStatsQuery, protocol.OpStatsStQuery:
		return p.queries.Capability(ctx, m)
	case protocol.OpAvailQuery:
		return p.queries.Availability(ctx, m)
	case protocol.OpStartPoll, protocol.OpStopPoll, protocol.OpSetGroup, protocol.OpDelGroup:
		return p.counters.Request(ctx, m)
	}
	return nil, fmt.Errorf("operation %.40q: %w", m.Op, sai.StatusNotSupported)
}

// single executes a create, remove, set or get.
func (p *processor) single(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	k, err := asicview.ParseKey(m.Key)
	if err != nil {
		return nil, err
	}
	res := &protocol.Result{}
	switch m.Op {
	case protocol.OpGet:
		return p.get(ctx, k, m.Fields)
	case protocol.OpCreate:
		err = p.create(ctx, res, k, m.Fields)
	case protocol.OpRemove:
		err = p.remove(ctx, res, k)
	case protocol.OpSet:
		err = p.set(ctx, res, k, m.Fields)
	}
	return res, err
}

func (p *processor) create(ctx context.Context, res *protocol.Result, k sai.Key, pairs []swss.Pair) error {
	attrs, err := protocol.ParseAttrs(protocol.KeyType(k), pairs)
	if err != nil {
		return err
	}
	if p.views.making != nil {
		return p.views.making.create(ctx, res, k, attrs, pairs)
	}
	if asicview.IsSwitch(k) && p.objects.IDs.Known(protocol.SwitchVID) {
		return fmt.Errorf("create %s: the switch exists already: %w", k, sai.StatusFailure)
	}
	if k.Entry == nil && k.OID != sai.NullOID && p.objects.IDs.Known(k.OID) {
		return fmt.Errorf("create %s: %w", k, sai.StatusItemAlreadyExists)
	}
	real, err := p.objects.IDs.RealAttrs(attrs)
	if err != nil {
		return err
	}
	if k.Entry != nil {
		return p.createEntry(ctx, res, k, real, pairs)
	}
	return p.createObject(ctx, res, k, real, pairs)
}

// createEntry creates an object without an id. attrs have real ids.
func (p *processor) createEntry(
	ctx context.Context, res *protocol.Result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair,
) error {
	e, err := p.objects.IDs.RealKey(k)
	if err != nil {
		return err
	}
	if err := p.backend.CreateEntry(ctx, e.Entry, attrs); err != nil {
		return numbered(err, attrs)
	}
	res.Write(protocol.PutRow(ctx, protocol.ASICState, k, pairs))
	return nil
}

// createObject creates an object with an id. attrs have real ids.
func (p *processor) createObject(
	ctx context.Context, res *protocol.Result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair,
) error {
	if k.OID == sai.NullOID || k.Type == sai.ObjectTypeSwitch && k.OID != protocol.SwitchVID {
		return fmt.Errorf("create %s: the virtual id is not valid: %w", k, sai.StatusInvalidObjectID)
	}
	rid, err := p.backend.Create(ctx, k.Type, attrs)
	if err != nil {
		return numbered(err, attrs)
	}
	p.objects.Created(ctx, res, k, rid, pairs)
	if k.Type == sai.ObjectTypeSwitch || k.Type == sai.ObjectTypePort {
		return p.objects.Discover(ctx, res, sai.Obj(k.Type, rid))
	}
	return nil
}

// numbered adds the index of an invalid attribute to the error of a create, as SAI's status for that index. Only the
// status reaches the client.
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

func (p *processor) remove(ctx context.Context, res *protocol.Result, k sai.Key) error {
	if k.Entry == nil && k.Type == sai.ObjectTypeSwitch {
		return fmt.Errorf("remove %s: %w", k, sai.StatusNotImplemented)
	}
	if p.views.making != nil {
		return p.views.making.remove(ctx, res, k)
	}
	real, err := p.objects.IDs.RealKey(k)
	if err != nil {
		return err
	}
	if err := p.backend.Remove(ctx, real); err != nil {
		return err
	}
	p.removed(ctx, res, k, real)
	return nil
}

// removed forgets an object. If the object is a port, it also forgets the objects that came with the port.
func (p *processor) removed(ctx context.Context, res *protocol.Result, k, real sai.Key) {
	row := protocol.ASICState + ":" + sai.FormatKey(k)
	res.Write(func(p redis.Pipeliner) { p.Del(ctx, row) })
	if k.Entry != nil {
		return
	}
	gone := append([]sai.OID{real.OID}, p.objects.IDs.Children[real.OID]...)
	for _, rid := range gone {
		vid, ok := p.objects.IDs.VID(rid)
		if !ok {
			continue
		}
		p.objects.IDs.Remove(vid, rid)
		p.counters.Groups.Drop(vid)
		res.Write(func(p redis.Pipeliner) {
			p.HDel(ctx, protocol.KeyVIDToRID, vid.String())
			p.HDel(ctx, protocol.KeyRIDToVID, rid.String())
			if t, ok := protocol.VIDType(vid); ok && rid != real.OID {
				p.Del(ctx, protocol.ASICState+":"+sai.FormatKey(sai.Obj(t, vid)))
			}
		})
	}
}

func (p *processor) set(ctx context.Context, res *protocol.Result, k sai.Key, pairs []swss.Pair) error {
	if len(pairs) != 1 {
		return fmt.Errorf("set %s: %d attributes, want one: %w", k, len(pairs), sai.StatusInvalidParameter)
	}
	attrs, err := protocol.ParseAttrs(protocol.KeyType(k), pairs)
	if err != nil {
		return err
	}
	if len(attrs) != 1 {
		return fmt.Errorf("set %s: no attribute: %w", k, sai.StatusInvalidParameter)
	}
	if p.views.making != nil {
		return p.views.making.set(ctx, res, k, attrs[0], pairs)
	}
	real, err := p.objects.IDs.RealKey(k)
	if err != nil {
		return err
	}
	values, err := p.objects.IDs.RealAttrs(attrs)
	if err != nil {
		return err
	}
	if err := p.backend.Set(ctx, real, values[0]); err != nil {
		return err
	}
	res.Write(protocol.PutRow(ctx, protocol.ASICState, k, pairs))
	return nil
}

func (p *processor) get(ctx context.Context, k sai.Key, pairs []swss.Pair) (*protocol.Result, error) {
	want, err := protocol.ParseAttrs(protocol.KeyType(k), pairs)
	if err != nil {
		return nil, err
	}
	if p.views.making != nil {
		if err := p.views.making.checkGet(k); err != nil {
			return nil, err
		}
	}
	real, err := p.objects.IDs.RealKey(k)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 {
		return nil, fmt.Errorf("get %s: no attribute asked for: %w", k, sai.StatusInvalidParameter)
	}
	for i, a := range want {
		want[i].Value = sai.MapOIDs(a.Value, func(sai.OID) sai.OID { return sai.NullOID })
	}
	got, err := p.backend.Get(ctx, real, want)
	status, ok := sai.StatusOf(err)
	if !ok || status != sai.StatusSuccess && status != sai.StatusBufferOverflow {
		return nil, err
	}
	if p.views.making != nil && status == sai.StatusSuccess {
		p.views.making.noteRead(k, got)
	}
	res := &protocol.Result{Status: status}
	for _, a := range got {
		text, err := p.formatGot(ctx, res, a, status)
		if err != nil {
			return nil, err
		}
		res.Fields = append(res.Fields, swss.Pair{Field: a.ID.String(), Value: text})
	}
	return res, nil
}

// formatGot returns the backend's answer with virtual ids. On overflow lists become counts.
func (p *processor) formatGot(
	ctx context.Context,
	res *protocol.Result,
	a sai.Attr,
	status sai.Status,
) (string, error) {
	if status == sai.StatusBufferOverflow {
		return sai.FormatCount(a.ID, a.Value)
	}
	v, err := p.objects.ToVirtual(ctx, res, a)
	if err != nil {
		return "", err
	}
	return sai.FormatValue(a.ID, v)
}

// flush executes an FDB flush, and deletes the rows of the removed entries.
func (p *processor) flush(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	_, err := asicview.ParseKey(m.Key)
	if err != nil {
		return nil, err
	}
	attrs, err := protocol.ParseAttrs(sai.ObjectTypeFDBFlush, m.Fields)
	if err != nil {
		return nil, err
	}
	if p.views.making != nil {
		return &protocol.Result{}, nil // the entries stay until the view is applied
	}
	real, err := p.objects.IDs.RealAttrs(attrs)
	if err != nil {
		return nil, err
	}
	if err := p.backend.FlushFDB(ctx, real); err != nil {
		return nil, err
	}
	res := &protocol.Result{}
	keys, err := p.db.Client().Keys(ctx, protocol.ASICState+":"+sai.ObjectTypeFDBEntry.String()+":*").Result()
	if err != nil {
		return nil, err
	}
	for _, row := range keys {
		k, err := sai.ParseKey(strings.TrimPrefix(row, protocol.ASICState+":"))
		if err != nil {
			continue
		}
		if entry, err := p.objects.IDs.RealKey(k); err == nil {
			_, err = p.backend.Get(ctx, entry, []sai.Attr{sai.Want(sai.FDBEntryAttrType, 1)})
			if status, _ := sai.StatusOf(err); status != sai.StatusItemNotFound {
				continue
			}
		}
		res.Write(func(to redis.Pipeliner) { to.Del(ctx, row) })
	}
	return res, nil
}
