package sairedis

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
)

// A guard refuses the calls that a validator refuses. It also refuses calls that SAI's metadata library accepts, but
// that a stock syncd cannot parse or does not survive.
type guard struct {
	*sai.Validator
	children map[sai.OID][]sai.Key // by port: the known objects that come and go with it
	expected expected
}

func newGuard() *guard {
	return &guard{Validator: sai.NewValidator(), children: map[sai.OID][]sai.Key{}, expected: expected{}}
}

// CheckCreate refuses types that are not objects.
func (g *guard) CheckCreate(t sai.ObjectType, attrs []sai.Attr) error {
	if t == sai.ObjectTypeFDBFlush {
		return refuse(protocol.OpCreate, t, sai.StatusNotSupported, "it is a request, there are no such objects")
	}
	return g.Validator.CheckCreate(t, attrs)
}

// CheckRemove refuses the switch, and a port with a child that is in use.
func (g *guard) CheckRemove(k sai.Key) error {
	if k.Entry == nil && k.Type == sai.ObjectTypeSwitch {
		return refuse(protocol.OpRemove, k.Type, sai.StatusNotImplemented, "syncd cannot remove the switch")
	}
	if err := g.Validator.CheckRemove(k); err != nil {
		return err
	}
	for _, child := range g.children[k.OID] {
		if n := g.References(child.OID); n > 0 {
			return refuse(protocol.OpRemove, k.Type, sai.StatusObjectInUse,
				"%s, which goes with it, is used by %d other objects", child, n)
		}
	}
	return nil
}

func refuse(op string, t sai.ObjectType, s sai.Status, format string, args ...any) error {
	return &sai.CallError{Op: op, Type: t, Status: s, Reason: fmt.Sprintf(format, args...)}
}

// checkNamed refuses attributes that name objects which do not exist.
func (c *Client) checkNamed(ctx context.Context, op string, t sai.ObjectType, attrs []sai.Attr) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	var err error
	for _, a := range attrs {
		sai.References(a.Value, func(o sai.OID) {
			if o != sai.NullOID && c.check.lacks(o) {
				err = refuse(op, t, sai.StatusInvalidParameter, "%s: object %s does not exist", a.ID, o)
			}
		})
	}
	return err
}

// checkEntry refuses entries whose addresses syncd cannot parse.
func checkEntry(op string, e sai.Entry) error {
	var addr netip.Addr
	switch e := e.(type) {
	case sai.NeighborEntry:
		addr = e.IP
	case sai.RouteEntry:
		if !e.Dest.IsValid() {
			return refuse(op, e.EntryType(), sai.StatusInvalidParameter, "%s is no prefix", e.Dest)
		}
		addr = e.Dest.Addr()
	default:
		return nil
	}
	if !addr.IsValid() || addr.Zone() != "" {
		return refuse(op, e.EntryType(), sai.StatusInvalidParameter, "%s is no address without a zone", addr)
	}
	return nil
}

// sameType refuses a key whose type differs from the first one's: a bulk request has one type.
func sameType(op string, k, first sai.Key) error {
	if t, want := protocol.KeyType(k), protocol.KeyType(first); t != want {
		return refuse(op, t, sai.StatusInvalidParameter, "the others in the request are of type %s", want)
	}
	return nil
}

// fieldRoom is the list capacity in a get of an ACL match or action, if the caller's placeholder is a disabled one.
const fieldRoom = 128

// placeholders returns values for a get that syncd can fill: they name no objects, and every list has capacity.
func placeholders(want []sai.Attr) []sai.Attr {
	out := make([]sai.Attr, len(want))
	for i, a := range want {
		out[i] = sai.Attr{ID: a.ID, Value: sai.MapOIDs(a.Value, func(sai.OID) sai.OID { return sai.NullOID })}
		m := sai.Meta(a.ID)
		if !m.Kind.List() {
			continue
		}
		switch v := a.Value.(type) {
		case sai.Field:
			if n, _ := sai.ListLen(v.Data); v.Enabled && n > 0 {
				continue
			}
			data, mask := emptyList(m.Kind)
			out[i].Value = sai.Match(data, mask)
		case sai.Action:
			if n, _ := sai.ListLen(v.Param); v.Enabled && n > 0 {
				continue
			}
			data, _ := emptyList(m.Kind)
			out[i].Value = sai.Do(data)
		}
	}
	return out
}

// emptyList returns a list of zeros, with its mask if it is a match.
func emptyList(k sai.Kind) (data, mask sai.Value) {
	if k == sai.KindU8List {
		return make(sai.Bytes, fieldRoom), make(sai.Bytes, fieldRoom)
	}
	return make(sai.OIDs, fieldRoom), nil
}

// checkGroup refuses names of flex counter groups that cannot be part of a key.
func checkGroup(group string) error {
	if group == "" || strings.ContainsAny(group, ":,|{}\" ") {
		return refuse(protocol.OpSetGroup, 0, sai.StatusInvalidParameter, "%.80q is no name of a counter group", group)
	}
	return nil
}

func (g CounterGroup) check() error {
	switch {
	case g.Interval != 0 && (g.Interval < time.Millisecond || g.Interval > 24*time.Hour):
		return refuse(protocol.OpSetGroup, 0, sai.StatusInvalidParameter, "interval %s: want 1ms to 24h", g.Interval)
	case g.Mode != "" && g.Mode != flex.StatsModeRead && g.Mode != flex.StatsModeReadAndClear:
		return refuse(protocol.OpSetGroup, 0, sai.StatusInvalidParameter,
			"mode %.40q: want %s or %s", g.Mode, flex.StatsModeRead, flex.StatsModeReadAndClear)
	}
	return nil
}

// checkPoll refuses counters that the objects do not have.
func checkPoll(field string, ids []string, t sai.ObjectType) error {
	if len(ids) == 0 {
		return refuse(protocol.OpStartPoll, t, sai.StatusInvalidParameter, "no counter asked for")
	}
	var has func(name string) bool
	switch {
	case (field == flex.FieldPortCounters || field == flex.FieldPortDebugCounters) && t == sai.ObjectTypePort,
		(field == flex.FieldSwitchCounters || field == flex.FieldSwitchDebugCounters) && t == sai.ObjectTypeSwitch,
		field == flex.FieldQueueCounters && t == sai.ObjectTypeQueue,
		field == flex.FieldPGCounters && t == sai.ObjectTypeIngressPriorityGroup,
		field == flex.FieldPoolCounters && t == sai.ObjectTypeBufferPool,
		field == flex.FieldRIFCounters && t == sai.ObjectTypeRouterInterface,
		field == flex.FieldPolicerCounters && t == sai.ObjectTypePolicer:
		has = func(name string) bool {
			id, ok := sai.LookupStat(name)
			return ok && id.ObjectType() == t
		}
	case field == flex.FieldACLCounters && t == sai.ObjectTypeACLCounter:
		has = func(name string) bool {
			id, ok := sai.LookupAttr(name)
			return ok && id.ObjectType() == t
		}
	default:
		return refuse(
			protocol.OpStartPoll,
			t,
			sai.StatusInvalidParameter,
			"field %.80q is not for objects of this type",
			field,
		)
	}
	for _, name := range ids {
		if !has(name) {
			return refuse(protocol.OpStartPoll, t, sai.StatusInvalidParameter, "%.80q is no counter of theirs", name)
		}
	}
	return nil
}

// named records an object that is named in an answer about k.
func (g *guard) named(k sai.Key, vid sai.OID) {
	t, ok := protocol.VIDType(vid)
	if !ok {
		return
	}
	o := sai.Obj(t, vid)
	if k.Entry == nil && k.Type == sai.ObjectTypePort && objectids.WithPort(t) && !slices.Contains(g.children[k.OID], o) {
		g.children[k.OID] = append(g.children[k.OID], o)
	}
	g.Found(o)
}

// Removed records that an object is gone. With a port, the objects that came with it are gone too.
func (g *guard) Removed(k sai.Key) {
	g.Validator.Removed(k)
	delete(g.expected, plain(k))
	if k.Entry == nil && k.Type == sai.ObjectTypePort {
		for _, child := range g.children[k.OID] {
			g.Validator.Removed(child)
			delete(g.expected, child)
		}
		delete(g.children, k.OID)
	}
}

// lacks reports whether there is no such object.
func (g *guard) lacks(o sai.OID) bool {
	_, ok := g.TypeOf(o)
	return !ok
}

// checkPolled refuses unknown objects and counters, which would stop a stock syncd.
func (g *guard) checkPolled(group, field string, ids []string, objs []sai.OID) error {
	if err := checkGroup(group); err != nil {
		return err
	}
	for _, o := range objs {
		t, ok := g.TypeOf(o)
		if !ok {
			return refuse(protocol.OpStartPoll, 0, sai.StatusInvalidParameter, "object %s does not exist", o)
		}
		if err := checkPoll(field, ids, t); err != nil {
			return err
		}
	}
	return nil
}
