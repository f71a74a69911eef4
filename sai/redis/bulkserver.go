package sairedis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// bulk executes one bulk request. Its objects succeed or fail one by one. Objects that the backend can process
// together are passed in one call.
func (p *processor) bulk(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	name, count, _ := strings.Cut(m.Key, ":")
	t, err := protocol.ParseType(name)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(count); err != nil || n != len(m.Fields) {
		return nil, fmt.Errorf("%s %.80q: %d objects: %w", m.Op, m.Key, len(m.Fields), sai.StatusInvalidParameter)
	}
	res := &protocol.Result{Fields: make([]swss.Pair, len(m.Fields))}
	b := &batch{errs: make([]error, len(m.Fields))}
	for i, f := range m.Fields {
		res.Fields[i].Value, b.errs[i] = p.bulkItem(ctx, res, b, i, m.Op, t, f)
	}
	p.runBatch(ctx, res, b, m.Op, t)
	for i, err := range b.errs {
		status, ok := sai.StatusOf(err)
		if !ok {
			status = sai.StatusFailure
		}
		if status != sai.StatusSuccess {
			res.Status = sai.StatusFailure
			p.log.Warn("syncd: refused an object of a bulk request", "op", m.Op, "object", m.Fields[i].Field,
				"status", status, "error", err)
		}
		res.Fields[i].Field = status.String()
	}
	return res, nil
}

// A batch is the part of a bulk request that is passed to the backend in one call.
type batch struct {
	errs  []error // one error for each item of the request
	index []int   // for each item of the batch, its index in the request
	keys  []sai.Key
	real  []sai.Key
	attrs [][]sai.Attr // attributes with real ids
	pairs [][]swss.Pair
}

// bulkItem executes one object of a bulk request, or puts it into the batch.
func (p *processor) bulkItem(
	ctx context.Context, res *protocol.Result, b *batch, i int, op string, t sai.ObjectType, f swss.Pair,
) (string, error) {
	k, err := sai.ParseKeyOf(t, f.Field)
	if err != nil {
		return "", err
	}
	pairs, err := protocol.SplitAttrs(f.Value)
	if err != nil {
		return "", err
	}
	alone := p.views.making != nil || k.Entry != nil || t == sai.ObjectTypeSwitch || t == sai.ObjectTypePort
	switch {
	case op == protocol.OpBulkGet:
		return p.bulkGet(ctx, res, k, pairs)
	case !alone:
		return "", p.addToBatch(b, i, op, k, pairs)
	case op == protocol.OpBulkCreate:
		return "", p.create(ctx, res, k, pairs)
	case op == protocol.OpBulkRemove:
		return "", p.remove(ctx, res, k)
	}
	return "", p.set(ctx, res, k, pairs)
}

func (p *processor) addToBatch(b *batch, i int, op string, k sai.Key, pairs []swss.Pair) error {
	attrs, err := protocol.ParseAttrs(k.Type, pairs)
	if err != nil {
		return err
	}
	real := k
	if op == protocol.OpBulkCreate {
		if p.objects.IDs.Known(k.OID) {
			return fmt.Errorf("create %s: %w", k, sai.StatusItemAlreadyExists)
		}
	} else if real, err = p.objects.IDs.RealKey(k); err != nil {
		return err
	}
	if op == protocol.OpBulkSet && len(attrs) != 1 {
		return fmt.Errorf("set %s: %d attributes, want one: %w", k, len(attrs), sai.StatusInvalidParameter)
	}
	if attrs, err = p.objects.IDs.RealAttrs(attrs); err != nil {
		return err
	}
	b.index, b.keys, b.real = append(b.index, i), append(b.keys, k), append(b.real, real)
	b.attrs, b.pairs = append(b.attrs, attrs), append(b.pairs, pairs)
	return nil
}

// runBatch calls the backend and records the objects that succeeded.
func (p *processor) runBatch(ctx context.Context, res *protocol.Result, b *batch, op string, t sai.ObjectType) {
	if len(b.index) == 0 {
		return
	}
	var errs []error
	var rids []sai.OID
	switch op {
	case protocol.OpBulkCreate:
		rids, errs = p.backend.BulkCreate(ctx, t, b.attrs)
	case protocol.OpBulkRemove:
		errs = p.backend.BulkRemove(ctx, b.real)
	case protocol.OpBulkSet:
		values := make([]sai.Attr, len(b.attrs))
		for j := range values {
			values[j] = b.attrs[j][0]
		}
		errs = p.backend.BulkSet(ctx, b.real, values)
	}
	for j, i := range b.index {
		if b.errs[i] = errs[j]; errs[j] != nil {
			if op == protocol.OpBulkCreate {
				b.errs[i] = numbered(errs[j], b.attrs[j])
			}
			continue
		}
		switch op {
		case protocol.OpBulkCreate:
			p.objects.Created(ctx, res, b.keys[j], rids[j], b.pairs[j])
		case protocol.OpBulkRemove:
			p.removed(ctx, res, b.keys[j], b.real[j])
		case protocol.OpBulkSet:
			res.Write(protocol.PutRow(ctx, protocol.ASICState, b.keys[j], b.pairs[j]))
		}
	}
}

func (p *processor) bulkGet(ctx context.Context, res *protocol.Result, k sai.Key, pairs []swss.Pair) (string, error) {
	got, err := p.get(ctx, k, pairs)
	if err != nil {
		return "", err
	}
	res.Writes = append(res.Writes, got.Writes...)
	res.Mapped = append(res.Mapped, got.Mapped...)
	value, ok := protocol.JoinAttrs(got.Fields)
	if !ok {
		return "", sai.StatusNotSupported
	}
	if got.Status != sai.StatusSuccess {
		return value, got.Status
	}
	return value, nil
}
