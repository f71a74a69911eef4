package saisim_test

import (
	"testing"

	"tamtam/sai"
)

// bufferPool makes a pool of a type with 6400 bytes, and bufferProfile a profile of a pool.
func (d *dut) bufferPool(t sai.Enum, pairs ...any) sai.OID {
	return d.create(sai.ObjectTypeBufferPool, append([]any{sai.BufferPoolAttrType, t,
		sai.BufferPoolAttrSize, sai.Uint(6400)}, pairs...)...)
}

func profileAttrs(pool sai.OID, pairs ...any) []any {
	return append([]any{sai.BufferProfileAttrPoolID, pool, sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
		sai.BufferProfileAttrSharedStaticTh, sai.Uint(640)}, pairs...)
}

func (d *dut) bufferProfile(pool sai.OID, pairs ...any) sai.OID {
	return d.create(sai.ObjectTypeBufferProfile, profileAttrs(pool, pairs...)...)
}

// Each port has eight ingress priority groups, numbered from 0. They accept a profile of an ingress pool.
func TestSAIPriorityGroups(t *testing.T) {
	d := newDUT(t)
	d.boot()
	if n := d.get(d.port(0), sai.PortAttrNumberOfIngressPriorityGroups); n != sai.Uint(8) {
		t.Errorf("%v priority groups, want 8", n)
	}
	memory := d.get(sai.Obj(sai.ObjectTypeSwitch, d.sw), sai.SwitchAttrTotalBufferSize)
	if n := d.get(d.port(0), sai.PortAttrQoSMaximumHeadroomSize).(sai.Uint) >> 10; n != memory {
		t.Errorf("the headroom of a port is limited to %v KB, want %v, all memory", n, memory)
	}
	pool := d.bufferPool(sai.BufferPoolTypeIngress, sai.BufferPoolAttrXoffSize, sai.Uint(640))
	lossless := d.bufferProfile(pool, sai.BufferProfileAttrXonTh, sai.Uint(64), sai.BufferProfileAttrXoffTh, sai.Uint(128),
		sai.BufferProfileAttrXonOffsetTh, sai.Uint(64))
	egress := d.bufferProfile(d.bufferPool(sai.BufferPoolTypeEgress))
	groups := d.get(d.port(0), sai.PortAttrIngressPriorityGroupList).(sai.OIDs)
	for i, oid := range groups {
		pg := sai.Obj(sai.ObjectTypeIngressPriorityGroup, oid)
		if n := d.get(pg, sai.IngressPriorityGroupAttrIndex); n != sai.Uint(i) {
			t.Errorf("priority group %d has index %v", i, n)
		}
		if p := d.get(pg, sai.IngressPriorityGroupAttrPort); p != d.port(0).OID {
			t.Errorf("priority group %d is of port %v", i, p)
		}
		d.set(pg, sai.IngressPriorityGroupAttrBufferProfile, lossless)
		err := d.Set(d.Context(), pg, sai.Attr{ID: sai.IngressPriorityGroupAttrBufferProfile, Value: egress})
		d.wantStatus("a profile of an egress pool", err, sai.StatusInvalidParameter)
		if p := d.get(pg, sai.IngressPriorityGroupAttrBufferProfile); p != lossless {
			t.Errorf("the profile of priority group %d is %v, want %v", i, p, lossless)
		}
		got, err := d.Stats(d.Context(), pg, []sai.StatID{sai.IngressPriorityGroupStatPackets,
			sai.IngressPriorityGroupStatXoffRoomWatermarkBytes})
		if err != nil || got[0]+got[1] != 0 {
			t.Errorf("statistics of a priority group: %v, %v", got, err)
		}
	}
	_, err := d.Create(d.Context(), sai.ObjectTypeIngressPriorityGroup, attrs(sai.IngressPriorityGroupAttrPort,
		d.port(0).OID, sai.IngressPriorityGroupAttrIndex, sai.Uint(9)))
	d.wantStatus("a ninth priority group", err, sai.StatusNotSupported)
	d.refuseRemove(sai.StatusNotSupported, sai.Obj(sai.ObjectTypeIngressPriorityGroup, groups[0]))
	d.refuseRemove(sai.StatusObjectInUse, sai.Obj(sai.ObjectTypeBufferProfile, lossless))
	d.unbridge(0)
	d.remove(d.port(0))
	d.remove(sai.Obj(sai.ObjectTypeBufferProfile, lossless)) // the groups are gone with their port
}

// A pool, a profile and its user are all at the ingress, or all at the egress. Ingress pools leave the cells of egress
// queues alone.
func TestSAIIngressPools(t *testing.T) {
	d := newDUT(t)
	d.boot()
	const invalid = sai.StatusInvalidParameter
	create := func(what string, want sai.Status, t sai.ObjectType, pairs ...any) {
		d.Helper()
		_, err := d.Create(d.Context(), t, attrs(pairs...))
		d.wantStatus(what, err, want)
	}
	pool := func(what string, want sai.Status, t sai.Enum, pairs ...any) {
		d.Helper()
		create(what, want, sai.ObjectTypeBufferPool, append([]any{sai.BufferPoolAttrType, t}, pairs...)...)
	}
	pool("headroom of an egress pool", invalid, sai.BufferPoolTypeEgress, sai.BufferPoolAttrSize, sai.Uint(6400),
		sai.BufferPoolAttrXoffSize, sai.Uint(64))
	pool("more headroom than pool", invalid, sai.BufferPoolTypeIngress, sai.BufferPoolAttrSize, sai.Uint(6400),
		sai.BufferPoolAttrXoffSize, sai.Uint(6464))
	pool("less than a cell", invalid, sai.BufferPoolTypeIngress, sai.BufferPoolAttrSize, sai.Uint(63))
	pool("both sides", sai.StatusNotSupported, sai.BufferPoolTypeBoth, sai.BufferPoolAttrSize, sai.Uint(6400))
	in, out := d.bufferPool(sai.BufferPoolTypeIngress), d.bufferPool(sai.BufferPoolTypeEgress)
	if pools := d.Tables().Pools; len(pools) != 2 || !pools[0].Ingress || pools[1].Ingress {
		t.Errorf("rows %v, want one of the ingress pool and one of the egress pool", pools)
	}
	for _, pool := range []sai.OID{in, out} {
		if n := d.get(sai.Obj(sai.ObjectTypeBufferPool, pool), sai.BufferPoolAttrSharedSize); n != sai.Uint(6400) {
			t.Errorf("pool %v shares %v bytes, want 6400", pool, n)
		}
	}
	for _, id := range []sai.AttrID{sai.BufferProfileAttrXoffTh, sai.BufferProfileAttrXonTh,
		sai.BufferProfileAttrXonOffsetTh} {
		create("a threshold of flow control at the egress", invalid, sai.ObjectTypeBufferProfile,
			profileAttrs(out, id, sai.Uint(64))...)
	}
	ofIn, ofOut := d.bufferProfile(in), d.bufferProfile(out)
	refuse := func(what string, k sai.Key, id sai.AttrID, v sai.Value) {
		d.Helper()
		d.wantStatus(what, d.Set(d.Context(), k, sai.Attr{ID: id, Value: v}), invalid)
	}
	refuse("a queue with an ingress profile", d.portQueue(0), sai.QueueAttrBufferProfileID, ofIn)
	d.set(d.portQueue(0), sai.QueueAttrBufferProfileID, ofOut)
	for id, right := range map[sai.AttrID]sai.OID{
		sai.PortAttrQoSIngressBufferProfileList: ofIn, sai.PortAttrQoSEgressBufferProfileList: ofOut,
	} {
		d.set(d.port(1), id, sai.OIDs{right})
		refuse(id.String()+" of both sides", d.port(1), id, sai.OIDs{ofIn, ofOut})
	}
}

// A pool of size 0 admits nothing, to a queue as to a priority group. Pools count the packets that they refuse. SONiC
// gives profiles of such pools to ports that are down.
func TestSAIEmptyPools(t *testing.T) {
	for _, kind := range []sai.Enum{sai.BufferPoolTypeEgress, sai.BufferPoolTypeIngress} {
		d := newDUT(t)
		routedWorld(0, 1, 2)(d)
		d.neighbor(1, at4(1, 5), 5)
		d.route("0.0.0.0/0", d.nextHop(1, at4(1, 5)))
		pool := sai.Obj(sai.ObjectTypeBufferPool, d.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, kind,
			sai.BufferPoolAttrSize, sai.Uint(0)))
		user, id := d.portQueue(0), sai.QueueAttrBufferProfileID
		if kind == sai.BufferPoolTypeIngress {
			groups := d.get(d.port(0), sai.PortAttrIngressPriorityGroupList).(sai.OIDs)
			user, id = sai.Obj(sai.ObjectTypeIngressPriorityGroup, groups[0]), sai.IngressPriorityGroupAttrBufferProfile
		}
		dropped := func() uint64 {
			n, err := d.Stats(d.Context(), pool, []sai.StatID{sai.BufferPoolStatDroppedPackets})
			if err != nil {
				t.Fatal(err)
			}
			return n[0]
		}
		d.set(user, id, d.bufferProfile(pool.OID))
		for range 3 {
			if n := len(d.send(in(toFar4)...)); n != 0 {
				t.Errorf("%d packets pass an empty pool", n)
			}
		}
		if n := dropped(); n != 3 {
			t.Errorf("the pool has refused %d packets, want 3", n)
		}
		err := d.ClearStats(d.Context(), pool, []sai.StatID{sai.BufferPoolStatDroppedPackets})
		if err != nil || dropped() != 0 {
			t.Errorf("cleared: %d, %v", dropped(), err)
		}
		d.set(user, id, sai.NullOID)
		if n := len(d.send(in(toFar4)...)); n != 1 || dropped() != 0 {
			t.Errorf("without the profile %d packets pass, and %d are refused", n, dropped())
		}
	}
}

// Maps for priority groups and flow control are checked and stored, and bound to ports together with those that have
// an effect.
func TestSAIStoredMaps(t *testing.T) {
	d := newDUT(t)
	d.boot()
	pair := func(key, value sai.QoSMapParams) sai.QoSMap { return sai.QoSMap{{Key: key, Value: value}} }
	for _, tt := range []struct {
		kind   sai.Enum
		on     sai.AttrID
		right  sai.QoSMap
		wrong  sai.QoSMap
		reason string
	}{
		{sai.QoSMapTypeTCToPriorityGroup, sai.PortAttrQoSTCToPriorityGroupMap,
			pair(sai.QoSMapParams{TC: 3}, sai.QoSMapParams{PG: 3}), pair(sai.QoSMapParams{TC: 3}, sai.QoSMapParams{PG: 8}),
			"a port has priority groups 0 to 7"},
		{sai.QoSMapTypePfcPriorityToPriorityGroup, sai.PortAttrQoSPfcPriorityToPriorityGroupMap,
			pair(sai.QoSMapParams{Prio: 3}, sai.QoSMapParams{PG: 3}), pair(sai.QoSMapParams{Prio: 8}, sai.QoSMapParams{}),
			"flow control has priorities 0 to 7"},
		{sai.QoSMapTypePfcPriorityToQueue, sai.PortAttrQoSPfcPriorityToQueueMap,
			pair(sai.QoSMapParams{Prio: 3}, sai.QoSMapParams{Queue: 3}),
			pair(sai.QoSMapParams{Prio: 3}, sai.QoSMapParams{Queue: 200}), "a port has fewer queues"},
	} {
		_, err := d.Create(d.Context(), sai.ObjectTypeQoSMap, attrs(sai.QoSMapAttrType, tt.kind,
			sai.QoSMapAttrMapToValueList, tt.wrong))
		d.wantStatus(tt.reason, err, sai.StatusInvalidParameter)
		m := d.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, tt.kind, sai.QoSMapAttrMapToValueList, tt.right)
		d.set(d.port(0), tt.on, m)
		err = d.Set(d.Context(), d.port(0), sai.Attr{ID: sai.PortAttrQoSTCToQueueMap, Value: m})
		d.wantStatus("a map of another type", err, sai.StatusInvalidParameter)
		if got := d.get(d.port(0), tt.on); got != m {
			t.Errorf("%s is %v, want %v", tt.on, got, m)
		}
	}
	d.set(d.port(0), sai.PortAttrPriorityFlowControl, sai.Uint(0x18))
	if got := d.get(d.port(0), sai.PortAttrPriorityFlowControl); got != sai.Uint(0x18) {
		t.Errorf("flow control is %v, want 0x18", got)
	}
}
