package sairedis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// An Agent is orchagent's side of the ASIC: the SAI API of a [Client], for one that may find the ASIC as a former
// process left it. What an orch creates between [Agent.InitView] and [Agent.ApplyView] is then only a wish: at the end
// it is compared with what is there, objects that are there already are adopted, and only the differences are sent.
// Where that is not safe, syncd makes the comparison, as in SONiC.
//
// An adopted object keeps the id that it has in ASIC_DB. Orchs know it by another, the one that Create returned: the
// agent translates, and [Agent.Public] gives the id that others know.
type Agent struct {
	client *Client
	state  *swss.DB
	log    *slog.Logger
	ids    *objectids.Map // of adopted objects: from the orchs' ids to those of ASIC_DB
	wish   *adoption      // nil: orchs work on the ASIC itself
	anew   string         // why the view that is being made adopts nothing
	polls  []heldPoll

	learned []*asicview.Node // addresses that the adopted ASIC had learned

	failed   int  // how often in a row what was wished could not be adopted, by former processes, too
	cautious bool // the last view was not applied
}

var _ sai.API = (*Agent)(nil)

// NewAgent returns the agent of a client.
func NewAgent(r *swss.Redis, c *Client) *Agent {
	return &Agent{client: c, state: r.DB(swss.StateDB), log: c.log, ids: objectids.NewMap()}
}

// Close ends the client's connection. Syncd and the ASIC stay as they are. If others have made requests, what they
// began is not to be adopted.
func (a *Agent) Close() error {
	var err error
	select {
	case <-a.client.lost:
		if errors.Is(a.client.broken, ErrStrangers) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err = a.unmark(ctx)
		}
	default:
	}
	return errors.Join(err, a.client.Close())
}

// Lost returns when the state of the ASIC is unknown, with the reason, or when ctx ends.
func (a *Agent) Lost(ctx context.Context) error { return a.client.Lost(ctx) }

// Compared is the stage that compares what was made with ASIC_STATE. Where that differs, ASIC_DB does not tell what the
// ASIC does: the next view is made anew. may is as of [Client.Compared].
func (a *Agent) Compared(may func() bool) drift.Stage {
	s := a.client.Compared(may)
	heal := s.Heal
	s.Heal = func(ctx context.Context, found []drift.Finding) error {
		if err := a.unmark(ctx); err != nil {
			return err
		}
		return heal(ctx, found)
	}
	return s
}

// GiveUp says that the state of the ASIC is unknown, and why: [Agent.Lost] returns.
func (a *Agent) GiveUp(ctx context.Context, why error) error { return a.client.GiveUp(ctx, why) }

// Notifications returns the source of syncd's notifications, to be read with [Agent.Notified].
func (a *Agent) Notifications(l *swss.Listener) swss.Source { return a.client.Notifications(l) }

// Notified reads one message of the source of [Agent.Notifications].
func (a *Agent) Notified(k swss.KeyOpFieldsValues) ([]sai.Notification, error) {
	list, err := ParseNotification(k)
	for i, n := range list {
		switch n := n.(type) {
		case sai.PortState:
			n.Port = a.private(n.Port)
			list[i] = n
		case sai.FDBEvent:
			n.Entry = sai.MapEntry(n.Entry, a.private).(sai.FDBEntry)
			n.Attrs = a.privateAttrs(n.Attrs)
			list[i] = n
		}
	}
	return list, err
}

// InitView begins a new view of the ASIC's state. Objects known from before are forgotten.
func (a *Agent) InitView(ctx context.Context) error {
	a.ids, a.wish, a.polls, a.learned = objectids.NewMap(), nil, nil, nil
	row, _, err := a.viewRow().Get(ctx, "asic")
	if err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	a.failed, _ = strconv.Atoi(row[viewFailed])
	a.cautious = row[viewState] == viewRefused
	why, err := a.adopt(ctx)
	if err != nil {
		return err
	}
	a.anew = why
	if why == "" {
		return nil
	}
	a.log.Info("the view of the ASIC is made anew", "because", why)
	if err := a.begin(ctx); err != nil {
		return err
	}
	return a.client.InitView(ctx)
}

// ErrNotApplied is found in the error of [Agent.ApplyView] when the ASIC refused something of the view: another try
// will hardly fare better soon.
var ErrNotApplied = errors.New("the ASIC does not take what is configured")

// ApplyView brings the ASIC to the view made since InitView. What fails is noted in STATE_DB: what could not be adopted
// twice is not tried so again, but syncd compares.
func (a *Agent) ApplyView(ctx context.Context) error {
	if a.wish == nil {
		err := a.client.ApplyView(ctx)
		if err == nil {
			return a.mark(ctx)
		}
		if _, refused := sai.StatusOf(err); refused {
			return a.refused(ctx, err, swss.FieldValues{viewState: viewRefused})
		}
		return err
	}
	ids, err := a.wish.fulfil(ctx, a.client, a.log)
	if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, swss.ErrUnavailable) {
		return a.refused(ctx, err, swss.FieldValues{viewState: viewApplied, viewFailed: strconv.Itoa(a.failed + 1)})
	}
	if err != nil {
		return err
	}
	if a.failed > 0 {
		if err := a.fits(ctx); err != nil {
			return err
		}
	}
	anew := a.wish.pollsAnew
	a.ids, a.wish = ids, nil
	polls := a.polls
	a.polls = nil
	for i, p := range polls {
		polls[i].objs = a.publicOIDs(p.objs)
	}
	return a.client.pollOnly(ctx, polls, anew)
}

// refused notes for the next process how a view has failed.
func (a *Agent) refused(ctx context.Context, why error, row swss.FieldValues) error {
	if err := a.viewRow().Set(ctx, "asic", row); err != nil {
		return errors.Join(why, fmt.Errorf("sairedis: %w", err))
	}
	return fmt.Errorf("%w: %w", ErrNotApplied, why)
}

// Cautious reports whether the last view was refused: only what was in force before should be in this one.
func (a *Agent) Cautious() bool { return a.cautious }

// Adopting reports whether a view is being made that adopts what is in the ASIC.
func (a *Agent) Adopting() bool { return a.wish != nil }

// Anew says why ASIC_DB does not tell what the ASIC does, so that the view is made anew; "" if it does.
func (a *Agent) Anew() string { return a.anew }

// Chip returns the ASIC as it is, also while a view is being made: for objects that are no part of any view.
func (a *Agent) Chip() sai.API { return a.client }

// Found lists the objects of a type that came with the switch and that nobody has removed.
func (a *Agent) Found(ctx context.Context, t sai.ObjectType) ([]sai.OID, error) {
	var list []sai.OID
	if a.wish != nil {
		for _, n := range a.wish.view.graph.Sorted() {
			if n.Own && n.Key.Entry == nil && n.Key.Type == t {
				list = append(list, n.Key.OID)
			}
		}
		return list, nil
	}
	c := a.client
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	own, err := cameWith(ctx, c.asic)
	if err != nil {
		return nil, err
	}
	for _, vid := range slices.SortedFunc(maps.Keys(own), objectids.CompareOIDs) {
		if kind, ok := protocol.VIDType(vid); !ok || kind != t {
			continue
		}
		there, err := c.asic.Client().HExists(ctx, protocol.KeyVIDToRID, vid.String()).Result()
		if err != nil {
			return nil, fmt.Errorf("sairedis: %s: %w", protocol.KeyVIDToRID, err)
		}
		if there {
			c.check.Found(sai.Obj(t, vid))
			list = append(list, vid)
		}
	}
	return list, nil
}

// Learned returns the addresses that the ASIC had learned when [Agent.InitView] adopted it, as if they came now.
func (a *Agent) Learned() []sai.FDBEvent {
	var list []sai.FDBEvent
	for _, n := range a.learned {
		e := sai.MapEntry(n.Key.Entry, a.private).(sai.FDBEntry)
		list = append(list, sai.FDBEvent{Event: sai.FDBEventLearned, Entry: e, Attrs: a.privateAttrs(n.SortedAttrs())})
	}
	return list
}

// Public returns the id that an object has in ASIC_DB. Before the view is applied, that of an object made in it is not
// known: false.
func (a *Agent) Public(o sai.OID) (sai.OID, bool) {
	if a.wish != nil && a.wish.made(o) {
		return 0, false
	}
	return a.public(o), true
}

// public translates an orch's id.
func (a *Agent) public(o sai.OID) sai.OID {
	if adopted, ok := a.ids.RID(o); ok {
		return adopted
	}
	return o
}

// private translates an id of ASIC_DB.
func (a *Agent) private(o sai.OID) sai.OID {
	if known, ok := a.ids.VID(o); ok {
		return known
	}
	return o
}

func (a *Agent) publicKey(k sai.Key) sai.Key { return sai.MapKey(k, a.public) }

func (a *Agent) publicKeys(keys []sai.Key) []sai.Key {
	list := make([]sai.Key, len(keys))
	for i, k := range keys {
		list[i] = a.publicKey(k)
	}
	return list
}

func (a *Agent) publicAttrs(attrs []sai.Attr) []sai.Attr { return mapAttrs(attrs, a.public) }

func (a *Agent) privateAttrs(attrs []sai.Attr) []sai.Attr { return mapAttrs(attrs, a.private) }

// mapAttrs returns attributes that name other objects. Most name none.
func mapAttrs(attrs []sai.Attr, to func(sai.OID) sai.OID) []sai.Attr {
	var list []sai.Attr
	for i, x := range attrs {
		if !asicview.NamesObjects(x.Value) {
			continue
		}
		if list == nil {
			list = slices.Clone(attrs)
		}
		list[i].Value = sai.MapOIDs(x.Value, to)
	}
	if list == nil {
		return attrs
	}
	return list
}

// forget drops the translation of what was removed: its id is nobody's any more.
func (a *Agent) forget(k sai.Key) {
	if k.Entry != nil {
		return
	}
	if adopted, ok := a.ids.RID(k.OID); ok && k.OID != sai.NullOID {
		a.ids.Remove(k.OID, adopted)
	}
}

// Create implements [sai.API].
func (a *Agent) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if a.wish != nil {
		return a.wish.create(ctx, t, attrs)
	}
	return a.client.Create(ctx, t, a.publicAttrs(attrs))
}

// CreateEntry implements [sai.API].
func (a *Agent) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	if a.wish != nil {
		return a.wish.createEntry(ctx, e, attrs)
	}
	return a.client.CreateEntry(ctx, sai.MapEntry(e, a.public), a.publicAttrs(attrs))
}

// Remove implements [sai.API].
func (a *Agent) Remove(ctx context.Context, k sai.Key) error {
	if a.wish != nil {
		return a.wish.remove(ctx, k)
	}
	err := a.client.Remove(ctx, a.publicKey(k))
	if err == nil {
		a.forget(k)
	}
	return err
}

// Set implements [sai.API].
func (a *Agent) Set(ctx context.Context, k sai.Key, x sai.Attr) error {
	if a.wish != nil {
		return a.wish.set(ctx, k, x)
	}
	x.Value = sai.MapOIDs(x.Value, a.public)
	return a.client.Set(ctx, a.publicKey(k), x)
}

// Get implements [sai.API].
func (a *Agent) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if a.wish != nil {
		return a.wish.get(ctx, a.client, k, want)
	}
	got, err := a.client.Get(ctx, a.publicKey(k), want)
	return a.privateAttrs(got), err
}

// BulkCreate implements [sai.API].
func (a *Agent) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	if a.wish == nil {
		public := make([][]sai.Attr, len(objs))
		for i, attrs := range objs {
			public[i] = a.publicAttrs(attrs)
		}
		return a.client.BulkCreate(ctx, t, public)
	}
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	for i, attrs := range objs {
		oids[i], errs[i] = a.wish.create(ctx, t, attrs)
	}
	return oids, errs
}

// BulkCreateEntries implements [sai.API].
func (a *Agent) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	if a.wish == nil {
		public, values := make([]sai.Entry, len(entries)), make([][]sai.Attr, len(entries))
		for i, e := range entries {
			public[i], values[i] = sai.MapEntry(e, a.public), a.publicAttrs(attrs[i])
		}
		return a.client.BulkCreateEntries(ctx, public, values)
	}
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = a.wish.createEntry(ctx, e, attrs[i])
	}
	return errs
}

// BulkRemove implements [sai.API].
func (a *Agent) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	if a.wish == nil {
		errs := a.client.BulkRemove(ctx, a.publicKeys(keys))
		for i, err := range errs {
			if err == nil {
				a.forget(keys[i])
			}
		}
		return errs
	}
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = a.wish.remove(ctx, k)
	}
	return errs
}

// BulkSet implements [sai.API].
func (a *Agent) BulkSet(ctx context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	if a.wish == nil {
		return a.client.BulkSet(ctx, a.publicKeys(keys), a.publicAttrs(attrs))
	}
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = a.wish.set(ctx, k, attrs[i])
	}
	return errs
}

// Stats implements [sai.API].
func (a *Agent) Stats(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	return a.client.Stats(ctx, a.publicKey(k), ids)
}

// ClearStats implements [sai.API].
func (a *Agent) ClearStats(ctx context.Context, k sai.Key, ids []sai.StatID) error {
	return a.client.ClearStats(ctx, a.publicKey(k), ids)
}

// FlushFDB implements [sai.API]. Before the view is applied, entries stay.
func (a *Agent) FlushFDB(ctx context.Context, attrs []sai.Attr) error {
	if a.wish != nil {
		return a.wish.view.check.CheckFlush(attrs)
	}
	return a.client.FlushFDB(ctx, a.publicAttrs(attrs))
}

// AttrCapability implements [sai.API].
func (a *Agent) AttrCapability(ctx context.Context, id sai.AttrID) (sai.Capability, error) {
	return a.client.AttrCapability(ctx, id)
}

// EnumCapability implements [sai.API].
func (a *Agent) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	return a.client.EnumCapability(ctx, id)
}

// StatsCapability implements [sai.API].
func (a *Agent) StatsCapability(ctx context.Context, t sai.ObjectType) ([]sai.StatID, error) {
	return a.client.StatsCapability(ctx, t)
}

// Availability implements [sai.API].
func (a *Agent) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	return a.client.Availability(ctx, t, a.publicAttrs(attrs))
}

// SetCounterGroup creates or changes a flex counter group.
func (a *Agent) SetCounterGroup(ctx context.Context, group string, g CounterGroup) error {
	return a.client.SetCounterGroup(ctx, group, g)
}

// StartPoll makes syncd read counters of objects, as [Client.StartPoll] says; before the view is applied, it is put
// off.
func (a *Agent) StartPoll(ctx context.Context, group, field string, ids []string, objs ...sai.OID) error {
	if a.wish == nil {
		return a.client.StartPoll(ctx, group, field, ids, a.publicOIDs(objs)...)
	}
	if err := a.wish.checkPolled(group, field, ids, objs); err != nil {
		return err
	}
	fields := []swss.Pair{{Field: field, Value: strings.Join(ids, ",")}}
	a.polls = append(a.polls, heldPoll{group, fields, slices.Clone(objs)})
	return nil
}

// StopPoll ends what StartPoll began.
func (a *Agent) StopPoll(ctx context.Context, group string, objs ...sai.OID) error {
	if a.wish == nil {
		return a.client.StopPoll(ctx, group, a.publicOIDs(objs)...)
	}
	if err := checkGroup(group); err != nil {
		return err
	}
	for i, p := range a.polls {
		if p.group == group {
			a.polls[i].objs = slices.DeleteFunc(p.objs, func(o sai.OID) bool { return slices.Contains(objs, o) })
		}
	}
	return nil
}

func (a *Agent) publicOIDs(objs []sai.OID) []sai.OID {
	list := make([]sai.OID, len(objs))
	for i, o := range objs {
		list[i] = a.public(o)
	}
	return list
}

func (a *Agent) viewRow() *swss.Table { return swss.NewTable(a.state, viewTable) }

// viewTable is where STATE_DB says that the ASIC's view was applied as a whole: what follows are single changes, so
// that ASIC_DB tells what the ASIC does. ASIC_DB says the same among the marks, which go when anything of it is lost.
const (
	viewTable   = "TAMTAM_VIEW"
	fieldViewed = "view"
	viewBegun   = "begun"
	viewApplied = "applied"
)

// Fields of the row of STATE_DB, and what the state may be. Without a row nothing is known.
const (
	viewState   = "state"
	viewRefused = "refused" // APPLY_VIEW has failed
	viewFailed  = "failed"  // how often in a row adoption has
)

// maxAdoptions is how often in a row adoption is tried.
const maxAdoptions = 2

// begin says that a view is being made.
func (a *Agent) begin(ctx context.Context) error {
	if err := a.unmark(ctx); err != nil {
		return err
	}
	return sayView(ctx, a.client.asic, viewBegun)
}

// mark says that the view was applied, unless something of ASIC_DB has been lost since it began.
func (a *Agent) mark(ctx context.Context) error {
	asic := a.client.asic
	switch was, err := asic.Client().HGet(ctx, swss.KeyMark, fieldViewed).Result(); {
	case err != nil && !errors.Is(err, redis.Nil):
		return fmt.Errorf("sairedis: %w", err)
	case was != viewBegun:
		return fmt.Errorf("sairedis: something of ASIC_DB was lost while the view was made: %w", swss.ErrAnew)
	}
	if err := sayView(ctx, asic, viewApplied); err != nil {
		return err
	}
	return a.fits(ctx)
}

// fits notes that what is configured is in the ASIC.
func (a *Agent) fits(ctx context.Context) error {
	a.failed = 0
	err := a.viewRow().Set(ctx, "asic", swss.FieldValues{viewState: viewApplied})
	if err == nil {
		err = a.viewRow().HDel(ctx, "asic", viewFailed)
	}
	if err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	return nil
}

func sayView(ctx context.Context, asic *swss.DB, word string) error {
	if err := asic.Client().HSet(ctx, swss.KeyMark, fieldViewed, word).Err(); err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	return nil
}

func (a *Agent) unmark(ctx context.Context) error {
	if err := a.viewRow().Del(ctx, "asic"); err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	return nil
}
