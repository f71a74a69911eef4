package sairedis

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// maxLate is the maximum number of notifications that are delayed.
const maxLate = 1024

// A Notifier publishes the ASIC's notifications.
type Notifier struct {
	db      *swss.DB
	log     *slog.Logger
	objects *objectids.Translator

	mu   sync.Mutex         // guards late
	late []sai.Notification // notifications about objects that are not known yet
}

// Notify publishes a notification of the backend on NOTIFICATIONS, with virtual instead of real object ids. It writes
// the rows of learned FDB entries. It may be called from within a call to the backend. A notification about an object
// without a virtual id is kept until after the current request.
func (nt *Notifier) Notify(ctx context.Context, n sai.Notification) {
	virtual, err := nt.virtual(n)
	if err != nil {
		nt.mu.Lock()
		if len(nt.late) < maxLate {
			nt.late = append(nt.late, n)
		}
		nt.mu.Unlock()
		return
	}
	nt.publish(ctx, virtual)
}

// notifyLate publishes the notifications that arrived during the last request.
func (nt *Notifier) notifyLate(ctx context.Context) {
	nt.mu.Lock()
	late := nt.late
	nt.late = nil
	nt.mu.Unlock()
	for _, n := range late {
		virtual, err := nt.virtual(n)
		if err != nil {
			nt.log.Warn("syncd: notification", "error", err)
			continue
		}
		nt.publish(ctx, virtual)
	}
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
	case sai.PortState:
		e.Port = virtual(e.Port)
		n = e
	case sai.FDBEvent:
		e.Entry = sai.MapEntry(e.Entry, virtual).(sai.FDBEntry)
		attrs := make([]sai.Attr, len(e.Attrs))
		for i, a := range e.Attrs {
			attrs[i] = sai.Attr{ID: a.ID, Value: sai.MapOIDs(a.Value, virtual)}
		}
		e.Attrs = attrs
		n = e
	case sai.ShutdownRequest:
		e.Switch = virtual(e.Switch)
		n = e
	}
	if unknown != 0 {
		return nil, fmt.Errorf("%T names the object %s, which is not known", n, unknown)
	}
	return n, nil
}

// publish sends a notification. It is lost if Redis is away, as with SONiC.
func (nt *Notifier) publish(ctx context.Context, n sai.Notification) {
	op, data, err := formatNotification(n)
	if err == nil {
		_, err = nt.db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
			if e, ok := n.(sai.FDBEvent); ok {
				err = learn(ctx, p, e)
			}
			p.Publish(ctx, protocol.Notifications, swss.EncodeFields([]swss.Pair{{Field: op, Value: data}}))
			return err
		})
	}
	if err != nil {
		nt.log.Warn("syncd: notification", "error", err)
	}
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
