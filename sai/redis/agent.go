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

	"tamtam/sai"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// An Agent is orchagent's side of the ASIC: the SAI API of a [Client], for a process that may find the ASIC as a
// former process left it. Objects that an orch creates between [Agent.InitView] and [Agent.ApplyView] are only target
// state. ApplyView compares this with the actual state, adopts objects that already exist, and sends only the
// differences. If that is not safe, syncd makes the comparison, as in SONiC.
//
// An adopted object keeps its id in ASIC_DB. Orchs use the id that Create returned. The agent translates between the
// two ids, and [Agent.Public] returns the id in ASIC_DB.
type Agent struct {
	sai.API // target during a view, otherwise names

	client        *Client
	log           *slog.Logger
	record        *viewRecord
	names         *translation
	target        *adoption // nil means that orchs work on the ASIC itself
	rebuildReason string    // reason why the current view adopts nothing; "" if it adopts
	polls         []heldPoll
}

// NewAgent returns the agent of a client.
func NewAgent(r *swss.Redis, c *Client) *Agent {
	record := &viewRecord{state: swss.NewTable(r.DB(swss.StateDB), viewTable), asic: c.asic}
	a := &Agent{client: c, log: c.log, record: record}
	a.work(objectids.NewMap())
	return a
}

// work makes orchs work on the ASIC itself. ids maps their ids to those of adopted objects.
func (a *Agent) work(ids *objectids.Map) {
	a.names, a.target = &translation{API: a.client, ids: ids}, nil
	a.API = a.names
}

// Close ends the client's connection. Syncd and the ASIC stay unchanged. If other clients have made requests, Close
// prevents the adoption of the state.
func (a *Agent) Close() error {
	var err error
	select {
	case <-a.client.lost:
		if errors.Is(a.client.broken, ErrStrangers) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err = a.record.unmark(ctx)
		}
	default:
	}
	return errors.Join(err, a.client.Close())
}

// Compared returns the stage that compares the created objects with ASIC_STATE. If they differ, ASIC_DB does not
// describe the ASIC, so the next view adopts nothing. may has the same meaning as for [Client.Compared].
func (a *Agent) Compared(may func() bool) drift.Stage {
	s := a.client.Compared(may)
	heal := s.Heal
	s.Heal = func(ctx context.Context, found []drift.Finding) error {
		if err := a.record.unmark(ctx); err != nil {
			return err
		}
		return heal(ctx, found)
	}
	return s
}

// Notified decodes one message of the source of [Client.Notifications].
func (a *Agent) Notified(k swss.KeyOpFieldsValues) ([]sai.Notification, error) {
	list, err := ParseNotification(k)
	for i, n := range list {
		switch n := n.(type) {
		case sai.PortState, sai.TelTypeConfigChange:
			list[i] = sai.MapNotification(n, a.names.private)
		case sai.FDBEvent:
			n.Entry = sai.MapEntry(n.Entry, a.names.private).(sai.FDBEntry)
			n.Attrs = a.names.privateAttrs(n.Attrs)
			list[i] = n
		}
	}
	return list, err
}

// InitView begins a new view of the ASIC's state. It forgets the objects known so far.
func (a *Agent) InitView(ctx context.Context) error {
	a.work(objectids.NewMap())
	a.polls = nil
	if err := a.record.read(ctx); err != nil {
		return err
	}
	why, err := a.adopt(ctx)
	if err != nil {
		return err
	}
	a.rebuildReason = why
	if why == "" {
		return nil
	}
	a.log.Info("the view of the ASIC is built again", "because", why)
	if err := a.record.begin(ctx); err != nil {
		return err
	}
	return a.client.InitView(ctx)
}

// ErrNotApplied is wrapped by the error of [Agent.ApplyView] if the ASIC refused a part of the view. A retry will
// probably fail too.
var ErrNotApplied = errors.New("the ASIC does not take what is configured")

// ApplyView brings the ASIC to the view made since InitView. It records failures in STATE_DB. After two failed
// adoptions, syncd makes the comparison instead.
func (a *Agent) ApplyView(ctx context.Context) error {
	if a.target == nil {
		err := a.client.ApplyView(ctx)
		if err == nil {
			return a.record.mark(ctx)
		}
		if _, refused := sai.StatusOf(err); refused {
			return a.record.refused(ctx, err, swss.FieldValues{viewState: viewRefused})
		}
		return err
	}
	ids, err := a.target.fulfil(ctx, a.client, a.log)
	if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, swss.ErrUnavailable) {
		failed := strconv.Itoa(a.record.failed + 1)
		return a.record.refused(ctx, err, swss.FieldValues{viewState: viewApplied, viewFailed: failed})
	}
	if err != nil {
		return err
	}
	if a.record.failed > 0 {
		if err := a.record.fits(ctx); err != nil {
			return err
		}
	}
	anew := a.target.repeatPolls
	a.work(ids)
	polls := a.polls
	a.polls = nil
	for i, p := range polls {
		polls[i].objs = a.names.publicOIDs(p.objs)
	}
	return a.client.pollOnly(ctx, polls, anew)
}

// Cautious reports whether the last view was refused. The current view should then contain only state that was in force
// before.
func (a *Agent) Cautious() bool { return a.record.cautious }

// Adopting reports whether the current view adopts the state of the ASIC.
func (a *Agent) Adopting() bool { return a.target != nil }

// RebuildReason returns why ASIC_DB does not describe the ASIC, so that the view adopts nothing. It returns "" if it
// does.
func (a *Agent) RebuildReason() string { return a.rebuildReason }

// Client returns the client of the unchanged ASIC, even while a view is being made, for calls that are not part of a
// view.
func (a *Agent) Client() *Client { return a.client }

// Found returns the objects of a type that came with the switch and were not removed.
func (a *Agent) Found(ctx context.Context, t sai.ObjectType) ([]sai.OID, error) {
	var list []sai.OID
	if a.target != nil {
		for _, n := range a.target.view.graph.Sorted() {
			if n.Own && n.Key.Entry == nil && n.Key.Type == t {
				list = append(list, n.Key.OID)
			}
		}
		return list, nil
	}
	c := a.client
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
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

// Learned returns the addresses that the ASIC has learned, according to ASIC_STATE, as new events. A dynamic entry that
// an orch has created is among them.
func (a *Agent) Learned(ctx context.Context) ([]sai.FDBEvent, error) {
	rows := protocol.ASICState + ":" + sai.ObjectTypeFDBEntry.String()
	names, err := a.client.asic.Client().Keys(ctx, rows+":*").Result()
	if err != nil {
		return nil, &swss.Error{DB: swss.ASICDB, Op: "keys", Err: err}
	}
	slices.Sort(names)
	var list []sai.FDBEvent
	err = a.client.asic.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		k, err := keyOfRow(names[i])
		if err != nil || row == nil {
			return
		}
		attrs, err := protocol.ParseAttrs(sai.ObjectTypeFDBEntry, swss.Pairs(row))
		if err != nil || !slices.ContainsFunc(attrs, func(a sai.Attr) bool { return a == learned }) {
			return
		}
		e := sai.MapEntry(k.Entry, a.names.private).(sai.FDBEntry)
		list = append(list, sai.FDBEvent{Event: sai.FDBEventLearned, Entry: e, Attrs: a.names.privateAttrs(attrs)})
	})
	return list, err
}

// Public returns an object's id in ASIC_DB. It returns false for an object made in a view that is not applied yet.
func (a *Agent) Public(o sai.OID) (sai.OID, bool) {
	if a.target != nil && a.target.made(o) {
		return 0, false
	}
	return a.names.public(o), true
}

// StartPoll makes syncd poll counters of objects, see [Client.StartPoll]. In a view, the request is delayed until the
// view is applied.
func (a *Agent) StartPoll(ctx context.Context, group, field string, ids []string, objs ...sai.OID) error {
	if a.target == nil {
		return a.client.StartPoll(ctx, group, field, ids, a.names.publicOIDs(objs)...)
	}
	if err := a.target.checkPolled(group, field, ids, objs); err != nil {
		return err
	}
	fields := []swss.Pair{{Field: field, Value: strings.Join(ids, ",")}}
	a.polls = append(a.polls, heldPoll{group, fields, slices.Clone(objs)})
	return nil
}

// StopPoll ends a poll that StartPoll began.
func (a *Agent) StopPoll(ctx context.Context, group string, objs ...sai.OID) error {
	if a.target == nil {
		return a.client.StopPoll(ctx, group, a.names.publicOIDs(objs)...)
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
