package sairedis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// An adoption is a view that orchs build while the ASIC stays unchanged. Meanwhile it is the orchs' SAI API: changes
// are made in the view, everything else is read from the ASIC.
type adoption struct {
	sai.API // the unchanged ASIC
	view    *view
	current *asicview.Graph // the current state of the ASIC
	next    int64           // index of the next object id in the view
	// keepsGets means that syncd stores attributes that were read in ASIC_STATE, as SONiC's does, where they look
	// like set ones.
	keepsGets bool
	// repeatPolls means that syncd may lack the contents of FLEX_COUNTER_DB, because SONiC's does not read it.
	repeatPolls bool
}

// privateIDs is the first id of objects that exist only in a view: the upper half of a type's ids. VIDCOUNTER will
// not reach it.
const privateIDs = 1 << 38

// adopt begins a view that adopts the state of the ASIC. If that is not safe, it returns the reason.
func (a *Agent) adopt(ctx context.Context) (why string, err error) {
	if a.record.failed >= maxAdoptions {
		return fmt.Sprintf("adoption has failed %d times", a.record.failed), nil
	}
	if why, err := a.record.unsafe(ctx); err != nil || why != "" {
		return why, err
	}
	if err := resume(ctx, a.client); err != nil {
		return "", err
	}
	// The requests of the former client have now been executed, and a restarted syncd has written the map of ids.
	if why, err := a.record.unsafe(ctx); err != nil || why != "" {
		return why, err
	}
	if there, err := hasSwitch(ctx, a.client.asic); err != nil || !there {
		return "the ASIC has no switch", err
	}
	cur, err := a.client.readState(ctx)
	if err != nil {
		return "", err
	}
	if len(cur.bad) > 0 {
		return cur.bad[0], nil
	}
	if cur.strays > 0 {
		return fmt.Sprintf("%s and %s know different objects: %d", protocol.ASICState, protocol.KeyVIDToRID, cur.strays), nil
	}
	a.client.check.know(cur.graph)
	a.target = newAdoption(a.client, cur.graph)
	a.API = a.target
	a.target.keepsGets = a.client.syncd.nameless
	a.target.repeatPolls, err = a.client.syncd.meetAgain(ctx)
	return "", err
}

// resume does the work of resync for a client that makes no view.
func resume(ctx context.Context, c *Client) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := c.resync(ctx); err != nil {
		return err
	}
	c.question = switchQuestion()
	return nil
}

// A stateNow is the state of the ASIC according to ASIC_DB.
type stateNow struct {
	graph  *asicview.Graph // without learned addresses
	bad    []string        // rows that cannot be parsed
	strays int             // number of objects that exist only in the rows, or only in the map of ids
}

// cameWith reads the ids of objects that came with the switch, including removed ones.
func cameWith(ctx context.Context, asic *swss.DB) (map[sai.OID]bool, error) {
	cold, err := asic.Client().HKeys(ctx, protocol.KeyColdVIDs).Result()
	if err != nil {
		return nil, fmt.Errorf("sairedis: %s: %w", protocol.KeyColdVIDs, err)
	}
	own := map[sai.OID]bool{}
	for _, text := range cold {
		if vid, err := sai.ParseOID(text); err == nil {
			own[vid] = true
		}
	}
	return own, nil
}

// readState reads the state of the ASIC from ASIC_DB, and which objects came with the switch.
func (c *Client) readState(ctx context.Context) (stateNow, error) {
	own, err := cameWith(ctx, c.asic)
	if err != nil {
		return stateNow{}, err
	}
	isOwn := func(vid sai.OID) bool {
		t, _ := protocol.VIDType(vid)
		return own[vid] || objectids.WithPort(t)
	}
	var now stateNow
	now.graph, err = asicview.ReadView(ctx, c.asic, isOwn, func(err error) { now.bad = append(now.bad, err.Error()) })
	if err != nil {
		return stateNow{}, fmt.Errorf("sairedis: %s: %w", protocol.ASICState, err)
	}
	ids, err := c.asic.Client().HKeys(ctx, protocol.KeyVIDToRID).Result()
	if err != nil {
		return stateNow{}, fmt.Errorf("sairedis: %s: %w", protocol.KeyVIDToRID, err)
	}
	now.strays = len(now.graph.ByOID)
	for _, text := range ids {
		if vid, err := sai.ParseOID(text); err == nil && now.graph.ByOID[vid] != nil {
			now.strays--
		} else {
			now.strays++
		}
	}
	asicview.RemoveLearned(now.graph)
	now.graph.Link()
	return now, nil
}

// know records the state of the ASIC in the checks.
func (g *guard) know(now *asicview.Graph) {
	for _, n := range now.Sorted() {
		if n.Own {
			g.Found(n.Key)
			for _, x := range n.SortedAttrs() {
				g.Changed(n.Key, x)
			}
			continue
		}
		g.Created(n.Key, n.SortedAttrs())
	}
}

// newAdoption begins a view with the objects that orchs find but do not create: the ports, and other objects that came
// with the switch.
func newAdoption(chip sai.API, cur *asicview.Graph) *adoption {
	ids := objectids.NewMap()
	for _, n := range cur.Nodes {
		if n.Key.Entry == nil {
			ids.Add(n.Key.OID, n.Key.OID)
			ids.Own[n.Key.OID] = n.Own
		}
	}
	maps.DeleteFunc(ids.Own, func(_ sai.OID, own bool) bool { return !own })
	v := newView(ids, &sai.Gate{}) // syncd checks the objects when it creates them
	for _, n := range cur.Sorted() {
		if n.Own && !asicview.IsSwitch(n.Key) {
			v.check.Found(n.Key)
			v.graph.Add(n.Key, true)
		}
	}
	for _, n := range cur.Sorted() {
		if isCreatedPort(n) {
			v.inherit(n)
		}
	}
	return &adoption{API: chip, view: v, current: cur, next: privateIDs}
}

// made reports whether an object was made in the view.
func (w *adoption) made(o sai.OID) bool { return o != sai.NullOID && o&(1<<39-1) > privateIDs }

// Create implements [sai.API].
func (w *adoption) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if t == sai.ObjectTypeFDBFlush {
		return 0, refuse(protocol.OpCreate, t, sai.StatusNotSupported, "it is a request, there are no such objects")
	}
	if _, err := protocol.FormatAttrs(attrs); err != nil {
		return 0, err
	}
	vid := protocol.SwitchVID
	if t != sai.ObjectTypeSwitch {
		w.next++
		var err error
		if vid, err = protocol.NewVID(t, w.next); err != nil {
			return 0, err
		}
	}
	return vid, w.view.create(ctx, &protocol.Result{}, sai.Obj(t, vid), attrs, nil)
}

// CreateEntry implements [sai.API].
func (w *adoption) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	if err := checkEntry(protocol.OpCreate, e); err != nil {
		return err
	}
	if _, err := protocol.FormatAttrs(attrs); err != nil {
		return err
	}
	return w.view.create(ctx, &protocol.Result{}, sai.EntryKey(e), attrs, nil)
}

// Remove implements [sai.API].
func (w *adoption) Remove(ctx context.Context, k sai.Key) error {
	return w.view.remove(ctx, &protocol.Result{}, k)
}

// Set implements [sai.API].
func (w *adoption) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if _, err := protocol.FormatAttrs([]sai.Attr{a}); err != nil {
		return err
	}
	return w.view.set(ctx, &protocol.Result{}, k, a, nil)
}

// Get reads from the unchanged ASIC. The objects that an answer names exist, and were not created in this view.
func (w *adoption) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if err := w.view.checkGet(k); err != nil {
		return nil, err
	}
	got, known := w.lasting(k, want)
	var err error
	if !known {
		got, err = w.API.Get(ctx, k, want)
	}
	for _, a := range got {
		w.gotten(k, a)
		sai.References(a.Value, func(o sai.OID) {
			t, ok := protocol.VIDType(o)
			if !ok || w.view.ids.Known(o) {
				return
			}
			w.view.check.Found(sai.Obj(t, o))
			w.view.ids.Add(o, o)
			w.view.ids.Own[o] = true
			w.view.graph.Add(sai.Obj(t, o), true)
			w.current.Add(sai.Obj(t, o), true)
		})
	}
	return got, err
}

// BulkCreate implements [sai.API].
func (w *adoption) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	oids := make([]sai.OID, len(objs))
	return oids, each(len(objs), func(i int) (err error) {
		oids[i], err = w.Create(ctx, t, objs[i])
		return err
	})
}

// BulkCreateEntries implements [sai.API].
func (w *adoption) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	return each(len(entries), func(i int) error { return w.CreateEntry(ctx, entries[i], attrs[i]) })
}

// BulkRemove implements [sai.API].
func (w *adoption) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	return each(len(keys), func(i int) error { return w.Remove(ctx, keys[i]) })
}

// BulkSet implements [sai.API].
func (w *adoption) BulkSet(ctx context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	return each(len(keys), func(i int) error { return w.Set(ctx, keys[i], attrs[i]) })
}

// each returns the errors of n items.
func each(n int, do func(i int) error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = do(i)
	}
	return errs
}

// FlushFDB implements [sai.API]. The entries stay until the view is applied.
func (w *adoption) FlushFDB(_ context.Context, attrs []sai.Attr) error {
	return w.view.check.CheckFlush(attrs)
}

// lasting returns attributes that ASIC_STATE holds and that cannot change while the object exists. This saves
// requests: with 32 ports the types of queues alone need hundreds. known is false if any must be read from the ASIC.
func (w *adoption) lasting(k sai.Key, want []sai.Attr) (got []sai.Attr, known bool) {
	n := w.current.Nodes[k]
	if n == nil {
		return nil, false
	}
	for _, a := range want {
		value, there := n.Attrs[a.ID]
		if !there || !sai.Meta(a.ID).Has(sai.CreateOnly) || asicview.NamesObjects(value) {
			return nil, false
		}
		got = append(got, sai.Attr{ID: a.ID, Value: value})
	}
	return got, len(got) > 0
}

// gotten copies an attribute that was read into the view, if ASIC_STATE may hold the attribute only because of a read.
func (w *adoption) gotten(k sai.Key, a sai.Attr) {
	n := w.view.graph.Nodes[k]
	if !w.keepsGets || n == nil || w.current.Nodes[k] == nil {
		return
	}
	if is, there := w.current.Nodes[k].Attrs[a.ID]; there && asicview.EqualValues(a.ID, is, a.Value) {
		if _, set := n.Attrs[a.ID]; !set {
			n.Attrs[a.ID] = a.Value
		}
	}
}

func (w *adoption) checkPolled(group, field string, ids []string, objs []sai.OID) error {
	return (&guard{Validator: w.view.check}).checkPolled(group, field, ids, objs)
}

// fulfil brings the ASIC to the view. It returns the adopted objects, by the orchs' ids.
func (w *adoption) fulfil(ctx context.Context, c *Client, log *slog.Logger) (*objectids.Map, error) {
	cur, next := w.current, w.view.graph
	cur.Link()
	next.Link()
	asicview.Match(cur, next)
	t := &asicview.Transition{
		Backend: c, Log: log, Current: cur, Next: next, From: w.view.ids, IDs: w.view.ids.OwnCopy(w.view.removed),
		Removed: w.view.removed,
	}
	t.Bring(ctx)
	if len(t.Errors) > 0 {
		some := errors.Join(t.Errors[:min(3, len(t.Errors))]...)
		return nil, fmt.Errorf("the ASIC could not be brought to what is configured: %w", some)
	}
	ids := objectids.NewMap()
	for _, n := range next.Sorted() {
		if n.Key.Entry != nil || n.Own {
			continue
		}
		if rid, ok := t.IDs.RID(n.Key.OID); ok && rid != n.Key.OID {
			ids.Add(n.Key.OID, rid)
		}
	}
	log.Info("the ASIC was adopted as it was", "objects", len(cur.Nodes))
	return ids, nil
}
