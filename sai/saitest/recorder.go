package saitest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tamtam/sai"
)

// A Recorder passes calls on to another API and records them as text, one line per call, like sairedis.rec without
// the time:
//
//	c|TYPE:oid|ATTR=value|...	create	r|TYPE:oid	remove
//	s|TYPE:oid|ATTR=value	set	g|TYPE:oid|ATTR=value|...	get (the values read)
//	E|status	the call above failed
//
// A bulk call has one line per item, in capitals.
type Recorder struct {
	mu    sync.Mutex
	next  sai.API
	lines []string
	calls int // number of changing calls since FailAt
	fail  map[int]sai.Status
	live  map[sai.Key]bool
}

var _ sai.API = (*Recorder)(nil)

// NewRecorder returns a Recorder in front of next.
func NewRecorder(next sai.API) *Recorder {
	r := &Recorder{fail: map[int]sai.Status{}, live: map[sai.Key]bool{}}
	r.next = &sai.Gate{API: next, Refuse: r.due}
	return r
}

// FailAt makes the n-th changing call from now fail (1 is the next) without reaching the other API. Each item of a
// bulk call counts as a call. FailAt replaces an earlier FailAt.
func (r *Recorder) FailAt(n int, s sai.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = 0
	clear(r.fail)
	if n > 0 {
		r.fail[n] = s
	}
}

// Changes returns the number of changing calls since the last FailAt.
func (r *Recorder) Changes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// Lines returns the lines recorded since the last Reset.
func (r *Recorder) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// Text returns the lines as one text.
func (r *Recorder) Text() string { return strings.Join(r.Lines(), "\n") }

// Reset forgets the lines.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = nil
}

// Live returns the keys of the objects that were created through the recorder and not removed, sorted.
func (r *Recorder) Live() []sai.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []sai.Key
	for k := range r.live {
		keys = append(keys, k)
	}
	sortKeys(keys)
	return keys
}

// LiveOf returns the keys of Live that are of type t.
func (r *Recorder) LiveOf(t sai.ObjectType) []sai.Key {
	return slices.DeleteFunc(r.Live(), func(k sai.Key) bool { return k.Type != t })
}

// due counts one changing call and returns the failure that FailAt set for it.
func (r *Recorder) due(_ context.Context, op sai.Op, _ sai.ObjectType) error {
	if !op.Changes() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if s, ok := r.fail[r.calls]; ok {
		return s
	}
	return nil
}

func (r *Recorder) note(err error, op string, key string, attrs ...sai.Attr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := op + "|" + key
	for _, a := range attrs {
		text, ferr := sai.FormatValue(a.ID, a.Value)
		if ferr != nil {
			text = fmt.Sprint(a.Value)
		}
		line += "|" + a.ID.String() + "=" + text
	}
	r.lines = append(r.lines, line)
	if err != nil {
		s, ok := sai.StatusOf(err)
		if ok {
			r.lines = append(r.lines, "E|"+s.String())
		} else {
			r.lines = append(r.lines, "E|"+err.Error())
		}
	}
}

func (r *Recorder) alive(k sai.Key, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if yes {
		r.live[k] = true
	} else {
		delete(r.live, k)
	}
}

// Create implements [sai.API].
func (r *Recorder) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	return r.create(ctx, "c", t, attrs)
}

func (r *Recorder) create(ctx context.Context, op string, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	o, err := r.next.Create(ctx, t, attrs)
	if err == nil {
		r.alive(sai.Obj(t, o), true)
	}
	r.note(err, op, sai.FormatKey(sai.Obj(t, o)), attrs...)
	return o, err
}

// CreateEntry implements [sai.API].
func (r *Recorder) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	err := r.next.CreateEntry(ctx, e, attrs)
	if err == nil {
		r.alive(sai.EntryKey(e), true)
	}
	r.note(err, "c", sai.FormatKey(sai.EntryKey(e)), attrs...)
	return err
}

// Remove implements [sai.API].
func (r *Recorder) Remove(ctx context.Context, k sai.Key) error { return r.remove(ctx, "r", k) }

func (r *Recorder) remove(ctx context.Context, op string, k sai.Key) error {
	err := r.next.Remove(ctx, k)
	if err == nil {
		r.alive(k, false)
	}
	r.note(err, op, sai.FormatKey(k))
	return err
}

// Set implements [sai.API].
func (r *Recorder) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	return r.set(ctx, "s", k, a)
}

func (r *Recorder) set(ctx context.Context, op string, k sai.Key, a sai.Attr) error {
	err := r.next.Set(ctx, k, a)
	r.note(err, op, sai.FormatKey(k), a)
	return err
}

// Get implements [sai.API].
func (r *Recorder) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	got, err := r.next.Get(ctx, k, want)
	if err == nil {
		r.note(nil, "g", sai.FormatKey(k), got...)
	} else {
		r.note(err, "g", sai.FormatKey(k), want...)
	}
	return got, err
}

// BulkCreate implements [sai.API].
func (r *Recorder) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	oids, errs := r.next.BulkCreate(ctx, t, objs)
	for i := range objs {
		if errs[i] == nil {
			r.alive(sai.Obj(t, oids[i]), true)
		}
		r.note(errs[i], "C", sai.FormatKey(sai.Obj(t, oids[i])), objs[i]...)
	}
	return oids, errs
}

// BulkCreateEntries implements [sai.API].
func (r *Recorder) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	errs := r.next.BulkCreateEntries(ctx, entries, attrs)
	for i, e := range entries {
		if errs[i] == nil {
			r.alive(sai.EntryKey(e), true)
		}
		r.note(errs[i], "C", sai.FormatKey(sai.EntryKey(e)), attrs[i]...)
	}
	return errs
}

// BulkRemove implements [sai.API].
func (r *Recorder) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	errs := r.next.BulkRemove(ctx, keys)
	for i, k := range keys {
		if errs[i] == nil {
			r.alive(k, false)
		}
		r.note(errs[i], "R", sai.FormatKey(k))
	}
	return errs
}

// BulkSet implements [sai.API].
func (r *Recorder) BulkSet(ctx context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	errs := r.next.BulkSet(ctx, keys, attrs)
	for i, k := range keys {
		r.note(errs[i], "S", sai.FormatKey(k), attrs[i])
	}
	return errs
}

// FlushFDB implements [sai.API].
func (r *Recorder) FlushFDB(ctx context.Context, attrs []sai.Attr) error {
	err := r.next.FlushFDB(ctx, attrs)
	r.note(err, "f", sai.ObjectTypeFDBFlush.String(), attrs...)
	return err
}

// Stats implements [sai.API]; it is not recorded.
func (r *Recorder) Stats(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	return r.next.Stats(ctx, k, ids)
}

// ClearStats implements [sai.API].
func (r *Recorder) ClearStats(ctx context.Context, k sai.Key, ids []sai.StatID) error {
	err := r.next.ClearStats(ctx, k, ids)
	r.note(err, "m", sai.FormatKey(k))
	return err
}

// AttrCapability implements [sai.API]; it is not recorded.
func (r *Recorder) AttrCapability(ctx context.Context, id sai.AttrID) (sai.Capability, error) {
	return r.next.AttrCapability(ctx, id)
}

// EnumCapability implements [sai.API]; it is not recorded.
func (r *Recorder) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	return r.next.EnumCapability(ctx, id)
}

// StreamCapability implements [sai.API]; it is not recorded.
func (r *Recorder) StreamCapability(ctx context.Context, t sai.ObjectType) ([]sai.StreamedStat, error) {
	return r.next.StreamCapability(ctx, t)
}

// StatsCapability implements [sai.API]; it is not recorded.
func (r *Recorder) StatsCapability(ctx context.Context, t sai.ObjectType) ([]sai.StatID, error) {
	return r.next.StatsCapability(ctx, t)
}

// Availability implements [sai.API]; it is not recorded.
func (r *Recorder) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	return r.next.Availability(ctx, t, attrs)
}
