package sairedis

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
)

// A user makes random calls of the client, most of them valid.
type user struct {
	*rand.Rand
	c     *Client
	live  map[sai.ObjectType][]sai.Key
	types []*sai.TypeMeta
}

func allTypes() []*sai.TypeMeta {
	var l []*sai.TypeMeta
	for t := range sai.ObjectType(256) {
		if m := sai.ObjectMeta(t); m != nil {
			l = append(l, m)
		}
	}
	return l
}

func (u *user) anyType() *sai.TypeMeta { return u.types[u.IntN(len(u.types))] }

// key returns an object that exists, or rarely one that does not.
func (u *user) key() sai.Key {
	tm := u.anyType()
	for range 50 {
		if l := u.live[tm.Type]; len(l) > 0 {
			return l[u.IntN(len(l))]
		}
		tm = u.anyType()
	}
	return sai.Obj(tm.Type, sai.OID(uint64(tm.Type)<<48|uint64(u.IntN(2000))))
}

func (u *user) oid(types []sai.ObjectType) sai.OID {
	switch n := u.IntN(20); {
	case n == 0:
		return sai.OID(u.Uint64())
	case n == 1 || len(types) == 0:
		return sai.NullOID
	}
	for range 4 {
		if l := u.live[types[u.IntN(len(types))]]; len(l) > 0 {
			return l[u.IntN(len(l))].OID
		}
	}
	return sai.NullOID
}

// number returns a number of the given width, often the smallest or largest, rarely one out of range.
func (u *user) number(bits int) uint64 {
	most := uint64(1)<<(bits-1)<<1 - 1
	switch u.IntN(8) {
	case 0:
		return 0
	case 1:
		return most
	case 2:
		if u.IntN(10) == 0 {
			return most + 1
		}
	}
	return u.Uint64() & most
}

func (u *user) addr(six bool) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(u.IntN(256) & u.IntN(256))
	}
	switch n := u.IntN(30); {
	case n == 0:
		return netip.Addr{}
	case n == 1 && six:
		return netip.MustParseAddr("fe80::1%eth0")
	case n == 2 && six:
		return netip.MustParseAddr("::ffff:10.0.0.1")
	case six:
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}

func (u *user) mac() (m sai.MAC) {
	for i := range m {
		m[i] = byte(u.IntN(256))
	}
	return m
}

func (u *user) enum(e *sai.EnumMeta) sai.Enum {
	if e == nil || len(e.Values) == 0 || u.IntN(30) == 0 {
		return sai.Enum(int32(u.Uint32()))
	}
	return e.Values[u.IntN(len(e.Values))]
}

func (u *user) bytes() sai.Bytes {
	b := make(sai.Bytes, u.IntN(40))
	for i := range b {
		b[i] = byte(u.IntN(256))
	}
	return b
}

// value returns a value for the attribute.
func (u *user) value(m *sai.AttrMeta) sai.Value {
	switch {
	case u.IntN(60) == 0:
		return []sai.Value{nil, sai.Bool(true), sai.Text("x"), sai.Uint(1 << 40), sai.Field{}, sai.Do(nil), sai.IP{},
			sai.OIDs{}}[u.IntN(8)]
	case m.Form != sai.FormPlain && u.IntN(5) == 0:
		if m.Form == sai.FormAction {
			return sai.Action{}
		}
		return sai.Field{}
	case m.Form == sai.FormAction:
		return sai.Do(u.plain(m))
	case m.Form == sai.FormField:
		data := u.plain(m)
		mask := u.plain(m)
		if d, ok := data.(sai.Bytes); ok {
			mask = slices.Repeat(sai.Bytes{0xff}, len(d))
		}
		switch m.Kind {
		case sai.KindBool, sai.KindOID, sai.KindOIDList:
			mask = nil
		}
		if u.IntN(40) == 0 {
			mask = nil
		}
		return sai.Match(data, mask)
	}
	return u.plain(m)
}

func (u *user) plain(m *sai.AttrMeta) sai.Value {
	n := u.IntN(4)
	switch m.Kind {
	case sai.KindBool:
		return sai.Bool(u.IntN(2) == 0)
	case sai.KindU8:
		return sai.Uint(u.number(8))
	case sai.KindU16:
		return sai.Uint(u.number(16))
	case sai.KindU32:
		return sai.Uint(u.number(32))
	case sai.KindU64:
		return sai.Uint(u.number(64))
	case sai.KindS8:
		return sai.Int(int8(u.Uint32()))
	case sai.KindS32:
		return sai.Int(int32(u.Uint32()))
	case sai.KindEnum:
		return u.enum(m.Enum)
	case sai.KindOID:
		return u.oid(m.Objects)
	case sai.KindMAC:
		return u.mac()
	case sai.KindIPv4:
		return sai.IP{Addr: u.addr(u.IntN(20) == 0)}
	case sai.KindIPv6:
		return sai.IP{Addr: u.addr(u.IntN(20) != 0)}
	case sai.KindIP:
		return sai.IP{Addr: u.addr(n < 2)}
	case sai.KindPointer:
		return sai.Pointer(u.Uint64())
	case sai.KindChardata:
		return sai.Text(string(u.bytes()[:]))
	case sai.KindJSON, sai.KindU8List, sai.KindS8List:
		return u.bytes()
	case sai.KindU16List, sai.KindU32List:
		l := make(sai.Uints, n)
		for i := range l {
			l[i] = u.number(16)
		}
		return l
	case sai.KindS32List, sai.KindEnumList:
		l := make(sai.Enums, n)
		for i := range l {
			l[i] = u.enum(m.Enum)
		}
		return l
	case sai.KindOIDList:
		l := make(sai.OIDs, n)
		for i := range l {
			l[i] = u.oid(m.Objects)
		}
		return l
	case sai.KindU16Range:
		return sai.Range{Min: u.number(8), Max: u.number(16)}
	case sai.KindU32Range, sai.KindTimespec:
		return sai.Range{Min: u.number(8), Max: u.number(32)}
	case sai.KindU64RangeList:
		return make(sai.Ranges, n)
	case sai.KindQoSMapList:
		l := make(sai.QoSMap, n)
		for i := range l {
			l[i] = sai.QoSMapEntry{Key: sai.QoSMapParams{DSCP: uint8(u.number(6))},
				Value: sai.QoSMapParams{TC: uint8(u.number(3))}}
		}
		return l
	case sai.KindACLResources:
		return make(sai.ACLResources, n)
	}
	return sai.ACLCapability{Actions: make([]sai.Enum, n)}
}

// attrs returns attributes for the creation of an object.
func (u *user) attrs(tm *sai.TypeMeta) []sai.Attr {
	var list []sai.Attr
	few := u.IntN(3) > 0
	for _, m := range tm.Attrs {
		wanted := m.Has(sai.MandatoryOnCreate) && m.Condition == nil && u.IntN(50) > 0
		if m.Condition != nil && m.Condition.Holds(list) {
			wanted = wanted || m.Has(sai.MandatoryOnCreate)
		}
		extra := !m.Has(sai.ReadOnly) && m.Condition == nil && (u.IntN(10) == 0 && !few || u.IntN(40) == 0)
		if wanted || extra || u.IntN(2000) == 0 {
			list = append(list, sai.Attr{ID: m.ID, Value: u.value(m)})
		}
	}
	return list
}

func (u *user) entry() sai.Entry {
	first := func(t sai.ObjectType) sai.OID { return u.oid([]sai.ObjectType{t}) }
	six := u.IntN(2) == 0
	switch u.IntN(3) {
	case 0:
		return sai.FDBEntry{Switch: protocol.SwitchVID, MAC: u.mac(), BV: first(sai.ObjectTypeVLAN)}
	case 1:
		return sai.NeighborEntry{Switch: protocol.SwitchVID, RIF: first(sai.ObjectTypeRouterInterface), IP: u.addr(six)}
	}
	return sai.RouteEntry{Switch: protocol.SwitchVID, VR: first(sai.ObjectTypeVirtualRouter),
		Dest: netip.PrefixFrom(u.addr(six), u.IntN(34))}
}

// placeholder returns a placeholder of a get.
func (u *user) placeholder(m *sai.AttrMeta) sai.Attr {
	if u.IntN(4) == 0 {
		return sai.Attr{ID: m.ID, Value: u.value(m)}
	}
	return sai.Want(m.ID, u.IntN(6))
}

func (u *user) noted(k sai.Key, err error) {
	if err == nil {
		u.live[k.Type] = append(u.live[k.Type], k)
	}
}

// act makes one call.
func (u *user) act(ctx context.Context) {
	switch n := u.IntN(100); {
	case n < 40:
		tm := u.anyType()
		o, err := u.c.Create(ctx, tm.Type, u.attrs(tm))
		u.noted(sai.Obj(tm.Type, o), err)
	case n < 44:
		e := u.entry()
		u.noted(sai.EntryKey(e), u.c.CreateEntry(ctx, e, u.attrs(sai.ObjectMeta(e.EntryType()))))
	case n < 50:
		u.c.Remove(ctx, u.key())
	case n < 62:
		k := u.key()
		u.c.Set(ctx, k, u.oneAttr(sai.ObjectMeta(protocol.KeyType(k))))
	case n < 76:
		u.get(ctx)
	case n < 84:
		u.bulk(ctx)
	case n < 88:
		k := u.key()
		ids := sai.ObjectMeta(protocol.KeyType(k)).Stats
		ids = ids[:min(len(ids), u.IntN(5))]
		if u.IntN(2) == 0 {
			u.c.Stats(ctx, k, ids)
		} else {
			u.c.ClearStats(ctx, k, ids)
		}
	case n < 95:
		u.counters(ctx)
	case n < 98:
		u.ask(ctx)
	case n < 99:
		u.breakOut(ctx)
	default:
		if u.c.inView {
			u.c.ApplyView(ctx)
			break
		}
		u.live = map[sai.ObjectType][]sai.Key{}
		u.c.InitView(ctx)
		u.createSwitch(ctx)
	}
}

// createSwitch retries until there is a switch.
func (u *user) createSwitch(ctx context.Context) {
	for len(u.live[sai.ObjectTypeSwitch]) == 0 && ctx.Err() == nil {
		o, err := u.c.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
		u.noted(sai.Obj(sai.ObjectTypeSwitch, o), err)
	}
}

func (u *user) oneAttr(tm *sai.TypeMeta) sai.Attr {
	if len(tm.Attrs) == 0 {
		return sai.Attr{}
	}
	m := tm.Attrs[u.IntN(len(tm.Attrs))]
	for range 20 {
		if m.Has(sai.CreateAndSet) {
			break
		}
		m = tm.Attrs[u.IntN(len(tm.Attrs))]
	}
	return sai.Attr{ID: m.ID, Value: u.value(m)}
}

func (u *user) get(ctx context.Context) {
	k := u.key()
	tm := sai.ObjectMeta(protocol.KeyType(k))
	var want []sai.Attr
	for range u.IntN(4) {
		if len(tm.Attrs) > 0 {
			want = append(want, u.placeholder(tm.Attrs[u.IntN(len(tm.Attrs))]))
		}
	}
	got, err := u.c.Get(ctx, k, want)
	if err != nil {
		return
	}
	for _, a := range got {
		sai.References(a.Value, func(o sai.OID) {
			if t, ok := protocol.VIDType(o); ok {
				u.noted(sai.Obj(t, o), nil)
			}
		})
	}
}

// breakOut removes a port whose queues are known, and then uses a queue.
func (u *user) breakOut(ctx context.Context) {
	ports := u.live[sai.ObjectTypePort]
	if len(ports) == 0 {
		return
	}
	port := ports[u.IntN(len(ports))]
	got, err := u.c.Get(ctx, port, []sai.Attr{sai.Want(sai.PortAttrQoSQueueList, 8)})
	if err != nil {
		return
	}
	u.c.Remove(ctx, port)
	for _, o := range got[0].Value.(sai.OIDs) {
		u.c.Stats(ctx, sai.Obj(sai.ObjectTypeQueue, o), sai.ObjectMeta(sai.ObjectTypeQueue).Stats[:1])
		u.noted(sai.Obj(sai.ObjectTypeQueue, o), nil)
	}
}

func (u *user) bulk(ctx context.Context) {
	switch tm, n := u.anyType(), 1+u.IntN(4); u.IntN(3) {
	case 0:
		objs := make([][]sai.Attr, n)
		for i := range objs {
			objs[i] = u.attrs(tm)
		}
		oids, errs := u.c.BulkCreate(ctx, tm.Type, objs)
		for i := range oids {
			u.noted(sai.Obj(tm.Type, oids[i]), errs[i])
		}
	case 1:
		keys := make([]sai.Key, n)
		for i := range keys {
			keys[i] = u.key()
		}
		u.c.BulkRemove(ctx, keys)
	case 2:
		keys, list := make([]sai.Key, n), make([]sai.Attr, n)
		first := u.key()
		for i := range keys {
			keys[i] = first
			if l := u.live[protocol.KeyType(first)]; len(l) > 0 && u.IntN(10) > 0 {
				keys[i] = l[u.IntN(len(l))]
			}
			list[i] = u.oneAttr(sai.ObjectMeta(protocol.KeyType(keys[i])))
		}
		u.c.BulkSet(ctx, keys, list)
	}
}

func (u *user) counters(ctx context.Context) {
	group := []string{"PORT_STAT_COUNTER", "ACL_STAT_COUNTER", "", "A:B", "A,B"}[min(4, u.IntN(12)/2)]
	on := u.IntN(2) == 0
	switch u.IntN(4) {
	case 0:
		u.c.SetCounterGroup(ctx, group, CounterGroup{Interval: time.Duration(u.IntN(5)-1) * time.Second, Enabled: &on})
		u.c.SetCounterGroup(ctx, group, CounterGroup{Mode: []string{flex.StatsModeRead, flex.StatsModeReadAndClear, "X",
			""}[u.IntN(4)]})
	case 1:
		u.c.DelCounterGroup(ctx, group)
	case 2:
		t, field, ids := sai.ObjectTypePort, flex.FieldPortCounters,
			[]string{"SAI_PORT_STAT_IF_IN_OCTETS", "SAI_PORT_STAT_IF_OUT_OCTETS"}
		if on {
			t, field, ids = sai.ObjectTypeACLCounter, flex.FieldACLCounters, []string{"SAI_ACL_COUNTER_ATTR_PACKETS"}
		}
		if u.IntN(8) == 0 {
			ids = append(ids, "SAI_NONE")
		}
		u.c.StartPoll(ctx, group, field, ids, u.oid([]sai.ObjectType{t}), u.oid([]sai.ObjectType{t}))
	case 3:
		u.c.StopPoll(ctx, group, u.key().OID)
	}
}

// ask sends a query.
func (u *user) ask(ctx context.Context) {
	tm := u.anyType()
	a := u.oneAttr(tm)
	switch u.IntN(5) {
	case 0:
		u.c.AttrCapability(ctx, a.ID)
	case 1:
		u.c.EnumCapability(ctx, a.ID)
	case 2:
		u.c.StatsCapability(ctx, tm.Type)
	case 3:
		u.c.Availability(ctx, tm.Type, []sai.Attr{a}[:u.IntN(2)])
	case 4:
		u.c.FlushFDB(ctx, u.attrs(sai.ObjectMeta(sai.ObjectTypeFDBFlush)))
	}
}
