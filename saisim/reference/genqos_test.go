package reference_test

import (
	"slices"
	"time"

	"tamtam/sai"
)

// qosOp changes schedulers, WRED, buffers and maps, and which queues and ports use them.
func (g *gen) qosOp() {
	switch g.IntN(12) {
	case 0:
		g.create(sai.ObjectTypeScheduler, sai.SchedulerAttrSchedulingType,
			pick(g, sai.SchedulingTypeStrict, sai.SchedulingTypeDwrr, sai.SchedulingTypeDwrr, sai.SchedulingTypeWrr),
			sai.SchedulerAttrSchedulingWeight, sai.Uint(1+g.IntN(8)))
	case 1:
		least := g.IntN(3000)
		g.create(sai.ObjectTypeWRED, sai.WREDAttrGreenEnable, sai.Bool(true), sai.WREDAttrGreenMinThreshold, sai.Uint(least),
			sai.WREDAttrGreenMaxThreshold, sai.Uint(least+1+g.IntN(6000)), sai.WREDAttrGreenDropProbability,
			sai.Uint(g.IntN(101)),
			sai.WREDAttrECNMarkMode, pick(g, sai.ECNMarkModeNone, sai.ECNMarkModeGreen, sai.ECNMarkModeAll))
	case 2:
		g.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
			sai.BufferPoolAttrSize, sai.Uint(1000+g.IntN(20_000)))
	case 3, 4:
		with := []any{sai.BufferProfileAttrPoolID, g.any(sai.ObjectTypeBufferPool),
			sai.BufferProfileAttrReservedBufferSize, sai.Uint(pick(g, 0, 0, 500, 3000))}
		if g.chance(50) {
			with = append(with, sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
				sai.BufferProfileAttrSharedStaticTh, sai.Uint(g.IntN(8000)))
		} else {
			with = append(with, sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeDynamic,
				sai.BufferProfileAttrSharedDynamicTh, sai.Int(g.IntN(7)-4))
		}
		g.create(sai.ObjectTypeBufferProfile, with...)
	case 5, 6:
		g.mapOp()
	case 7:
		g.removeAny(pick(g, sai.ObjectTypeScheduler, sai.ObjectTypeWRED, sai.ObjectTypeBufferPool,
			sai.ObjectTypeBufferProfile, sai.ObjectTypeQoSMap))
	default:
		port := g.any(sai.ObjectTypePort)
		for _, q := range g.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList) {
			if g.chance(60) {
				continue
			}
			g.setOf(sai.ObjectTypeQueue, q, sai.QueueAttrSchedulerProfileID, g.any(sai.ObjectTypeScheduler))
			g.setOf(sai.ObjectTypeQueue, q, sai.QueueAttrWREDProfileID, g.any(sai.ObjectTypeWRED))
			g.setOf(sai.ObjectTypeQueue, q, sai.QueueAttrBufferProfileID, g.any(sai.ObjectTypeBufferProfile))
		}
	}
}

// marksOf reports, for one case of 17, that ports mirror what they mark: see mirrorMarked. Seeds below 2000 have no
// such case, so that the events that tests count in them stay.
func marksOf(seed uint64) bool { return seed >= 2000 && seed%17 == 4 }

// mirrorMarked makes some ports mark each packet that waits, and mirror what they send to another port. A copy keeps
// the mark of the first queue also where the second queue does not mark.
func (g *gen) mirrorMarked() {
	mark := g.markingWRED()
	for range 3 {
		port := g.any(sai.ObjectTypePort)
		g.setWRED(port, mark)
		g.setOf(sai.ObjectTypePort, port, sai.PortAttrEgressMirrorSession, sai.OIDs{g.create(sai.ObjectTypeMirrorSession,
			sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
			sai.MirrorSessionAttrMonitorPort, g.any(sai.ObjectTypePort))})
	}
}

// markingWRED makes a WRED profile that marks each packet of a queue that was not empty before.
func (g *gen) markingWRED() sai.OID {
	return g.create(sai.ObjectTypeWRED, sai.WREDAttrGreenEnable, sai.Bool(true),
		sai.WREDAttrGreenMinThreshold, sai.Uint(0), sai.WREDAttrGreenMaxThreshold, sai.Uint(1),
		sai.WREDAttrGreenDropProbability, sai.Uint(100), sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll)
}

// setWRED sets the WRED profile of all queues of a port.
func (g *gen) setWRED(port, wred sai.OID) {
	for _, q := range g.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList) {
		g.setOf(sai.ObjectTypeQueue, q, sai.QueueAttrWREDProfileID, wred)
	}
}

// mapOp makes a map and binds it to ports.
func (g *gen) mapOp() {
	var list sai.QoSMap
	attr, typ := sai.PortAttrQoSDSCPToTCMap, sai.QoSMapTypeDSCPToTC
	switch g.IntN(3) {
	case 0:
		for _, dscp := range []uint8{0, 46, 10} {
			list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{DSCP: dscp},
				Value: sai.QoSMapParams{TC: uint8(g.IntN(8))}})
		}
	case 1:
		attr, typ = sai.PortAttrQoSDot1pToTCMap, sai.QoSMapTypeDot1pToTC
		for prio := range uint8(8) {
			list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{Dot1p: prio},
				Value: sai.QoSMapParams{TC: uint8(g.IntN(8))}})
		}
	default:
		attr, typ = sai.PortAttrQoSTCToQueueMap, sai.QoSMapTypeTCToQueue
		for tc := range uint8(8) {
			list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{TC: tc},
				Value: sai.QoSMapParams{Queue: uint8(g.IntN(int(g.prof.Queues)))}})
		}
	}
	m := g.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, typ, sai.QoSMapAttrMapToValueList, list)
	for range 3 {
		g.set(sai.ObjectTypePort, attr, m)
	}
	g.set(sai.ObjectTypePort, sai.PortAttrQoSDefaultTC, sai.Uint(g.IntN(4)))
}

// A clockSetting is the clock configuration of both engines.
type clockSetting struct {
	drift, rate  int64
	synchronised bool
}

// clockOp steps the time of day, or changes its rate.
func (p *pair) clockOp() error {
	p.saw["changes of the clock"]++
	step, k := time.Duration(0), &p.clock
	var err error
	switch p.IntN(4) {
	case 0:
		step = time.Duration(p.Int64N(4e9) - 2e9)
		err = p.chip.StepClock(step)
	case 1:
		k.drift = p.Int64N(2e6) - 1e6
		err = p.chip.SetClockDrift(k.drift)
	case 2:
		k.rate = pick(&p.gen, 0, p.Int64N(2e6)-1e6, 100_000_000, -100_000_000)
		err = p.chip.SetClockRate(k.rate)
	default:
		k.synchronised = p.chance(50)
		p.chip.SetClockSynchronised(k.synchronised)
	}
	p.ref.ChangeClock(step, k.drift, k.rate, k.synchronised)
	return err
}

// queueDiffers reports whether the state of a queue differs.
func (p *pair) queueDiffers() bool {
	ids := p.chip.Ports()
	if len(ids) == 0 {
		return false
	}
	slices.Sort(ids)
	id, q := pick(&p.gen, ids...), p.IntN(int(p.prof.Queues))
	f, _ := p.chip.QueueState(id, q)
	r, ok := p.ref.QueueState(id, q)
	return !ok || f != r
}
