package sairedis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// maxLate bounds the notifications kept for later.
const maxLate = 1024

// Notify passes on what the backend tells, with real object ids: it is
// published on NOTIFICATIONS with virtual ones, and learned FDB entries get
// their rows. It may be called from within a call to the backend. What names
// an object that the server does not know yet is kept until after the request
// being processed.
func (s *Server) Notify(ctx context.Context, n sai.Notification) {
	virtual, err := s.virtualNotification(n)
	if err != nil {
		s.nmu.Lock()
		if len(s.late) < maxLate {
			s.late = append(s.late, n)
		}
		s.nmu.Unlock()
		return
	}
	s.publish(ctx, virtual)
}

// notifyLate publishes what came during the request just processed.
func (s *Server) notifyLate(ctx context.Context) {
	s.nmu.Lock()
	late := s.late
	s.late = nil
	s.nmu.Unlock()
	for _, n := range late {
		virtual, err := s.virtualNotification(n)
		if err != nil {
			s.log.Warn("syncd: notification: " + err.Error())
			continue
		}
		s.publish(ctx, virtual)
	}
}

func (s *Server) virtualNotification(n sai.Notification) (sai.Notification, error) {
	ids := s.currentIDs()
	var unknown sai.OID
	virtual := func(rid sai.OID) sai.OID {
		vid, ok := ids.vid(rid)
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

// publish sends a notification; it is lost if Redis is away, as SONiC's are.
func (s *Server) publish(ctx context.Context, n sai.Notification) {
	op, data, err := formatNotification(n)
	if err == nil {
		_, err = s.asic.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
			if e, ok := n.(sai.FDBEvent); ok {
				err = s.learn(ctx, p, e)
			}
			p.Publish(ctx, notifications, swss.EncodeFields([]swss.Pair{{Field: op, Value: data}}))
			return err
		})
	}
	if err != nil {
		s.log.Warn("syncd: notification: " + err.Error())
	}
}

// learn keeps the row of a learned FDB entry.
func (s *Server) learn(ctx context.Context, p redis.Pipeliner, e sai.FDBEvent) error {
	k := sai.EntryKey(e.Entry)
	switch e.Event {
	case sai.FDBEventLearned, sai.FDBEventMove:
		attrs := e.Attrs
		if _, ok := sai.Find(attrs, sai.FDBEntryAttrType); !ok {
			attrs = append([]sai.Attr{{ID: sai.FDBEntryAttrType, Value: sai.FDBEntryTypeDynamic}}, attrs...)
		}
		pairs, err := formatAttrs(attrs)
		if err != nil {
			return err
		}
		putRow(ctx, asicState, k, pairs)(p)
	default:
		p.Del(ctx, asicState+":"+sai.FormatKey(k))
	}
	return nil
}
