package reference_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim/config"
)

// isBuffered reports whether the chip of a seed accounts for packets at the ingress. No test used seeds between 41,000
// and 42,000, or between 60,000 and 70,000, before.
func isBuffered(seed uint64) bool {
	return seed >= 41_000 && seed < 42_000 || seed >= 60_000 && seed < 70_000 || seed >= 1_000_000_000 && seed%11 == 6
}

// bufferedCases are such cases of the gate.
var bufferedCases = []randtest.Cases{{Seed: 60_000, Count: 20}}

func bufferedOf(seed uint64) *rand.Rand {
	if isBuffered(seed) {
		return rand.New(rand.NewPCG(seed, 11))
	}
	return nil
}

// buffering runs do with random numbers for ingress buffers, if there are any.
func (g *gen) buffering(do func()) {
	if g.buffers == nil {
		return
	}
	was := g.Rand
	g.Rand = g.buffers
	do()
	g.Rand = was
}

// cellsFrom returns the bytes of some cells: less than n.
func (g *gen) cellsFrom(n int) sai.Uint {
	return sai.Uint(uint64(g.prof.Buffer.CellBytes) * g.Uint64N(uint64(n)))
}

// furnishBuffers makes small ingress pools, profiles with and without headroom, and gives most groups one.
func (p *pair) furnishBuffers() {
	p.buffering(func() {
		for range 1 + p.IntN(3) {
			p.ingressPool()
		}
		for range 6 {
			p.ingressProfile()
		}
		for range 2 {
			p.groupMap()
		}
		for range 2 {
			p.mapOp()
		}
		for range 8 {
			p.flowControlOp()
		}
		for _, port := range p.pool[sai.ObjectTypePort] {
			for _, group := range p.list(sai.ObjectTypePort, port, sai.PortAttrIngressPriorityGroupList) {
				if p.chance(80) {
					p.setOf(sai.ObjectTypeIngressPriorityGroup, group, sai.IngressPriorityGroupAttrBufferProfile,
						p.any(sai.ObjectTypeBufferProfile))
				}
			}
		}
	})
}

func (g *gen) ingressPool() {
	with := []any{sai.BufferPoolAttrType, sai.BufferPoolTypeIngress, sai.BufferPoolAttrSize,
		g.cellsFrom(30) + sai.Uint(g.prof.Buffer.CellBytes)}
	if g.chance(50) {
		with = append(with, sai.BufferPoolAttrXoffSize, g.cellsFrom(12))
	}
	g.create(sai.ObjectTypeBufferPool, with...)
}

func (g *gen) ingressProfile() {
	with := []any{sai.BufferProfileAttrPoolID, g.any(sai.ObjectTypeBufferPool),
		sai.BufferProfileAttrReservedBufferSize, pick(g, 0, g.cellsFrom(6))}
	if g.chance(50) {
		with = append(with, sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
			sai.BufferProfileAttrSharedStaticTh, g.cellsFrom(10))
	} else {
		with = append(with, sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeDynamic,
			sai.BufferProfileAttrSharedDynamicTh, sai.Int(g.IntN(6)-3))
	}
	if g.chance(60) {
		with = append(with, sai.BufferProfileAttrXoffTh, g.cellsFrom(12), sai.BufferProfileAttrXonTh, g.cellsFrom(12),
			sai.BufferProfileAttrXonOffsetTh, g.cellsFrom(3))
	}
	g.create(sai.ObjectTypeBufferProfile, with...)
}

// groupMap makes a map of traffic classes to groups and binds it to ports.
func (g *gen) groupMap() {
	var list sai.QoSMap
	for tc := range uint8(8) {
		list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{TC: tc}, Value: sai.QoSMapParams{PG: uint8(g.IntN(4))}})
	}
	m := g.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeTCToPriorityGroup,
		sai.QoSMapAttrMapToValueList, list)
	for range 3 {
		g.set(sai.ObjectTypePort, sai.PortAttrQoSTCToPriorityGroupMap, m)
	}
}

// flowControlOp sets the priorities of flow control of a port, or a map of them.
func (g *gen) flowControlOp() {
	const port = sai.ObjectTypePort
	switch g.IntN(8) {
	case 0:
		g.set(port, sai.PortAttrPriorityFlowControlMode,
			pick(g, sai.PortPriorityFlowControlModeCombined, sai.PortPriorityFlowControlModeSeparate))
	case 1:
		g.set(port, pick(g, sai.PortAttrPriorityFlowControlTx, sai.PortAttrPriorityFlowControlRx), sai.Uint(g.IntN(256)))
	case 2:
		g.priorityMap(sai.QoSMapTypePfcPriorityToPriorityGroup, sai.PortAttrQoSPfcPriorityToPriorityGroupMap,
			func() sai.QoSMapParams { return sai.QoSMapParams{PG: uint8(g.IntN(4))} })
	case 3:
		g.priorityMap(sai.QoSMapTypePfcPriorityToQueue, sai.PortAttrQoSPfcPriorityToQueueMap,
			func() sai.QoSMapParams { return sai.QoSMapParams{Queue: uint8(g.IntN(int(g.prof.Queues)))} })
	default:
		g.set(port, sai.PortAttrPriorityFlowControl, sai.Uint(pick(g, 0, 0xff, g.IntN(256))))
	}
}

// priorityMap makes a map of the priorities of flow control and binds it to ports.
func (g *gen) priorityMap(t sai.Enum, attr sai.AttrID, value func() sai.QoSMapParams) {
	var list sai.QoSMap
	for i := range uint8(8) {
		list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{Prio: i}, Value: value()})
	}
	m := g.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, t, sai.QoSMapAttrMapToValueList, list)
	for range 2 {
		g.set(sai.ObjectTypePort, attr, m)
	}
}

// pauseFrame returns a frame of flow control. A few pauses are long.
func (p *pair) pauseFrame() []byte {
	r := p.buffers
	b := append([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 1, 1, 0, byte(r.IntN(256))}, zeros[:42]...)
	for i := range 8 {
		n := r.IntN(30)
		switch r.IntN(40) {
		case 0:
			n = r.IntN(65536)
		case 1, 2, 3, 4, 5, 6, 7, 8:
			n = 0
		}
		binary.BigEndian.PutUint16(b[18+2*i:], uint16(n))
	}
	return b[:34+r.IntN(27)]
}

// changeBuffers changes what furnishBuffers makes. The state of groups depends on each change, so the reference gets
// the configuration before it.
func (p *pair) changeBuffers() {
	if p.buffers == nil {
		return
	}
	p.configure()
	p.buffering(func() {
		const profile = sai.ObjectTypeBufferProfile
		switch p.IntN(16) {
		case 0:
			p.ingressPool()
		case 1:
			p.ingressProfile()
		case 2:
			p.groupMap()
		case 3:
			p.set(profile, sai.BufferProfileAttrReservedBufferSize, p.cellsFrom(6))
		case 4:
			p.set(profile, sai.BufferProfileAttrXoffTh, p.cellsFrom(12))
		case 5:
			p.set(profile, sai.BufferProfileAttrSharedStaticTh, p.cellsFrom(10))
		case 6:
			p.set(sai.ObjectTypeBufferPool, sai.BufferPoolAttrXoffSize, pick(&p.gen, 0, p.cellsFrom(12)))
		case 7:
			p.set(sai.ObjectTypeBufferPool, sai.BufferPoolAttrSize, p.cellsFrom(30))
		case 8:
			p.clearBuffers()
		case 9, 10:
			p.flowControlOp()
		default:
			port := p.any(sai.ObjectTypePort)
			for i, group := range p.list(sai.ObjectTypePort, port, sai.PortAttrIngressPriorityGroupList) {
				if i == p.IntN(4) {
					p.setOf(sai.ObjectTypeIngressPriorityGroup, group, sai.IngressPriorityGroupAttrBufferProfile,
						pick(&p.gen, sai.NullOID, p.any(profile), p.any(profile), p.any(profile)))
				}
			}
		}
	})
}

// clearBuffers restarts the watermarks of a group and of a pool in both engines.
func (p *pair) clearBuffers() {
	for _, r := range p.chip.Tables().Ports {
		groups := p.list(sai.ObjectTypePort, sai.OID(r.ID), sai.PortAttrIngressPriorityGroupList)
		i := p.IntN(len(groups))
		if p.clearStats(sai.Obj(sai.ObjectTypeIngressPriorityGroup, groups[i]), sai.IngressPriorityGroupStatWatermarkBytes,
			sai.IngressPriorityGroupStatSharedWatermarkBytes, sai.IngressPriorityGroupStatXoffRoomWatermarkBytes) {
			p.ref.ClearGroup(r.Port, i, true, true, true)
		}
	}
	pools := slices.Clone(p.gen.pool[sai.ObjectTypeBufferPool])
	for _, pool := range pools {
		if index := p.poolIndex(pool); index > 0 && p.clearStats(sai.Obj(sai.ObjectTypeBufferPool, pool),
			sai.BufferPoolStatWatermarkCells, sai.BufferPoolStatXoffRoomWatermarkCells) {
			p.ref.ClearPool(index, false)
			p.ref.ClearPool(index, true)
		}
	}
}

func (p *pair) clearStats(k sai.Key, ids ...sai.StatID) bool {
	return p.chip.ClearStats(context.Background(), k, ids) == nil
}

// poolIndex returns the index of a pool, by the cells that it and no other pool has; otherwise 0.
func (p *pair) poolIndex(pool sai.OID) (index int) {
	got, err := p.chip.Get(context.Background(), sai.Obj(sai.ObjectTypeBufferPool, pool), []sai.Attr{
		sai.Want(sai.BufferPoolAttrSharedSize, 0), sai.Want(sai.BufferPoolAttrType, 0)})
	if err != nil {
		return 0
	}
	for _, r := range p.chip.Tables().Pools {
		if sai.Uint(r.Cells*uint64(p.prof.Buffer.CellBytes)) != got[0].Value ||
			r.Ingress != (got[1].Value == sai.BufferPoolTypeIngress) {
			continue
		}
		if index != 0 {
			return 0
		}
		index = r.Index
	}
	return index
}

// buffersDiffer compares the accounts of all groups and pools.
func (p *pair) buffersDiffer() error {
	for _, id := range p.chip.Ports() {
		if f, r := p.chip.PauseCounts(id), p.ref.PauseCounts(id); f != r {
			return fmt.Errorf("flow control of port %d:\n     fast %+v\nreference %+v", id, f, r)
		}
		for i := range config.PriorityGroups {
			if f, r := p.chip.GroupState(id, i), p.ref.GroupState(id, i); f != r {
				return fmt.Errorf("priority group %d of port %d:\n     fast %+v\nreference %+v", i, id, f, r)
			}
		}
	}
	for _, x := range append([]config.Pool{{}}, p.chip.Tables().Pools...) {
		if f, r := p.chip.PoolState(x.Index), p.ref.PoolState(x.Index); f != r {
			return fmt.Errorf("pool %+v:\n     fast %+v\nreference %+v", x, f, r)
		}
	}
	return nil
}
