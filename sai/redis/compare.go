package sairedis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// ASIC_STATE is compared in the background with the ASIC's objects. While the server holds its lock, no request is
// under way, and each row is the target state of its object. So a difference is drift of the row or of the object.
// orchagent is the author of the rows, so it compares first. Then the server brings the ASIC to the rows.

// A comparison implements the server's stage.
type comparison struct {
	*Server
	renew func() bool // reports whether a fresh chip may be requested; nil means always
}

func (c comparison) stage() drift.Stage {
	return drift.Stage{Name: "ASIC", After: "orchagent", List: c.list, Look: c.look, Heal: c.heal}
}

// Refused reports whether the last view that orchagent requested has failed. Until a view succeeds, orchagent cannot
// check the differences, which may be the cause of the failure. So the server heals them itself.
func (s *Server) Refused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processor.views.refused
}

// Compare compares rows and objects until ctx ends, or until the chip must be replaced ([swss.ErrReset]).
func (s *Server) Compare(ctx context.Context) error {
	last, said := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-time.After(time.Until(s.Watch.Next(last))):
			last = now
			s.mu.Lock()
			ready := s.ready
			s.mu.Unlock()
			if !ready {
				continue
			}
			if err := s.Watch.Work(ctx, now); errors.Is(err, swss.ErrReset) {
				return err // other parts report that Redis is away, as requests fail too
			}
			if now.Sub(said) >= sayAgain {
				s.sayPorts(ctx)
				said = now
			}
		}
	}
}

func (c comparison) list(ctx context.Context, _ drift.Keys) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, err := c.asic.Client().Keys(ctx, protocol.ASICState+":*").Result()
	if err != nil {
		return nil, err
	}
	there := make(map[string]struct{}, len(names))
	for _, name := range names {
		there[name] = struct{}{}
	}
	for vid := range c.processor.objects.IDs.RIDs {
		t, ok := protocol.VIDType(vid)
		name := protocol.ASICState + ":" + sai.FormatKey(sai.Obj(t, vid))
		if _, has := there[name]; ok && !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// lockedFor is the number of objects that are compared while requests wait.
const lockedFor = 64

func (c comparison) look(ctx context.Context, names []string) (found []drift.Finding, err error) {
	for chunk := range slices.Chunk(names, lockedFor) {
		list, err := c.lookAt(ctx, chunk)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			found = append(found, d.Finding)
		}
	}
	return found, nil
}

// A deviation is a difference between a row and its object.
type deviation struct {
	drift.Finding
	key   sai.Key    // the object's key with virtual ids
	row   []sai.Attr // attributes of the row; nil if the row is gone, or cannot be parsed
	wrong []sai.Attr // attributes of the row that the object does not have, with real ids
	gone  bool       // true if the ASIC has no such object
}

func (c comparison) lookAt(ctx context.Context, names []string) (list []deviation, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deviations(ctx, names)
}

// deviations compares objects. The caller holds the lock.
func (c comparison) deviations(ctx context.Context, names []string) (list []deviation, err error) {
	err = c.asic.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		k, err := keyOfRow(names[i])
		if err != nil {
			if row != nil {
				list = append(list, deviation{Finding: drift.Finding{Key: names[i], What: "is the row of no object"}})
			}
			return
		}
		d := deviation{key: k, Finding: drift.Finding{Key: names[i], Sum: drift.Sum(row)}}
		if c.compare(ctx, &d, row); d.What != "" {
			list = append(list, d)
		}
	})
	return list, err
}

// compare records in d how an object differs from its row, if it does.
func (c comparison) compare(ctx context.Context, d *deviation, row swss.FieldValues) {
	real, err := c.processor.objects.IDs.RealKey(d.key)
	switch {
	case err != nil && row == nil:
		return // neither the row nor the object exists
	case err != nil:
		d.What = "is the row of an object that the ASIC never had"
		return
	case row == nil:
		if d.key.Entry == nil {
			d.What = "has no row"
		}
		return
	}
	if d.row, err = protocol.ParseAttrs(protocol.KeyType(d.key), swss.Pairs(row)); err != nil {
		d.What = "has a row that cannot be read: " + err.Error()
		return
	}
	if slices.ContainsFunc(d.row, func(a sai.Attr) bool { return a == learned }) {
		return // a learned entry comes and goes without requests
	}
	for _, a := range d.row {
		if m := sai.Meta(a.ID); m.Kind == sai.KindPointer || m.Has(sai.ReadOnly) {
			continue
		}
		c.compareAttr(ctx, d, real, a)
		if d.gone {
			return
		}
	}
	if len(d.row) == 0 {
		_, err := c.processor.backend.Get(
			ctx,
			real,
			[]sai.Attr{sai.Want(sai.ObjectMeta(protocol.KeyType(d.key)).Attrs[0].ID, 1)},
		)
		c.lacks(d, err)
	}
}

// lacks records and reports whether an error means that the ASIC has no such object.
func (c comparison) lacks(d *deviation, answer error) bool {
	switch status, _ := sai.StatusOf(answer); status {
	case sai.StatusItemNotFound, sai.StatusInvalidObjectID:
		d.What, d.gone = "is not in the ASIC", true
	}
	return d.gone
}

// learned is the attribute that marks an FDB entry as learned by the ASIC.
var learned = sai.Attr{ID: sai.FDBEntryAttrType, Value: sai.FDBEntryTypeDynamic}

// compareAttr compares an attribute of an object with its row. An attribute that cannot be read is assumed to be
// equal.
func (c comparison) compareAttr(ctx context.Context, d *deviation, real sai.Key, a sai.Attr) {
	should, err := c.processor.objects.IDs.RealAttrs([]sai.Attr{a})
	if err != nil {
		d.What = "names what is not there: " + err.Error()
		return
	}
	want := placeholders([]sai.Attr{a})
	if n, list := sai.ListLen(want[0].Value); list && n == 0 {
		want[0] = sai.Want(a.ID, 1)
	}
	got, err := c.processor.backend.Get(ctx, real, want)
	status, known := sai.StatusOf(err)
	if c.lacks(d, err) || known && status != sai.StatusSuccess && status != sai.StatusBufferOverflow || len(got) != 1 {
		return
	}
	is, err := sai.FormatValue(a.ID, got[0].Value)
	if err == nil && asicview.EqualValues(a.ID, sorted(got[0].Value), sorted(should[0].Value)) {
		return
	}
	d.Sum += drift.SumOf(a.ID.String(), is)
	d.What = fmt.Sprintf("has another %s in the ASIC: %.60q", a.ID, is)
	d.wrong = append(d.wrong, should[0])
}

// sorted returns a value in canonical order, if the order of its elements has no meaning.
func sorted(v sai.Value) sai.Value {
	if list, ok := v.(sai.OIDs); ok {
		list = slices.Clone(list)
		slices.Sort(list)
		return list
	}
	return v
}

// heal brings the ASIC to its rows. If that is impossible, it requests a fresh chip.
func (c comparison) heal(ctx context.Context, drifted []drift.Finding) error {
	names := make([]string, len(drifted))
	for i, f := range drifted {
		names[i] = f.Key
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine *redis.SliceCmd
	if _, err := c.asic.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		mine = c.journal.ask(ctx, p)
		return nil
	}); err != nil {
		return err
	}
	if err := c.journal.fits(mine); err != nil {
		return err
	}
	list, err := c.deviations(ctx, names)
	if err != nil {
		return err
	}
	for _, d := range list {
		c.log.Error("syncd: drift", "object", d.Key, "how", d.What)
		err := c.healOne(ctx, d)
		if err != nil && c.renew != nil && !c.renew() {
			c.log.Error("syncd: drift stays", "object", d.Key, "because", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %s, which cannot be healed: %w: %w", d.Key, d.What, err, swss.ErrReset)
		}
	}
	return nil
}

func (c comparison) healOne(ctx context.Context, d deviation) error {
	switch ids := c.processor.objects.IDs; {
	case d.gone:
		return c.create(ctx, d)
	case len(d.wrong) > 0:
		return c.set(ctx, d)
	case d.row == nil && ids.Own[d.key.OID]: // none of the object's attributes was set
		return c.asic.Client().HSet(ctx, d.Key, "NULL", "NULL").Err()
	case d.row == nil && !ids.Known(d.key.OID):
		return c.asic.Client().Del(ctx, d.Key).Err()
	}
	return nil // only orchagent can restore the row, and it reports the difference
}

// set sets the wrong attributes again. If one cannot be set, the object is created again.
func (c comparison) set(ctx context.Context, d deviation) error {
	real, err := c.processor.objects.IDs.RealKey(d.key)
	if err != nil {
		return err
	}
	for _, a := range d.wrong {
		if m := sai.Meta(a.ID); !m.Has(sai.CreateAndSet) && !m.Has(sai.SetOnly) {
			if err := c.processor.backend.Remove(ctx, real); err != nil {
				return err
			}
			return c.create(ctx, d)
		}
	}
	for _, a := range d.wrong {
		if err := c.processor.backend.Set(ctx, real, a); err != nil {
			return err
		}
	}
	return nil
}

// create creates an object again. Its virtual id stays.
func (c comparison) create(ctx context.Context, d deviation) error {
	ids := c.processor.objects.IDs
	if d.key.Entry == nil && (ids.Own[d.key.OID] || asicview.IsSwitch(d.key)) {
		return errors.New("it came with the chip")
	}
	var made, later []sai.Attr
	for _, a := range d.row {
		if m := sai.Meta(a.ID); m.Has(sai.SetOnly) {
			later = append(later, a)
		} else if !m.Has(sai.ReadOnly) {
			made = append(made, a)
		}
	}
	attrs, err := ids.RealAttrs(append(made, later...))
	if err != nil {
		return err
	}
	real, err := ids.RealKey(d.key)
	if err != nil {
		return err
	}
	if d.key.Entry != nil {
		err = c.processor.backend.CreateEntry(ctx, real.Entry, attrs[:len(made)])
	} else {
		real, err = c.recreate(ctx, d.key, real, attrs[:len(made)])
	}
	for _, a := range attrs[len(made):] {
		if err == nil {
			err = c.processor.backend.Set(ctx, real, a)
		}
	}
	return err
}

// recreate creates an object with an id again, and records its new real id.
func (c comparison) recreate(ctx context.Context, k, was sai.Key, attrs []sai.Attr) (sai.Key, error) {
	rid, err := c.processor.backend.Create(ctx, k.Type, attrs)
	if err != nil {
		return was, err
	}
	c.processor.objects.IDs.Remove(k.OID, was.OID)
	c.processor.objects.IDs.Add(k.OID, rid)
	_, err = c.asic.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, protocol.KeyRIDToVID, was.OID.String())
		p.HSet(ctx, protocol.KeyRIDToVID, rid.String(), k.OID.String())
		p.HSet(ctx, protocol.KeyVIDToRID, k.OID.String(), rid.String())
		return nil
	})
	return sai.Obj(k.Type, rid), err
}
