package saisim

import (
	"slices"
	"tamtam/saisim/config"

	"tamtam/sai"
	"tamtam/saisim/tm"
)

// maxTrafficClasses is the number of traffic classes.
const maxTrafficClasses = 16

// A queueObject is a QUEUE object: one of the queues of a port, with what serves
// and bounds it.
type queueObject struct {
	port      *portObject
	index     int
	scheduler *tm.Discipline // nil: none of its own
	wred      *tm.WRED
	buffer    *bufferProfile
	cleared   map[sai.StatID]uint64
}

// A bufferProfile is a BUFFER_PROFILE object.
type bufferProfile struct {
	pool     *bufferPool
	reserved uint64 // cells
	limit    tm.Limit
}

// A bufferPool is a BUFFER_POOL object: a pool of the packet memory.
type bufferPool struct{ index int }

// A qosMap is a QOS_MAP object. Its one array that is not nil never changes: a new
// list makes a new array.
type qosMap struct {
	dscp  *[64]uint8
	dot1p *[8]uint8
	queue *[16]uint8
}

// makeQueues makes the QUEUE objects of a new port.
func (c *store) makeQueues(p *portObject) {
	for i := range c.prof.Queues {
		q := &object{
			key: sai.Obj(sai.ObjectTypeQueue, c.newOID(sai.ObjectTypeQueue)), self: &queueObject{port: p, index: int(i)},
			attrs: []sai.Attr{
				{ID: sai.QueueAttrType, Value: sai.QueueTypeUnicast}, {ID: sai.QueueAttrPort, Value: p.o.key.OID},
				{ID: sai.QueueAttrIndex, Value: sai.Uint(i)},
			}}
		p.queues = append(p.queues, q)
		c.objects[q.key.OID] = q
		c.valid.Found(q.key)
	}
}

func (c *store) queueKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.QueueAttrType, sai.QueueAttrPort, sai.QueueAttrIndex,
			sai.QueueAttrSchedulerProfileID, sai.QueueAttrWREDProfileID, sai.QueueAttrBufferProfileID,
		},
		create: refuseCreate(sai.ObjectTypeQueue, "every port has its queues"),
		remove: refuseRemove("queues go with their port"),
		set:    c.setQueue,
	}
	c.addQueueStats(k)
	return k
}

func (c *store) setQueue(o *object, a sai.Attr) error {
	q, oid := o.self.(*queueObject), a.Value.(sai.OID)
	switch a.ID {
	case sai.QueueAttrSchedulerProfileID:
		q.scheduler, _ = self[*tm.Discipline](c, oid)
	case sai.QueueAttrWREDProfileID:
		q.wred, _ = self[*tm.WRED](c, oid)
	case sai.QueueAttrBufferProfileID:
		q.buffer, _ = self[*bufferProfile](c, oid)
	}
	c.putPort(q.port)
	return nil
}

// settings are those of a queue, by its profiles.
func (q *queueObject) settings() tm.Settings {
	s := tm.DefaultSettings()
	if q.scheduler != nil {
		s.Discipline = *q.scheduler
	}
	if q.wred != nil {
		s.WRED = *q.wred
	}
	if b := q.buffer; b != nil {
		s.Pool, s.Reserved, s.Limit = b.pool.index, b.reserved, b.limit
	}
	return s
}

// putPorts puts the rows of all ports anew: a profile or map has changed.
func (c *store) putPorts() {
	for i, p := range c.lanes {
		if p != nil && int(p.id()) == i {
			c.putPort(p)
		}
	}
}

// A profile kind is one whose objects are a *T made from their attributes; a
// change settles all queues anew.
func profileKind[T any](c *store, k *kind, make func(o *object) (T, error)) *kind {
	k.create = func(o *object) error {
		v, err := make(o)
		o.self = &v
		return err
	}
	k.set = func(o *object, a sai.Attr) error {
		next := &object{key: o.key, attrs: slices.Clone(o.attrs)}
		next.put(a)
		v, err := make(next)
		if err != nil {
			return err
		}
		*o.self.(*T) = v
		c.putPorts()
		return nil
	}
	return k
}

// schedulerKind: strict priority, DWRR by bytes, WRR by packets. The chip shapes
// nothing, so it has no bandwidth attributes.
func (c *store) schedulerKind() *kind {
	return profileKind(c, &kind{
		max:   c.prof.Schedulers,
		attrs: []sai.AttrID{sai.SchedulerAttrSchedulingType, sai.SchedulerAttrSchedulingWeight, sai.SchedulerAttrLabel},
	}, func(o *object) (tm.Discipline, error) {
		d := tm.Discipline{Weight: uint32(o.number(sai.SchedulerAttrSchedulingWeight))}
		switch o.enum(sai.SchedulerAttrSchedulingType) {
		case sai.SchedulingTypeStrict:
			d.Strict = true
		case sai.SchedulingTypeWrr:
			d.Packets = true
		}
		if !d.Strict && (d.Weight < 1 || d.Weight > 100) {
			return d, refuse("create", sai.ObjectTypeScheduler, sai.SchedulerAttrSchedulingWeight, sai.StatusInvalidParameter,
				"%d, want 1 to 100", d.Weight)
		}
		return d, nil
	})
}

// wredKind: all packets are green, the chip has no meters.
func (c *store) wredKind() *kind {
	return profileKind(c, &kind{
		max: c.prof.WREDs,
		attrs: []sai.AttrID{
			sai.WREDAttrGreenEnable, sai.WREDAttrGreenMinThreshold, sai.WREDAttrGreenMaxThreshold,
			sai.WREDAttrGreenDropProbability, sai.WREDAttrECNMarkMode,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.WREDAttrECNMarkMode: {sai.ECNMarkModeNone, sai.ECNMarkModeGreen,
			sai.ECNMarkModeAll}},
	}, func(o *object) (tm.WRED, error) {
		w := tm.WRED{
			Drop: o.flag(sai.WREDAttrGreenEnable), ECN: o.enum(sai.WREDAttrECNMarkMode) != sai.ECNMarkModeNone,
			Min: o.number(sai.WREDAttrGreenMinThreshold), Max: o.number(sai.WREDAttrGreenMaxThreshold),
			Percent: o.number(sai.WREDAttrGreenDropProbability),
		}
		switch {
		case (w.Drop || w.ECN) && w.Min >= w.Max:
			return w, refuse("create", sai.ObjectTypeWRED, sai.WREDAttrGreenMaxThreshold, sai.StatusInvalidParameter,
				"%d bytes, want more than the minimum, %d", w.Max, w.Min)
		case w.Percent > 100:
			return w, refuse("create", sai.ObjectTypeWRED, sai.WREDAttrGreenDropProbability, sai.StatusInvalidParameter,
				"%d, want 0 to 100 percent", w.Percent)
		}
		return w, nil
	})
}

// bufferPoolKind: pools are what the egress queues share. What no pool has is the
// pool of the queues without a profile.
func (c *store) bufferPoolKind() *kind {
	k := &kind{
		max: c.prof.BufferPools,
		attrs: []sai.AttrID{
			sai.BufferPoolAttrType, sai.BufferPoolAttrSize, sai.BufferPoolAttrThresholdMode, sai.BufferPoolAttrSharedSize,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.BufferPoolAttrType: {sai.BufferPoolTypeEgress}},
		create: func(o *object) error {
			b := &bufferPool{index: 1}
			for slices.ContainsFunc(c.pools, func(x *bufferPool) bool { return x.index == b.index }) {
				b.index++
			}
			o.self = b
			return nil
		},
		row:  c.poolRow,
		made: func(o *object) { c.pools = append(c.pools, o.self.(*bufferPool)) },
		remove: func(o *object) error {
			c.pools = slices.DeleteFunc(c.pools, func(x *bufferPool) bool { return x == o.self.(*bufferPool) })
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.BufferPoolAttrSharedSize {
				return sai.Uint(c.buffer.Pools[o.self.(*bufferPool).index].Size * c.buffer.CellBytes)
			}
			return nil
		},
		stats: []sai.StatID{sai.BufferPoolStatCurrOccupancyBytes, sai.BufferPoolStatCurrOccupancyCells},
		stat: func(o *object, id sai.StatID) uint64 {
			used := c.buffer.Pools[o.self.(*bufferPool).index].Used()
			if id == sai.BufferPoolStatCurrOccupancyBytes {
				return used * c.buffer.CellBytes
			}
			return used
		},
		clear: func(*object, sai.StatID) {}, // levels, not counts
	}
	return k
}

// poolRow is the size of a pool: cells from the pool of the queues without a profile, at least one.
func (c *store) poolRow(o *object) (config.Row, error) {
	b, bytes := o.self.(*bufferPool), o.number(sai.BufferPoolAttrSize)
	r := config.Pool{Index: b.index, Cells: bytes / c.buffer.CellBytes}
	left := c.buffer.Pools[0].Size
	if b.index < len(c.buffer.Pools) {
		left += c.buffer.Pools[b.index].Size
	}
	if r.Cells == 0 || r.Cells > left {
		return nil, refuse("create", sai.ObjectTypeBufferPool, sai.BufferPoolAttrSize, sai.StatusInvalidParameter,
			"%d bytes, want %d to %d: whole cells, and no more than are left", bytes, c.buffer.CellBytes,
			left*c.buffer.CellBytes)
	}
	return r, nil
}

func (c *store) bufferProfileKind() *kind {
	return profileKind(c, &kind{
		max: c.prof.BufferProfiles,
		attrs: []sai.AttrID{
			sai.BufferProfileAttrPoolID, sai.BufferProfileAttrReservedBufferSize, sai.BufferProfileAttrThresholdMode,
			sai.BufferProfileAttrSharedDynamicTh, sai.BufferProfileAttrSharedStaticTh,
		},
	}, func(o *object) (b bufferProfile, err error) {
		pool, ok := self[*bufferPool](c, o.ref(sai.BufferProfileAttrPoolID))
		if !ok {
			return b, refuse("create", sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, sai.StatusInvalidParameter,
				"want a buffer pool")
		}
		b.pool = pool
		reserved := o.number(sai.BufferProfileAttrReservedBufferSize)
		if all := uint64(c.prof.Buffer.Cells) * c.buffer.CellBytes; reserved > all {
			return b, refuse("create", sai.ObjectTypeBufferProfile, sai.BufferProfileAttrReservedBufferSize,
				sai.StatusInvalidParameter,
				"%d bytes, the chip has %d", reserved, all)
		}
		if reserved > 0 {
			b.reserved = c.buffer.Cells(reserved)
		}
		if o.enum(sai.BufferProfileAttrThresholdMode) == sai.BufferProfileThresholdModeStatic {
			b.limit = tm.Limit{Static: true, Cells: o.number(sai.BufferProfileAttrSharedStaticTh) / c.buffer.CellBytes}
			return b, nil
		}
		alpha, _ := o.attr(sai.BufferProfileAttrSharedDynamicTh).(sai.Int)
		if alpha < -16 || alpha > 16 {
			return b, refuse("create", sai.ObjectTypeBufferProfile, sai.BufferProfileAttrSharedDynamicTh,
				sai.StatusInvalidParameter,
				"%d, want -16 to 16: the power of two that what is free is multiplied by", alpha)
		}
		b.limit = tm.Limit{Dynamic: true, Alpha: int8(alpha)}
		return b, nil
	})
}
