package sairedis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/swss"
)

// bulk executes one bulk request. Its objects succeed or fail one by one; those that the backend
// can take together go to it in one call.
func (p *processor) bulk(ctx context.Context, m message) (*result, error) {
	name, count, _ := strings.Cut(m.key, ":")
	t, ok := sai.LookupObjectType(name)
	if !ok || sai.ObjectMeta(t) == nil {
		return nil, fmt.Errorf("%.80q: unknown object type: %w", m.key, sai.StatusInvalidObjectType)
	}
	if n, err := strconv.Atoi(count); err != nil || n != len(m.fields) {
		return nil, fmt.Errorf("%s %.80q: %d objects: %w", m.op, m.key, len(m.fields), sai.StatusInvalidParameter)
	}
	res := &result{fields: make([]swss.Pair, len(m.fields))}
	b := &batch{errs: make([]error, len(m.fields))}
	for i, f := range m.fields {
		res.fields[i].Value, b.errs[i] = p.bulkItem(ctx, res, b, i, m.op, t, f)
	}
	p.runBatch(ctx, res, b, m.op, t)
	for i, err := range b.errs {
		status, ok := sai.StatusOf(err)
		if !ok {
			status = sai.StatusFailure
		}
		if status != sai.StatusSuccess {
			res.status = sai.StatusFailure
			p.log.Warn("syncd: refused an object of a bulk request", "op", m.op, "object", m.fields[i].Field,
				"status", status, "error", err)
		}
		res.fields[i].Field = status.String()
	}
	return res, nil
}

// A batch is the part of a bulk request that goes to the backend in one call.
type batch struct {
	errs  []error // of all items of the request
	index []int   // of the items of the batch
	keys  []sai.Key
	real  []sai.Key
	attrs [][]sai.Attr // real
	pairs [][]swss.Pair
}

// bulkItem executes one object of a bulk request, or puts it into the batch.
func (p *processor) bulkItem(
	ctx context.Context, res *result, b *batch, i int, op string, t sai.ObjectType, f swss.Pair,
) (string, error) {
	k, err := sai.ParseKeyOf(t, f.Field)
	if err != nil {
		return "", err
	}
	pairs, err := splitAttrs(f.Value)
	if err != nil {
		return "", err
	}
	alone := p.views.making != nil || k.Entry != nil || t == sai.ObjectTypeSwitch || t == sai.ObjectTypePort
	switch {
	case op == opBulkGet:
		return p.bulkGet(ctx, res, k, pairs)
	case !alone:
		return "", p.addToBatch(b, i, op, k, pairs)
	case op == opBulkCreate:
		return "", p.create(ctx, res, k, pairs)
	case op == opBulkRemove:
		return "", p.remove(ctx, res, k)
	}
	return "", p.set(ctx, res, k, pairs)
}

func (p *processor) addToBatch(b *batch, i int, op string, k sai.Key, pairs []swss.Pair) error {
	attrs, err := parseAttrs(k.Type, pairs)
	if err != nil {
		return err
	}
	real := k
	if op == opBulkCreate {
		if p.objects.ids.known(k.OID) {
			return fmt.Errorf("create %s: %w", k, sai.StatusItemAlreadyExists)
		}
	} else if real, err = p.objects.ids.toRealKey(k); err != nil {
		return err
	}
	if op == opBulkSet && len(attrs) != 1 {
		return fmt.Errorf("set %s: %d attributes, want one: %w", k, len(attrs), sai.StatusInvalidParameter)
	}
	if attrs, err = p.objects.ids.toRealAttrs(attrs); err != nil {
		return err
	}
	b.index, b.keys, b.real = append(b.index, i), append(b.keys, k), append(b.real, real)
	b.attrs, b.pairs = append(b.attrs, attrs), append(b.pairs, pairs)
	return nil
}

// runBatch calls the backend and records what succeeded.
func (p *processor) runBatch(ctx context.Context, res *result, b *batch, op string, t sai.ObjectType) {
	if len(b.index) == 0 {
		return
	}
	var errs []error
	var rids []sai.OID
	switch op {
	case opBulkCreate:
		rids, errs = p.backend.BulkCreate(ctx, t, b.attrs)
	case opBulkRemove:
		errs = p.backend.BulkRemove(ctx, b.real)
	case opBulkSet:
		values := make([]sai.Attr, len(b.attrs))
		for j := range values {
			values[j] = b.attrs[j][0]
		}
		errs = p.backend.BulkSet(ctx, b.real, values)
	}
	for j, i := range b.index {
		if b.errs[i] = errs[j]; errs[j] != nil {
			if op == opBulkCreate {
				b.errs[i] = numbered(errs[j], b.attrs[j])
			}
			continue
		}
		switch op {
		case opBulkCreate:
			p.objects.created(ctx, res, b.keys[j], rids[j], b.pairs[j])
		case opBulkRemove:
			p.removed(ctx, res, b.keys[j], b.real[j])
		case opBulkSet:
			res.write(putRow(ctx, asicState, b.keys[j], b.pairs[j]))
		}
	}
}

func (p *processor) bulkGet(ctx context.Context, res *result, k sai.Key, pairs []swss.Pair) (string, error) {
	got, err := p.get(ctx, k, pairs)
	if err != nil {
		return "", err
	}
	res.writes = append(res.writes, got.writes...)
	res.mapped = append(res.mapped, got.mapped...)
	value, ok := joinAttrs(got.fields)
	if !ok {
		return "", sai.StatusNotSupported
	}
	if got.status != sai.StatusSuccess {
		return value, got.status
	}
	return value, nil
}
