package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
)

// maxTrafficClasses is the number of traffic classes.
const maxTrafficClasses = 16

// qos is the area of the profiles and maps that ports and their queues use: schedulers, WRED, buffers, traffic classes.
type qos struct {
	*core
	ports *ports // ports whose rows are put again after a change
	pools []*bufferPool
}

// A bufferProfile is a BUFFER_PROFILE object.
type bufferProfile struct {
	pool     *bufferPool
	reserved uint64 // number of cells
	limit    tm.Limit
}

// A bufferPool is a BUFFER_POOL object: a pool of the packet memory.
type bufferPool struct {
	index int
	cells uint64
}

// A qosMap is a QOS_MAP object. Its single non-nil array never changes: a new list makes a new array.
type qosMap struct {
	dscp  *[64]uint8
	dot1p *[8]uint8
	queue *[16]uint8
}

// profileKind completes a kind whose objects are a *T made from their attributes. A change puts the rows of all ports
// again.
func profileKind[T any](q *qos, k *kind, make func(o *object) (T, error)) *kind {
	k.create = func(o *object) error {
		v, err := make(o)
		o.self = &v
		return err
	}
	k.set = func(o *object, a sai.Attr) error {
		v, err := make(o.with(a))
		if err != nil {
			return err
		}
		*o.self.(*T) = v
		q.ports.putPorts()
		return nil
	}
	return k
}

// schedulerKind returns the kind of schedulers: strict priority, DWRR by bytes, WRR by packets. The chip does not shape
// traffic, so it has no bandwidth attributes.
func (q *qos) schedulerKind() *kind {
	return profileKind(q, &kind{
		max:   q.prof.Schedulers,
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
			return d, badCreate(sai.SchedulerAttrSchedulingWeight, sai.StatusInvalidParameter, "%d, want 1 to 100", d.Weight)
		}
		return d, nil
	})
}

// wredKind returns the kind of WRED profiles. All packets in queues are green, since the chip does not meter them.
func (q *qos) wredKind() *kind {
	return profileKind(q, &kind{
		max: q.prof.WREDs,
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
			return w, badCreate(sai.WREDAttrGreenMaxThreshold, sai.StatusInvalidParameter,
				"%d bytes, want more than the minimum, %d", w.Max, w.Min)
		case w.Percent > 100:
			return w, badCreate(sai.WREDAttrGreenDropProbability, sai.StatusInvalidParameter,
				"%d, want 0 to 100 percent", w.Percent)
		}
		return w, nil
	})
}

// bufferPoolKind returns the kind of buffer pools, which egress queues share. The cells outside all pools are the pool
// of the queues without a profile.
func (q *qos) bufferPoolKind() *kind {
	k := &kind{
		max: q.prof.BufferPools,
		attrs: []sai.AttrID{
			sai.BufferPoolAttrType, sai.BufferPoolAttrSize, sai.BufferPoolAttrThresholdMode, sai.BufferPoolAttrSharedSize,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.BufferPoolAttrType: {sai.BufferPoolTypeEgress}},
		create: func(o *object) error {
			b := &bufferPool{index: 1}
			for slices.ContainsFunc(q.pools, func(x *bufferPool) bool { return x.index == b.index }) {
				b.index++
			}
			o.self = b
			return nil
		},
		row:  q.poolRow,
		made: func(o *object) { q.pools = append(q.pools, o.self.(*bufferPool)) },
		remove: func(o *object) error {
			q.pools = slices.DeleteFunc(q.pools, func(x *bufferPool) bool { return x == o.self.(*bufferPool) })
			return nil
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.BufferPoolAttrSharedSize: func(o *object) sai.Value {
				return sai.Uint(o.self.(*bufferPool).cells * q.cellBytes())
			},
		},
		stats: []sai.StatID{sai.BufferPoolStatCurrOccupancyBytes, sai.BufferPoolStatCurrOccupancyCells},
		stat: func(o *object, id sai.StatID) uint64 {
			used := q.engine.PoolUsed(o.self.(*bufferPool).index)
			if id == sai.BufferPoolStatCurrOccupancyBytes {
				return used * q.cellBytes()
			}
			return used
		},
		clear: func(*object, sai.StatID) bool { return true }, // these are levels, not counts
	}
	return k
}

// poolRow returns the row of a pool. The pool's cells, at least one, are taken from the pool of the queues without a
// profile.
func (q *qos) poolRow(o *object) (config.Row, error) {
	b, bytes := o.self.(*bufferPool), o.number(sai.BufferPoolAttrSize)
	left := uint64(q.prof.Buffer.Cells)
	for _, x := range q.pools {
		if x != b {
			left -= x.cells
		}
	}
	cells := bytes / q.cellBytes()
	if cells == 0 || cells > left {
		return nil, badCreate(sai.BufferPoolAttrSize, sai.StatusInvalidParameter,
			"%d bytes, want %d to %d: whole cells, and no more than are left", bytes, q.cellBytes(), left*q.cellBytes())
	}
	b.cells = cells
	return config.Pool{Index: b.index, Cells: cells}, nil
}

// cellBytes returns the size of a cell of the packet memory.
func (q *qos) cellBytes() uint64 { return uint64(q.prof.Buffer.CellBytes) }

func (q *qos) bufferProfileKind() *kind {
	return profileKind(q, &kind{
		max: q.prof.BufferProfiles,
		attrs: []sai.AttrID{
			sai.BufferProfileAttrPoolID, sai.BufferProfileAttrReservedBufferSize, sai.BufferProfileAttrThresholdMode,
			sai.BufferProfileAttrSharedDynamicTh, sai.BufferProfileAttrSharedStaticTh,
		},
	}, func(o *object) (b bufferProfile, err error) {
		pool, ok := self[*bufferPool](q.core, o.ref(sai.BufferProfileAttrPoolID))
		if !ok {
			return b, badCreate(sai.BufferProfileAttrPoolID, sai.StatusInvalidParameter, "want a buffer pool")
		}
		b.pool = pool
		reserved := o.number(sai.BufferProfileAttrReservedBufferSize)
		if all := uint64(q.prof.Buffer.Cells) * q.cellBytes(); reserved > all {
			return b, badCreate(sai.BufferProfileAttrReservedBufferSize, sai.StatusInvalidParameter, "%d bytes, the chip has %d",
				reserved, all)
		}
		if reserved > 0 {
			b.reserved = tm.Cells(reserved, q.cellBytes())
		}
		if o.enum(sai.BufferProfileAttrThresholdMode) == sai.BufferProfileThresholdModeStatic {
			b.limit = tm.Limit{Static: true, Cells: o.number(sai.BufferProfileAttrSharedStaticTh) / q.cellBytes()}
			return b, nil
		}
		alpha, _ := o.attr(sai.BufferProfileAttrSharedDynamicTh).(sai.Int)
		if alpha < -16 || alpha > 16 {
			return b, badCreate(sai.BufferProfileAttrSharedDynamicTh, sai.StatusInvalidParameter,
				"%d, want -16 to 16: the power of two that what is free is multiplied by", alpha)
		}
		b.limit = tm.Limit{Dynamic: true, Alpha: int8(alpha)}
		return b, nil
	})
}
