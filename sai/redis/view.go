package sairedis

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// A view holds the objects that orchagent created since INIT_VIEW. It exists only in TEMP_ASIC_STATE, not in the ASIC.
type view struct {
	check   *sai.Validator
	ids     *objectids.Map // the ids of the current view
	graph   *asicview.Graph
	removed map[sai.OID]bool         // objects that came with the switch or a port, and must be removed
	read    map[sai.Key][]sai.AttrID // attributes that the client has read
	chip    sai.Checker              // refuses what the ASIC would refuse in any state
	count   map[sai.ObjectType]int   // number of objects of each type
}

func newView(ids *objectids.Map, chip sai.Checker) *view {
	return &view{
		check: sai.NewValidator(), ids: ids, graph: asicview.NewGraph(), removed: map[sai.OID]bool{},
		read: map[sai.Key][]sai.AttrID{}, chip: chip, count: map[sai.ObjectType]int{},
	}
}

// views brings the ASIC from one view to another: to the contents of ASIC_DB when syncd starts, and to the view that
// orchagent made between INIT_VIEW and APPLY_VIEW.
type views struct {
	db       *swss.DB
	backend  sai.API
	checker  sai.Checker // the same ASIC
	log      *slog.Logger
	objects  *objectids.Translator
	polled   flex.Groups
	compares bool // true if views are compared; otherwise INIT_VIEW and APPLY_VIEW are answered but ignored

	making  *view // the view being made; nil outside INIT_VIEW..APPLY_VIEW
	refused bool  // true if the last APPLY_VIEW has failed
	first   bool  // true after INIT_VIEW of an empty ASIC_DB: objects are created directly
}

// notify executes INIT_VIEW and APPLY_VIEW, and records in ASIC_DB whether a view is being made. Other words are
// answered but ignored.
func (vs *views) notify(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	res, err := vs.heed(ctx, m)
	if err == nil {
		making := vs.isMaking()
		res.Write(func(p redis.Pipeliner) { noteView(ctx, p, making) })
	}
	return res, err
}

// has reports whether the view that is being made has an object.
func (vs *views) has(vid sai.OID) bool { return vs.making != nil && vs.making.graph.ByOID[vid] != nil }

func (vs *views) isMaking() bool { return vs.making != nil || vs.first }

func (vs *views) heed(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	switch m.Key {
	case protocol.InitView:
		if vs.compares {
			return vs.initView(ctx)
		}
	case protocol.ApplyView:
		switch {
		case vs.making != nil:
			return vs.applyView(ctx)
		case vs.compares && !vs.first:
			return nil, fmt.Errorf("%s without %s: %w", protocol.ApplyView, protocol.InitView, sai.StatusFailure)
		}
		vs.first = false
	case "SYNCD_INSPECT_ASIC", "SYNCD_INVOKE_DUMP":
	default:
		return nil, fmt.Errorf("notify %.40q: %w", m.Key, sai.StatusInvalidParameter)
	}
	return &protocol.Result{}, nil
}

// initView begins a view. The objects of the first view of an empty ASIC_DB are created directly.
func (vs *views) initView(ctx context.Context) (*protocol.Result, error) {
	if !vs.objects.IDs.Known(protocol.SwitchVID) {
		vs.first = true
		return &protocol.Result{}, nil
	}
	vs.first = false
	if err := vs.objects.Count(ctx); err != nil {
		return nil, err
	}
	v := newView(vs.objects.IDs, vs.checker)
	for _, vid := range vs.objects.IDs.OwnVIDs() {
		if t, ok := protocol.VIDType(vid); ok {
			v.check.Found(sai.Obj(t, vid))
			v.count[t]++
			v.graph.Add(sai.Obj(t, vid), true)
		}
	}
	vs.making = v
	vs.polled.Keep(vs.objects.IDs.Known) // a view that was abandoned may have left polls
	stale, err := vs.db.Client().Keys(ctx, protocol.TempASICState+":*").Result()
	if err != nil {
		return nil, err
	}
	res := &protocol.Result{}
	if len(stale) > 0 {
		res.Write(func(p redis.Pipeliner) { p.Del(ctx, stale...) })
	}
	return res, vs.inheritPorts(ctx, v, res)
}

// inheritPorts adds the created ports to the new view, without their settings. A client does not create ports in a
// view, but reads the existing ones from PORT_LIST.
func (vs *views) inheritPorts(ctx context.Context, v *view, res *protocol.Result) error {
	cur, err := asicview.ReadView(ctx, vs.db, func(vid sai.OID) bool { return vs.objects.IDs.Own[vid] }, vs.badRow)
	if err != nil {
		return err
	}
	for _, c := range cur.Sorted() {
		if !isCreatedPort(c) {
			continue
		}
		pairs, err := protocol.FormatAttrs(v.inherit(c))
		if err != nil {
			return err
		}
		res.Write(protocol.PutRow(ctx, protocol.TempASICState, c.Key, pairs))
	}
	return nil
}

func isCreatedPort(n *asicview.Node) bool {
	return !n.Own && n.Key.Entry == nil && n.Key.Type == sai.ObjectTypePort
}

// inherit adds a created port of the current view to the new one. It returns the attributes that it was created with.
func (v *view) inherit(c *asicview.Node) []sai.Attr {
	var attrs []sai.Attr
	n := v.graph.Add(c.Key, false)
	for _, a := range c.SortedAttrs() {
		if sai.Meta(a.ID).Flags&sai.MandatoryOnCreate != 0 {
			attrs = append(attrs, a)
			n.Attrs[a.ID] = a.Value
		}
	}
	v.check.Created(c.Key, attrs)
	v.count[c.Key.Type]++
	return attrs
}

func (v *view) create(ctx context.Context, res *protocol.Result, k sai.Key, attrs []sai.Attr, pairs []swss.Pair) error {
	if k.Entry != nil {
		if err := v.check.CheckCreateEntry(k.Entry, attrs); err != nil {
			return err
		}
	} else {
		if err := v.check.CheckCreate(k.Type, attrs); err != nil {
			return err
		}
		if v.check.Exists(k) || k.OID == sai.NullOID || asicview.IsSwitch(k) && k.OID != protocol.SwitchVID ||
			!asicview.IsSwitch(k) && v.ids.Known(k.OID) {
			return fmt.Errorf("create %s: the virtual id is in use: %w", k, sai.StatusItemAlreadyExists)
		}
	}
	t := protocol.KeyType(k)
	if err := v.chip.CheckCreate(k, attrs, v.count[t]); err != nil {
		return numbered(err, attrs)
	}
	v.count[t]++
	v.check.Created(k, attrs)
	n := v.graph.Add(k, false)
	for _, a := range attrs {
		n.Attrs[a.ID] = a.Value
	}
	res.Write(protocol.PutRow(ctx, protocol.TempASICState, k, pairs))
	return nil
}

// remove removes an object from the view. Objects of the current view, which a get may have returned, are removed
// anyway, unless the new view has an equal object.
func (v *view) remove(ctx context.Context, res *protocol.Result, k sai.Key) error {
	if !v.check.Exists(k) {
		if k.Entry == nil && k.OID != sai.NullOID && v.ids.Known(k.OID) {
			return nil
		}
	}
	if err := v.check.CheckRemove(k); err != nil {
		return err
	}
	v.check.Removed(k)
	v.count[protocol.KeyType(k)]--
	if n := v.graph.Nodes[k]; n != nil && n.Own {
		v.removed[k.OID] = true
	}
	delete(v.graph.Nodes, k)
	if k.Entry == nil {
		delete(v.graph.ByOID, k.OID)
	}
	res.Write(func(p redis.Pipeliner) { p.Del(ctx, protocol.TempASICState+":"+sai.FormatKey(k)) })
	return nil
}

func (v *view) set(ctx context.Context, res *protocol.Result, k sai.Key, a sai.Attr, pairs []swss.Pair) error {
	if !v.check.Exists(k) && k.Entry == nil && k.OID != sai.NullOID && v.ids.Known(k.OID) {
		return nil // an object of the current view, see remove
	}
	if err := v.check.CheckSet(k, a); err != nil {
		return err
	}
	if err := v.chip.CheckSet(k, a); err != nil {
		return err
	}
	v.check.Changed(k, a)
	v.graph.Add(k, false).Attrs[a.ID] = a.Value
	res.Write(protocol.PutRow(ctx, protocol.TempASICState, k, pairs))
	return nil
}

// checkGet refuses to read objects that exist only in the view.
func (v *view) checkGet(k sai.Key) error {
	n := v.graph.Nodes[k]
	if n != nil && !n.Own && !asicview.IsSwitch(k) && !v.ids.Known(k.OID) {
		return fmt.Errorf(
			"get %s: the object is not in the ASIC before %s: %w",
			k,
			protocol.ApplyView,
			sai.StatusInvalidObjectID,
		)
	}
	return nil
}

// noteRead records that a client has read attributes.
func (v *view) noteRead(k sai.Key, attrs []sai.Attr) {
	if k.Entry != nil {
		return
	}
	for _, a := range attrs {
		v.read[k] = append(v.read[k], a.ID)
	}
}

// keepRead keeps, in the view, the settings that the client has read and not set: a client that reads the value that it
// would set does not set it. This applies to the switch, to ports and to objects that came with them. Other objects of
// the current view are not in the new one. A setting that names an object outside the view is not kept.
func (v *view) keepRead(cur *asicview.Graph) {
	for k, ids := range v.read {
		n, c := v.graph.Nodes[k], cur.Nodes[k]
		if n == nil || c == nil {
			continue
		}
		for _, id := range ids {
			value, was := c.Attrs[id]
			_, set := n.Attrs[id]
			if was && !set && !sai.Meta(id).Has(sai.CreateOnly) && v.hasAll(value) {
				n.Attrs[id] = value
			}
		}
	}
}

// hasAll reports whether the view has all objects that a value names.
func (v *view) hasAll(value sai.Value) bool {
	all := true
	sai.References(value, func(o sai.OID) { all = all && (o == sai.NullOID || v.graph.ByOID[o] != nil) })
	return all
}

// transition prepares the transition between two matched views. It omits objects that came with the switch and must
// be removed.
func (vs *views) transition(cur, next *asicview.Graph, removed map[sai.OID]bool) *asicview.Transition {
	ids := vs.objects.IDs
	return &asicview.Transition{
		Backend: vs.backend, Log: vs.log, Current: cur, Next: next,
		From: ids, IDs: ids.OwnCopy(removed), Removed: removed,
	}
}
