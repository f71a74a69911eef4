package sairedis

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// A Notifier publishes the ASIC's notifications. Those that cannot be published yet, because Redis is away or slow, or
// because the current request has not given their object an id, stay pending. A newer notification about the same
// address replaces a pending one, and so does one about the same state of a port. Thus the number of pending ones is
// bounded by the sizes of the ASIC's tables, and no address is missing or left in ASIC_STATE however fast they change.
type Notifier struct {
	db      *swss.DB
	log     *slog.Logger
	objects *objectids.Translator
	ready   chan struct{} // holds a value if a notification was added since Run last looked
	sending chan struct{} // holds a value while no goroutine publishes

	mu      sync.Mutex // guards the following fields
	pending map[any]pendingNote
	added   uint64                    // number of notifications so far
	learned map[sai.FDBEntry]struct{} // learned addresses whose rows exist, with real ids
	failed  bool                      // true if Redis did not answer the last time; guarded by sending
}

// A pendingNote is a notification that is not published yet.
type pendingNote struct {
	sai.Notification
	times int // how often it is published; more than 1 only by fault injection
	order uint64
	// certain means that a later removal of the address must be published: this notification may already be published,
	// or it replaces a pending removal.
	certain bool
}

func newNotifier(db *swss.DB, log *slog.Logger, objects *objectids.Translator) *Notifier {
	nt := &Notifier{
		db: db, log: log, objects: objects, ready: make(chan struct{}, 1), sending: make(chan struct{}, 1),
		pending: map[any]pendingNote{}, learned: map[sai.FDBEntry]struct{}{},
	}
	nt.sending <- struct{}{}
	return nt
}

// noteKey returns what a notification is about: a later one with the same key makes it obsolete. Both states of a port
// are kept, since a port that was down for a moment has lost its addresses. An event about several addresses has no
// address of its own.
func noteKey(n sai.Notification) any {
	if e, ok := n.(sai.FDBEvent); ok {
		if e.Entry.MAC != (sai.MAC{}) {
			return e.Entry
		}
		return fmt.Sprint(e)
	}
	return n
}

// isLearned reports whether an event is that the ASIC has learned the address.
func isLearned(e sai.FDBEvent) bool {
	return e.Event == sai.FDBEventLearned || e.Event == sai.FDBEventMove
}

// Add records a notification of the backend, which [Notifier.Run] publishes. times is how often it does so: once,
// unless a fault is injected. Add returns immediately, and may be called from within a call to the backend.
func (nt *Notifier) Add(n sai.Notification, times int) {
	if times == 0 {
		return
	}
	nt.mu.Lock()
	defer nt.mu.Unlock()
	key := noteKey(n)
	was, pending := nt.pending[key]
	nt.added++
	p := pendingNote{n, times, nt.added, was.certain}
	if e, ok := n.(sai.FDBEvent); ok && pending {
		old, _ := was.Notification.(sai.FDBEvent)
		if _, known := nt.learned[e.Entry]; !isLearned(e) && isLearned(old) && !known && !was.certain {
			delete(nt.pending, key) // the address came and went before it was published
			return
		}
		p.certain = was.certain || !isLearned(old)
	}
	nt.pending[key] = p
	select {
	case nt.ready <- struct{}{}:
	default:
	}
}

// Notify publishes a notification of the backend, and all that are pending, on NOTIFICATIONS, with virtual instead of
// real object ids. It writes the rows of learned FDB entries. It may be called from within a call to the backend. A
// notification about an object without a virtual id is kept until after the current request.
func (nt *Notifier) Notify(ctx context.Context, n sai.Notification) {
	nt.Add(n, 1)
	if err := nt.publish(ctx, math.MaxUint64, false); err != nil {
		nt.log.Warn("syncd: notifications wait", "error", err)
	}
}

// publishAgain is the delay after which notifications that could not be published are published again.
const publishAgain = 100 * time.Millisecond

// Run publishes the notifications of [Notifier.Add] until ctx ends.
func (nt *Notifier) Run(ctx context.Context) {
	waits := false
	for {
		var again <-chan time.Time
		if waits {
			again = time.After(publishAgain)
		}
		select {
		case <-ctx.Done():
			return
		case <-nt.ready:
		case <-again:
		}
		err := nt.publish(ctx, math.MaxUint64, false)
		if err != nil && !waits && ctx.Err() == nil {
			nt.log.Warn("syncd: notifications wait", "error", err)
		}
		waits = err != nil
	}
}

// notifyLate publishes the notifications that arrived during the last request. Those about objects that are still
// unknown are discarded, if they are older than the end of the request.
func (nt *Notifier) notifyLate(ctx context.Context) {
	nt.mu.Lock()
	last, none := nt.added, len(nt.pending) == 0
	nt.mu.Unlock()
	if none {
		return
	}
	if err := nt.publish(ctx, last, true); err != nil {
		nt.log.Warn("syncd: notifications wait", "error", err)
	}
}

// publishedAtOnce is the maximum number of notifications that are published in one round trip.
const publishedAtOnce = 128

// publish publishes the pending notifications up to a number, in their order. On error they stay pending. discard
// means that those about unknown objects are discarded.
func (nt *Notifier) publish(ctx context.Context, last uint64, discard bool) error {
	select {
	case <-nt.sending:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { nt.sending <- struct{}{} }()
	if nt.failed { // a failed attempt to publish leaves more to be published
		if err := nt.db.Client().Ping(ctx).Err(); err != nil {
			return err
		}
		nt.failed = false
	}
	nt.mu.Lock()
	var list []pendingNote
	for _, p := range nt.pending {
		if p.order <= last {
			list = append(list, p)
		}
	}
	nt.mu.Unlock()
	slices.SortFunc(list, func(a, b pendingNote) int { return cmp.Compare(a.order, b.order) })
	for chunk := range slices.Chunk(list, publishedAtOnce) {
		err := nt.publishChunk(ctx, chunk, discard)
		if nt.failed = err != nil; nt.failed {
			return err
		}
	}
	return nil
}

// publishChunk publishes notifications in one round trip, except those that are obsolete by now.
func (nt *Notifier) publishChunk(ctx context.Context, list []pendingNote, discard bool) error {
	var done []pendingNote
	nt.mu.Lock()
	list = slices.DeleteFunc(list, func(n pendingNote) bool {
		key := noteKey(n.Notification)
		now, is := nt.pending[key]
		if is = is && now.order == n.order; is {
			now.certain = true
			nt.pending[key] = now
		}
		return !is
	})
	nt.mu.Unlock()
	_, err := nt.db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, n := range list {
			virtual, err := nt.virtual(n.Notification)
			if err != nil && !discard {
				continue // the current request may give the object its id
			}
			if err == nil {
				err = nt.send(ctx, p, virtual, n.times)
			}
			if done = append(done, n); err != nil {
				nt.log.Warn("syncd: a notification is not published", "error", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	nt.mu.Lock()
	defer nt.mu.Unlock()
	for _, n := range done {
		if e, ok := n.Notification.(sai.FDBEvent); ok {
			if delete(nt.learned, e.Entry); isLearned(e) {
				nt.learned[e.Entry] = struct{}{}
			}
		}
		key := noteKey(n.Notification)
		if now := nt.pending[key]; now.order == n.order {
			delete(nt.pending, key)
		}
	}
	return nil
}

// send adds the commands that publish a notification.
func (nt *Notifier) send(ctx context.Context, p redis.Pipeliner, virtual sai.Notification, times int) error {
	op, data, err := formatNotification(virtual)
	if err != nil {
		return err
	}
	if e, ok := virtual.(sai.FDBEvent); ok {
		if err := learn(ctx, p, e); err != nil {
			return err
		}
	}
	for range times {
		p.Publish(ctx, protocol.Notifications, swss.EncodeFields([]swss.Pair{{Field: op, Value: data}}))
	}
	return nil
}

// sayAgain is the interval at which the states of the ports are published again, since a message may be lost.
const sayAgain = 10 * time.Second

// sayPorts publishes the current state of each port.
func (s *Server) sayPorts(ctx context.Context) {
	var ports []sai.OID
	s.mu.Lock()
	for vid, rid := range s.Notifier.objects.Current().RIDs {
		if t, ok := protocol.VIDType(vid); ok && t == sai.ObjectTypePort {
			ports = append(ports, rid)
		}
	}
	s.mu.Unlock()
	slices.Sort(ports)
	for _, port := range ports {
		s.sayPort(ctx, port)
	}
}

// sayPort publishes the state of a port. If the state has changed meanwhile, it publishes again, because the chip's own
// notification may have come before the outdated one.
func (s *Server) sayPort(ctx context.Context, port sai.OID) {
	want := []sai.Attr{sai.Want(sai.PortAttrOperStatus, 0), sai.Want(sai.PortAttrType, 0)}
	for last := sai.Value(nil); ; {
		got, err := s.processor.backend.Get(ctx, sai.Obj(sai.ObjectTypePort, port), want)
		if err != nil || got[0].Value == last || got[1].Value == sai.PortTypeCPU {
			return
		}
		if oper, ok := got[0].Value.(sai.Enum); ok {
			s.Notifier.Notify(ctx, sai.PortState{Port: port, Oper: oper})
		}
		last = got[0].Value
	}
}

// virtual returns a notification with virtual ids.
func (nt *Notifier) virtual(n sai.Notification) (sai.Notification, error) {
	ids := nt.objects.Current()
	var unknown sai.OID
	virtual := func(rid sai.OID) sai.OID {
		vid, ok := ids.VID(rid)
		if !ok {
			unknown = rid
		}
		return vid
	}
	switch e := n.(type) {
	case sai.FDBEvent:
		e.Entry = sai.MapEntry(e.Entry, virtual).(sai.FDBEntry)
		entry, attrs := unknown, make([]sai.Attr, 0, len(e.Attrs))
		for _, a := range e.Attrs {
			mapped := sai.Attr{ID: a.ID, Value: sai.MapOIDs(a.Value, virtual)}
			if unknown != entry && !isLearned(e) { // the address is gone, and its bridge port may be gone too
				unknown = entry
				continue
			}
			attrs = append(attrs, mapped)
		}
		e.Attrs = attrs
		n = e
	default:
		n = sai.MapNotification(n, virtual)
	}
	if unknown != 0 {
		return nil, fmt.Errorf("%T names the object %s, which is not known", n, unknown)
	}
	return n, nil
}

// learn stores or deletes the row of a learned FDB entry.
func learn(ctx context.Context, p redis.Pipeliner, e sai.FDBEvent) error {
	k := sai.EntryKey(e.Entry)
	switch e.Event {
	case sai.FDBEventLearned, sai.FDBEventMove:
		attrs := e.Attrs
		if _, ok := sai.Find(attrs, sai.FDBEntryAttrType); !ok {
			attrs = append([]sai.Attr{{ID: sai.FDBEntryAttrType, Value: sai.FDBEntryTypeDynamic}}, attrs...)
		}
		pairs, err := protocol.FormatAttrs(attrs)
		if err != nil {
			return err
		}
		protocol.PutRow(ctx, protocol.ASICState, k, pairs)(p)
	default:
		p.Del(ctx, protocol.ASICState+":"+sai.FormatKey(k))
	}
	return nil
}
