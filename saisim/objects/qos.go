package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/counts"
	"tamtam/saisim/tm"
)

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
	// Cells of the thresholds of flow control.
	xoff, xon, xonOffset uint64
	trim                 bool // true if queues trim what they do not admit
}

// A bufferPool is a BUFFER_POOL object: a pool of the packet memory.
type bufferPool struct {
	index           int
	cells, headroom uint64
	ingress         bool
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

// A scheduler is a SCHEDULER object.
type scheduler struct {
	discipline tm.Discipline
	shaper     tm.Shaper
}

// schedulerKind returns the kind of schedulers: strict priority, DWRR by bytes, WRR by packets, and a shaper. A port
// uses only the shaper of its scheduler.
func (q *qos) schedulerKind() *kind {
	const noGuarantee = "queues share the rate of a port by weight and priority only"
	return profileKind(q, &kind{
		max: q.prof.Schedulers,
		attrs: []sai.AttrID{
			sai.SchedulerAttrSchedulingType, sai.SchedulerAttrSchedulingWeight, sai.SchedulerAttrLabel,
			sai.SchedulerAttrMeterType, sai.SchedulerAttrMaxBandwidthRate, sai.SchedulerAttrMaxBandwidthBurstRate,
		},
		stored: map[sai.AttrID]string{
			sai.SchedulerAttrMinBandwidthRate: noGuarantee, sai.SchedulerAttrMinBandwidthBurstRate: noGuarantee,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.SchedulerAttrMeterType: {sai.MeterTypePackets, sai.MeterTypeBytes},
		},
	}, func(o *object) (s scheduler, err error) {
		s.shaper = tm.Shaper{
			Rate: o.number(sai.SchedulerAttrMaxBandwidthRate), Burst: o.number(sai.SchedulerAttrMaxBandwidthBurstRate),
			Packets: o.enum(sai.SchedulerAttrMeterType) == sai.MeterTypePackets,
		}
		if most := engine.MaxBurst(q.prof.ClockHz); s.shaper.Burst > most {
			return s, badCreate(sai.SchedulerAttrMaxBandwidthBurstRate, sai.StatusInvalidParameter,
				"a burst of %d, want at most %d", s.shaper.Burst, most)
		}
		if s.shaper.Rate == 0 {
			s.shaper = tm.Shaper{}
		}
		s.discipline, err = disciplineOf(o)
		return s, err
	})
}

// disciplineOf returns how a scheduler serves a queue.
func disciplineOf(o *object) (tm.Discipline, error) {
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
}

// A wred is a WRED object: the settings of each colour.
type wred [tm.NumColours]tm.WRED

// A wredColour names the attributes of a colour, and the modes that mark its packets, besides that of all colours.
type wredColour struct {
	enable, least, most, percent sai.AttrID
	marks                        []sai.Enum
}

func wredColours() [tm.NumColours]wredColour {
	return [tm.NumColours]wredColour{
		tm.Green: {sai.WREDAttrGreenEnable, sai.WREDAttrGreenMinThreshold, sai.WREDAttrGreenMaxThreshold,
			sai.WREDAttrGreenDropProbability,
			[]sai.Enum{sai.ECNMarkModeGreen, sai.ECNMarkModeGreenYellow, sai.ECNMarkModeGreenRed}},
		tm.Yellow: {sai.WREDAttrYellowEnable, sai.WREDAttrYellowMinThreshold, sai.WREDAttrYellowMaxThreshold,
			sai.WREDAttrYellowDropProbability,
			[]sai.Enum{sai.ECNMarkModeYellow, sai.ECNMarkModeGreenYellow, sai.ECNMarkModeYellowRed}},
		tm.Red: {sai.WREDAttrRedEnable, sai.WREDAttrRedMinThreshold, sai.WREDAttrRedMaxThreshold,
			sai.WREDAttrRedDropProbability,
			[]sai.Enum{sai.ECNMarkModeRed, sai.ECNMarkModeGreenRed, sai.ECNMarkModeYellowRed}},
	}
}

// wredKind returns the kind of WRED profiles.
func (q *qos) wredKind() *kind {
	k := &kind{max: q.prof.WREDs, attrs: []sai.AttrID{sai.WREDAttrECNMarkMode}}
	for _, c := range wredColours() {
		k.attrs = append(k.attrs, c.enable, c.least, c.most, c.percent)
	}
	return profileKind(q, k, wredOf)
}

// wredOf returns the settings of a WRED object. Its mode marks yellow and red packets only if they have thresholds.
func wredOf(o *object) (all wred, err error) {
	mode := o.enum(sai.WREDAttrECNMarkMode)
	for colour, c := range wredColours() {
		w := tm.WRED{
			Drop: o.flag(c.enable), ECN: mode == sai.ECNMarkModeAll || slices.Contains(c.marks, mode),
			Min: o.number(c.least), Max: o.number(c.most), Percent: o.number(c.percent),
		}
		if tm.Colour(colour) != tm.Green && w.Max == 0 && !w.Drop {
			w.ECN = false
		}
		switch {
		case (w.Drop || w.ECN) && w.Min >= w.Max:
			return all, badCreate(c.most, sai.StatusInvalidParameter, "%d bytes, want more than the minimum, %d", w.Max,
				w.Min)
		case w.Percent > 100:
			return all, badCreate(c.percent, sai.StatusInvalidParameter, "%d, want 0 to 100 percent", w.Percent)
		}
		all[colour] = w
	}
	return all, nil
}

// bufferPoolKind returns the kind of buffer pools. Egress queues share an egress pool. The cells outside all egress
// pools are the pool of the queues without a profile. Priority groups share an ingress pool. Ingress and egress pools
// have different accounts of the same memory.
func (q *qos) bufferPoolKind() *kind {
	k := &kind{
		max: q.prof.BufferPools,
		attrs: []sai.AttrID{
			sai.BufferPoolAttrType, sai.BufferPoolAttrSize, sai.BufferPoolAttrThresholdMode, sai.BufferPoolAttrSharedSize,
			sai.BufferPoolAttrXoffSize,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.BufferPoolAttrType: {sai.BufferPoolTypeEgress, sai.BufferPoolTypeIngress},
		},
		create: func(o *object) error {
			b := &bufferPool{index: 1, ingress: o.enum(sai.BufferPoolAttrType) == sai.BufferPoolTypeIngress}
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
	}
	table := counts.Pools(q.prof.Buffer.CellBytes)
	k.stats = counts.Sorted(table)
	state := func(o *object) engine.PoolState { return q.engine.PoolState(o.self.(*bufferPool).index) }
	k.stat = func(o *object, id sai.StatID) uint64 { s := state(o); return table[id](&s) }
	k.reader = readerOf(table, state)
	k.clear = func(o *object, id sai.StatID) bool { // most are levels, not counts
		switch id {
		case sai.BufferPoolStatWatermarkBytes, sai.BufferPoolStatWatermarkCells:
			q.engine.ClearPool(o.self.(*bufferPool).index, false)
		case sai.BufferPoolStatXoffRoomWatermarkBytes, sai.BufferPoolStatXoffRoomWatermarkCells:
			q.engine.ClearPool(o.self.(*bufferPool).index, true)
		}
		return id != sai.BufferPoolStatDroppedPackets
	}
	return k
}

// poolRow returns the row of a pool. The cells of an egress pool are taken from the pool of the queues without a
// profile. An ingress pool may have all cells of the memory. A pool without cells admits nothing: SONiC gives ports
// that are down profiles of such pools.
func (q *qos) poolRow(o *object) (config.Row, error) {
	b, bytes := o.self.(*bufferPool), o.number(sai.BufferPoolAttrSize)
	left := uint64(q.prof.Buffer.Cells)
	for _, x := range q.pools {
		if x != b && !b.ingress && !x.ingress {
			left -= x.cells
		}
	}
	if xoff := o.number(sai.BufferPoolAttrXoffSize); xoff > 0 && (!b.ingress || xoff > bytes) {
		return nil, badCreate(sai.BufferPoolAttrXoffSize, sai.StatusInvalidParameter,
			"%d bytes, want 0, or at most the %d bytes of an ingress pool", xoff, bytes)
	}
	cells := bytes / q.cellBytes()
	if cells == 0 && bytes > 0 || cells > left {
		return nil, badCreate(sai.BufferPoolAttrSize, sai.StatusInvalidParameter,
			"%d bytes, want 0, or %d to %d: whole cells, and no more than are left", bytes, q.cellBytes(), left*q.cellBytes())
	}
	own := b.headroom == 0
	b.cells, b.headroom = cells, o.number(sai.BufferPoolAttrXoffSize)/q.cellBytes()
	if own != (b.headroom == 0) {
		q.ports.putPorts() // groups have headroom of their own, or no longer
	}
	return config.Pool{Index: b.index, Cells: cells, Ingress: b.ingress, Headroom: b.headroom}, nil
}

// cellBytes returns the size of a cell of the packet memory.
func (q *qos) cellBytes() uint64 { return uint64(q.prof.Buffer.CellBytes) }

func (q *qos) bufferProfileKind() *kind {
	return profileKind(q, &kind{
		max: q.prof.BufferProfiles,
		attrs: []sai.AttrID{
			sai.BufferProfileAttrPoolID, sai.BufferProfileAttrReservedBufferSize, sai.BufferProfileAttrThresholdMode,
			sai.BufferProfileAttrSharedDynamicTh, sai.BufferProfileAttrSharedStaticTh,
			sai.BufferProfileAttrXoffTh, sai.BufferProfileAttrXonTh, sai.BufferProfileAttrXonOffsetTh,
			sai.BufferProfileAttrPacketAdmissionFailAction,
		},
	}, func(o *object) (b bufferProfile, err error) {
		pool, ok := self[*bufferPool](q.core, o.ref(sai.BufferProfileAttrPoolID))
		if !ok {
			return b, badCreate(sai.BufferProfileAttrPoolID, sai.StatusInvalidParameter, "want a buffer pool")
		}
		b.pool = pool
		for _, id := range []sai.AttrID{
			sai.BufferProfileAttrXoffTh, sai.BufferProfileAttrXonTh, sai.BufferProfileAttrXonOffsetTh,
		} {
			if n := o.number(id); n > 0 && !pool.ingress {
				return b, badCreate(id, sai.StatusInvalidParameter, "%d bytes, want 0: the pool is at the egress", n)
			}
		}
		if err := q.checkTrim(o, pool); err != nil {
			return b, err
		}
		b.trim = o.trims()
		all := uint64(q.prof.Buffer.Cells) * q.cellBytes()
		b.xon = o.number(sai.BufferProfileAttrXonTh) / q.cellBytes()
		b.xonOffset = o.number(sai.BufferProfileAttrXonOffsetTh) / q.cellBytes()
		if n := o.number(sai.BufferProfileAttrXoffTh); n > 0 {
			b.xoff = tm.Cells(min(n, all), q.cellBytes())
		}
		reserved := o.number(sai.BufferProfileAttrReservedBufferSize)
		if reserved > all {
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

// trims reports whether queues with a buffer profile trim.
func (o *object) trims() bool {
	return o.enum(sai.BufferProfileAttrPacketAdmissionFailAction) == sai.BufferProfilePacketAdmissionFailActionDropAndTrim
}

// checkTrim rejects a buffer profile that trims if anything other than queues may use it, or uses it.
func (q *qos) checkTrim(o *object, pool *bufferPool) error {
	if !o.trims() {
		return nil
	}
	bad := func(format string, args ...any) error {
		return badValue(sai.BufferProfileAttrPacketAdmissionFailAction, sai.StatusInvalidParameter,
			"only queues trim, and "+format, args...)
	}
	if pool.ingress {
		return bad("the profile is of an ingress pool, want an egress pool")
	}
	for _, p := range q.ports.all() {
		for _, id := range []sai.AttrID{
			sai.PortAttrQoSIngressBufferProfileList, sai.PortAttrQoSEgressBufferProfileList,
		} {
			if list, _ := p.o.attr(id).(sai.OIDs); slices.Contains(list, o.key.OID) {
				return bad("port %s has the profile in %s: remove it there first", p.o.key.OID, id)
			}
		}
	}
	return nil
}
