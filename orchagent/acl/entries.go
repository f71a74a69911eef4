package acl

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// bulk is the maximum number of objects in one bulk call.
const bulk = 1000

// createMany creates objects in as few calls as possible. It always returns one id or error per object.
func createMany(ctx context.Context, api sai.API, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	if len(objs) == 1 {
		oid, err := api.Create(ctx, t, objs[0])
		return []sai.OID{oid}, []error{err}
	}
	var oids []sai.OID
	var errs []error
	for chunk := range slices.Chunk(objs, bulk) {
		o, e := api.BulkCreate(ctx, t, chunk)
		oids, errs = append(oids, o...), append(errs, e...)
	}
	return oids, errs
}

// removeMany removes objects of one type in as few calls as possible.
func removeMany(ctx context.Context, api sai.API, t sai.ObjectType, oids []sai.OID) []error {
	keys := make([]sai.Key, len(oids))
	for i, oid := range oids {
		keys[i] = sai.Obj(t, oid)
	}
	if len(keys) == 1 {
		return []error{api.Remove(ctx, keys[0])}
	}
	var errs []error
	for chunk := range slices.Chunk(keys, bulk) {
		errs = append(errs, api.BulkRemove(ctx, chunk)...)
	}
	return errs
}

// A programmer adds entries to the ASIC and removes them. It records failures in the rules, and on the agenda of the
// next passes.
type programmer struct {
	asic   *objects
	agenda *agenda
}

// removeEntries removes entries from the ASIC, the lowest priority first. It then removes the counters and ranges of
// the entries in w.drop.
func (p *programmer) removeEntries(ctx context.Context, w *work) {
	keep := map[*entry]*change{}
	all := slices.Clone(w.drop)
	for _, c := range w.remake {
		keep[c.have] = c
		all = append(all, c.have)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.spec.priority, b.spec.priority),
			compareKeys(a.rule.key, b.rule.key), a.key.compare(b.key))
	})
	oids := make([]sai.OID, len(all))
	for i, e := range all {
		oids[i] = e.oid
	}
	var dropped []*entry
	failed := map[*entry]bool{}
	for i, err := range removeMany(ctx, p.asic.api, sai.ObjectTypeACLEntry, oids) {
		e := all[i]
		if err != nil {
			e.rule.failed.set(e.in.feature, fmt.Errorf("remove the entry of ACL rule %s: %w", e.rule.key, err))
			p.asic.log.Error("ACL entry stays in the ASIC", "rule", e.rule.key.Config(), "err", err)
			failed[e] = true
			if e.key.variant != "" || keep[e] == nil {
				p.agenda.left[e.rule.key] = e.rule
			}
			continue
		}
		if keep[e] == nil {
			dropped = append(dropped, e)
		}
	}
	w.remake = slices.DeleteFunc(w.remake, func(c *change) bool { return failed[c.have] })
	w.create = slices.DeleteFunc(w.create, func(c *change) bool { return failed[c.rule.entries.get(c.key)] })
	p.forget(ctx, dropped)
}

// forget removes the objects that belong to entries which are no longer in the ASIC.
func (p *programmer) forget(ctx context.Context, gone []*entry) {
	if len(gone) == 0 {
		return
	}
	var counters []*counter
	for _, e := range gone {
		counters = append(counters, e.counter)
		p.asic.release(ctx, e.ranges)
		p.asic.releaseSampler(ctx, e.sampler)
		p.asic.crm.entryRemoved(e.in)
		e.in.entries--
		e.rule.entries.drop(e.key)
		p.agenda.freed = p.agenda.freed || !e.fresh && !e.rule.out
		p.asic.counters.rename(e.rule)
	}
	p.asic.removeCounters(ctx, counters)
}

// removeCounters removes counters, after syncd has stopped polling them.
func (b *objects) removeCounters(ctx context.Context, list []*counter) {
	oids := make([]sai.OID, len(list))
	for i, c := range list {
		oids[i] = c.oid
	}
	b.counters.stopPolling(ctx, oids)
	b.orphans = append(b.orphans, oids...)
	b.removeOrphans(ctx)
}

// removeOrphans removes counters that no entry uses. If the ASIC fails to remove a counter, the next pass tries again.
func (b *objects) removeOrphans(ctx context.Context) {
	oids := b.orphans
	b.orphans = nil
	for i, err := range removeMany(ctx, b.api, sai.ObjectTypeACLCounter, oids) {
		if err != nil && orch.Classify(err) != orch.Benign {
			b.log.Error("an ACL counter stays in the ASIC", "counter", oids[i].String(), "err", err)
			b.orphans = append(b.orphans, oids[i])
		}
	}
}

// createEntries creates entries, the highest priority first: all counters in bulk, the ranges, then all entries in
// bulk. If an entry fails, only that entry is undone.
func (p *programmer) createEntries(ctx context.Context, w *work) {
	var list []*change
	for _, c := range slices.Concat(w.remake, w.create) {
		if _, err := c.instance(); err != nil {
			c.rule.failed.set(c.key.feature, err)
			p.agenda.starve(err, starving{rule: c.rule, feature: c.key.feature})
			continue
		}
		list = append(list, c)
	}
	slices.SortFunc(list, inOrder)
	defer p.retryHindered(list)
	entries := p.addCounters(ctx, list)
	var objs [][]sai.Attr
	var ready []*entry
	for _, e := range entries {
		ranges, err := p.asic.acquire(ctx, e.spec.ranges)
		if err != nil {
			p.refuse(ctx, e, err)
			continue
		}
		e.ranges = e.spec.ranges
		sampler, err := p.asic.acquireSampler(ctx, e.spec.sampler)
		if err != nil {
			p.refuse(ctx, e, err)
			continue
		}
		e.sampler = e.spec.sampler
		objs = append(objs, entryAttrs(e.in, e.spec, e.counter, ranges, sampler))
		ready = append(ready, e)
	}
	defer p.asic.removeOrphans(ctx)
	if len(ready) == 0 {
		return
	}
	oids, errs := createMany(ctx, p.asic.api, sai.ObjectTypeACLEntry, objs)
	for i, e := range ready {
		if errs[i] != nil {
			err := orch.AtAttr(errs[i], sai.ObjectTypeACLEntry, objs[i])
			p.refuse(ctx, e, fmt.Errorf("create the entry of ACL rule %s: %w", e.rule.key, err))
			continue
		}
		p.added(ctx, e, oids[i])
	}
}

// added records an entry that is in the ASIC.
func (p *programmer) added(ctx context.Context, e *entry, oid sai.OID) {
	e.oid = oid
	p.asic.noteChange(e)
	if old := e.rule.entries.get(e.key); old != nil { // the entry was recreated
		p.agenda.freed = p.agenda.freed || !slices.Equal(old.ranges, e.ranges) || old.sampler != e.sampler
		p.asic.release(ctx, old.ranges)
		p.asic.releaseSampler(ctx, old.sampler)
	} else {
		e.in.entries++
		if e.in.most > 0 {
			e.in.most = max(e.in.most, e.in.entries)
		}
		p.asic.crm.entryAdded(e.in)
		p.asic.counters.start(e.counter.oid)
		e.fresh = true
	}
	e.rule.entries.set(e.key, e)
	p.asic.counters.rename(e.rule)
}

// addCounters creates the counters of new entries. It returns the entries to be created, with their counters, without
// those whose counter could not be created. Entries that are recreated keep their counter.
func (p *programmer) addCounters(ctx context.Context, list []*change) []*entry {
	entries := make([]*entry, len(list))
	var objs [][]sai.Attr
	var fresh []*entry
	for i, c := range list {
		in, _ := c.instance()
		entries[i] = &entry{in: in, rule: c.rule, key: c.key, spec: c.spec}
		if c.have != nil {
			entries[i].counter = c.have.counter
			p.asic.labelSampling(ctx, c)
			continue
		}
		entries[i].counter = &counter{}
		attrs := []sai.Attr{
			{ID: sai.ACLCounterAttrTableID, Value: in.oid},
			{ID: sai.ACLCounterAttrEnableByteCount, Value: sai.Bool(true)},
			{ID: sai.ACLCounterAttrEnablePacketCount, Value: sai.Bool(true)},
		}
		if c.key.feature != "" {
			l := label(c.key, c.rule.key)
			entries[i].counter.label = l
			attrs = append(attrs, sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text(l)})
		} else if p.asic.labels || c.spec.sampler.rate > 0 {
			l := sai.Text(c.rule.key.Label())
			attrs = append(attrs, sai.Attr{ID: sai.ACLCounterAttrLabel, Value: l})
		}
		objs = append(objs, attrs)
		fresh = append(fresh, entries[i])
	}
	if len(fresh) == 0 {
		return entries
	}
	oids, errs := createMany(ctx, p.asic.api, sai.ObjectTypeACLCounter, objs)
	failed := map[*entry]bool{}
	for i, e := range fresh {
		if errs[i] != nil {
			failed[e] = true
			p.noteRefusal(e, fmt.Errorf("create the counter of ACL rule %s: %w", e.rule.key, errs[i]))
			continue
		}
		e.counter.oid = oids[i]
	}
	return slices.DeleteFunc(entries, func(e *entry) bool { return failed[e] })
}

// retryHindered makes the next pass retry entries for which no counter, range or sampler was available. Entries that
// were refused at a later step had occupied them.
func (p *programmer) retryHindered(list []*change) {
	steps := []sai.ObjectType{
		sai.ObjectTypeACLCounter, sai.ObjectTypeACLRange, sai.ObjectTypeSamplepacket, sai.ObjectTypeACLEntry,
	}
	refusedAt, last := make([]int, len(list)), -1
	for i, c := range list {
		var call *sai.CallError
		refusedAt[i] = -1
		if err := c.rule.failed.get(c.key.feature); orch.Retryable(err) && errors.As(err, &call) {
			refusedAt[i] = slices.Index(steps, call.Type)
		}
		last = max(last, refusedAt[i])
	}
	for i, c := range list {
		if at := refusedAt[i]; at >= 0 && at < last && !c.rule.varied(c.key.feature) {
			delete(p.agenda.starved, starving{rule: c.rule, feature: c.key.feature})
			c.rule.failed.drop(c.key.feature)
			p.agenda.dirtyRules[c.rule.key] = c.rule
		}
	}
}

// refuse undoes an entry that could not be created. If it was being recreated, the old entry no longer exists.
func (p *programmer) refuse(ctx context.Context, e *entry, err error) {
	p.asic.release(ctx, e.ranges)
	p.asic.releaseSampler(ctx, e.sampler)
	p.noteRefusal(e, err)
	if old := e.rule.entries.get(e.key); old != nil {
		p.forget(ctx, []*entry{old})
		return
	}
	p.asic.orphans = append(p.asic.orphans, e.counter.oid)
}

func (p *programmer) noteRefusal(e *entry, err error) {
	e.rule.failed.set(e.in.feature, err)
	p.agenda.starve(err, starving{rule: e.rule, feature: e.key.feature})
	p.asic.log.Error("ACL rule", "rule", e.rule.key.Config(), "err", err)
}

// setEntries changes entries in place. Changes of a single attribute are made in bulk.
func (p *programmer) setEntries(ctx context.Context, w *work) {
	var keys []sai.Key
	var attrs []sai.Attr
	var simple []*change
	for _, c := range w.set {
		sets, _ := c.have.spec.diff(c.spec)
		if len(sets) == 1 && slices.Equal(c.have.ranges, c.spec.ranges) {
			keys = append(keys, sai.Obj(sai.ObjectTypeACLEntry, c.have.oid))
			attrs, simple = append(attrs, sets[0]), append(simple, c)
			continue
		}
		if err := p.change(ctx, c, sets); err != nil {
			p.notChanged(c, err)
		}
	}
	for i, err := range setMany(ctx, p.asic.api, keys, attrs) {
		if err != nil {
			p.notChanged(simple[i], err)
			continue
		}
		simple[i].have.spec = simple[i].spec
		p.asic.noteChange(simple[i].have)
	}
}

// notChanged records that an entry could not be changed. The entry of a rule that competes is recreated in the next
// pass, so that no outdated content occupies capacity.
func (p *programmer) notChanged(c *change, err error) {
	p.noteRefusal(c.have, fmt.Errorf("change the entry of ACL rule %s: %w", c.rule.key, err))
	if s := (starving{rule: c.rule}); c.rule.competes() && p.agenda.starved[s] {
		c.rule.replace = true
		p.agenda.tryAgain(s)
	}
}

func setMany(ctx context.Context, api sai.API, keys []sai.Key, attrs []sai.Attr) []error {
	if len(keys) == 1 {
		return []error{api.Set(ctx, keys[0], attrs[0])}
	}
	var errs []error
	for i := 0; i < len(keys); i += bulk {
		end := min(i+bulk, len(keys))
		errs = append(errs, api.BulkSet(ctx, keys[i:end], attrs[i:end])...)
	}
	return errs
}

// change sets several attributes of an entry, or none.
func (p *programmer) change(ctx context.Context, c *change, sets []sai.Attr) error {
	var undo orch.Undo
	e := c.have
	k := sai.Obj(sai.ObjectTypeACLEntry, e.oid)
	if !slices.Equal(e.ranges, c.spec.ranges) {
		oids, err := p.asic.acquire(ctx, c.spec.ranges)
		if err != nil {
			return err
		}
		undo.Push("ranges", func(ctx context.Context) error { p.asic.release(ctx, c.spec.ranges); return nil })
		sets = append([]sai.Attr{{ID: sai.ACLEntryAttrFieldACLRangeType, Value: sai.Match(oids, nil)}}, sets...)
	}
	for _, a := range sets {
		if err := p.asic.api.Set(ctx, k, a); err != nil {
			undoErr := undo.Rollback(ctx)
			e.unsure = undoErr != nil
			return errors.Join(err, undoErr)
		}
		was := p.asic.former(e, a.ID)
		undo.Push(a.ID.String(), func(ctx context.Context) error { return p.asic.api.Set(ctx, k, was) })
	}
	if !slices.Equal(e.ranges, c.spec.ranges) {
		p.asic.release(ctx, e.ranges)
		e.ranges = c.spec.ranges
		p.agenda.freed = true
	}
	e.spec = c.spec
	p.asic.noteChange(e)
	return nil
}

// noteChange records that an entry was created or changed.
func (b *objects) noteChange(e *entry) {
	b.changes++
	e.changed = b.changes
}

// former returns the attribute of an entry with its current value, or disabled if it has none.
func (b *objects) former(e *entry, id sai.AttrID) sai.Attr {
	switch {
	case id == sai.ACLEntryAttrPriority:
		return sai.Attr{ID: id, Value: sai.Uint(e.spec.priority)}
	case id == sai.ACLEntryAttrAdminState:
		return sai.Attr{ID: id, Value: sai.Bool(!e.spec.off)}
	case id == sai.ACLEntryAttrFieldACLRangeType && len(e.ranges) > 0:
		var oids sai.OIDs
		for _, k := range e.ranges {
			oids = append(oids, b.ranges[k].oid)
		}
		return sai.Attr{ID: id, Value: sai.Match(oids, nil)}
	}
	if v, ok := sai.Find(e.spec.attrs, id); ok {
		return sai.Attr{ID: id, Value: v}
	}
	if _, ok := actionType(id); ok {
		return sai.Attr{ID: id, Value: sai.Action{}}
	}
	return sai.Attr{ID: id, Value: sai.Field{}}
}

// maxLabel is the maximum length of a counter's label.
const maxLabel = schema.MaxLabel

// featureShort contains the short names of TAM features in labels.
var featureShort = map[string]string{
	schema.FeatureTailStamping: "ts",
	schema.FeatureAltMark:      "am",
	schema.FeatureFlyMon:       "fm",
	schema.FeatureTableRecord:  "tr",
}

// label returns the label of the counter of a flow group's entry for a feature and variant. It is the same in every run
// of the process. Long names are cut, and a hash distinguishes them.
func label(s entryKey, k schema.ACLRuleKey) string {
	short := featureShort[s.feature]
	if short == "" {
		short = s.feature
	}
	short += s.variant
	l := short + ":" + k.Rule
	if k.Table != schema.TAMTable {
		l = short + ":" + k.Table + ":" + k.Rule
	}
	if len(l) <= maxLabel {
		return l
	}
	of := s.feature + "|"
	if s.variant != "" {
		of += s.variant + "|"
	}
	sum := sha256.Sum256([]byte(of + k.Config()))
	const hash = 12
	return fmt.Sprintf("%s#%x", l[:maxLabel-1-hash], sum[:hash/2])
}
