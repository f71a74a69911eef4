package reference_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/engine"
)

// isBursty reports whether bursts of queues are recorded in the case of a seed. No test used such seeds before.
func isBursty(seed uint64) bool {
	return seed >= 1_007_740_000 && (seed < 1_007_780_000 || seed%7 == 4)
}

// burstCases are such cases of the gate.
var burstCases = []randtest.Cases{{Seed: 1_007_740_000, Count: 20}}

func burstsOf(seed uint64) *rand.Rand {
	if isBursty(seed) {
		return rand.New(rand.NewPCG(seed, 21))
	}
	return nil
}

// A burster gives queues limits. Its objects are in no pool, so that no other operation changes them.
type burster struct {
	bursts           *rand.Rand // nil means that no queue has limits
	thresholds, tams []sai.OID
	read             uint64 // position of the first burst that was not compared
}

// bursting runs do with random numbers for bursts, if there are any.
func (p *pair) bursting(do func()) {
	if p.bursts == nil {
		return
	}
	was := p.Rand
	p.Rand = p.bursts
	do()
	p.Rand = was
}

// make makes an object. It returns the null object if the chip has no room, because events of drop monitors have it.
func (p *pair) make(t sai.ObjectType, pairs ...any) sai.OID {
	oid, err := p.chip.Create(context.Background(), t, attrs(pairs...))
	if status, _ := sai.StatusOf(err); err != nil && status != sai.StatusInsufficientResources {
		panic(err)
	}
	return oid
}

// limits returns random limits in bytes. Small ones are as small as a frame.
func (p *pair) limits() (high, low sai.Uint) {
	h := 1 + p.Uint64N(pick[uint64](&p.gen, 100, 1500, 6000, 20_000))
	return sai.Uint(h), sai.Uint(1 + p.Uint64N(h))
}

// furnishBursts makes limits and gives them to most queues.
func (p *pair) furnishBursts() {
	p.bursting(func() {
		for range 4 {
			high, low := p.limits()
			th := p.make(sai.ObjectTypeTAMEventThreshold, sai.TAMEventThresholdAttrUnit, sai.TAMEventThresholdUnitBytes,
				sai.TAMEventThresholdAttrHighWatermark, high, sai.TAMEventThresholdAttrLowWatermark, low)
			event := p.make(sai.ObjectTypeTAMEvent, sai.TAMEventAttrType, sai.TAMEventTypeQueueThreshold,
				sai.TAMEventAttrActionList, sai.OIDs{}, sai.TAMEventAttrCollectorList, sai.OIDs{},
				sai.TAMEventAttrThreshold, th)
			if event == 0 {
				break
			}
			p.thresholds = append(p.thresholds, th)
			p.tams = append(p.tams, p.make(sai.ObjectTypeTAM, sai.TAMAttrEventObjectsList, sai.OIDs{event},
				sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeQueue}))
		}
		for _, port := range p.pool[sai.ObjectTypePort] {
			for _, queue := range p.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList) {
				if len(p.tams) > 0 && p.chance(80) {
					p.limitQueue(queue)
				}
			}
		}
	})
}

func (p *pair) limitQueue(queue sai.OID) {
	to := sai.OIDs{}
	if p.chance(85) {
		to = sai.OIDs{p.tams[p.IntN(len(p.tams))]}
	}
	p.setOf(sai.ObjectTypeQueue, queue, sai.QueueAttrTAMObject, to)
}

// changeBursts changes limits, or gives queues other ones. An open burst ends with each change, so the reference gets
// the configuration before it.
func (p *pair) changeBursts() {
	if p.bursts == nil || len(p.tams) == 0 {
		return
	}
	p.configure()
	p.bursting(func() {
		switch p.IntN(4) {
		case 0:
			high, low := p.limits()
			th := p.thresholds[p.IntN(len(p.thresholds))]
			p.setOf(sai.ObjectTypeTAMEventThreshold, th, sai.TAMEventThresholdAttrLowWatermark, sai.Uint(1))
			p.configure()
			p.setOf(sai.ObjectTypeTAMEventThreshold, th, sai.TAMEventThresholdAttrHighWatermark, high)
			p.configure()
			p.setOf(sai.ObjectTypeTAMEventThreshold, th, sai.TAMEventThresholdAttrLowWatermark, low)
		case 1, 2:
			if queues := p.list(sai.ObjectTypePort, p.any(sai.ObjectTypePort), sai.PortAttrQoSQueueList); len(queues) > 0 {
				p.limitQueue(queues[p.IntN(len(queues))])
				p.configure()
				p.limitQueue(queues[0])
			}
		}
	})
}

// burstsDiffer compares the bursts that have ended since the last call, and all open ones.
func (p *pair) burstsDiffer() error {
	ended, open := p.ref.Bursts()
	f := p.chip.Bursts(p.read, engine.MaxBursts)
	if f.Ended != uint64(len(ended)) {
		return fmt.Errorf("%d bursts have ended, the reference has %d", f.Ended, len(ended))
	}
	if lost := max(p.read+engine.MaxBursts, f.Ended) - engine.MaxBursts - p.read; f.First != p.read+lost {
		return fmt.Errorf("the first burst is %d, want %d after %d", f.First, p.read+lost, p.read)
	}
	if len(f.List) != int(f.Ended-f.First) {
		return fmt.Errorf("%d bursts, want %d", len(f.List), f.Ended-f.First)
	}
	if f.First > p.read {
		p.saw["burst: lost"]++
	}
	for i, b := range byEnd(f.List) {
		if r := byEnd(ended[f.First:])[i]; !reflect.DeepEqual(b, r) {
			return fmt.Errorf("burst %d:\n     fast %+v\nreference %+v", i, b, r)
		}
		p.seeBurst(b)
	}
	if len(f.Open) != len(open) {
		return fmt.Errorf("%d bursts are open, in the reference %d", len(f.Open), len(open))
	}
	for i, b := range byEnd(f.Open) {
		if r := byEnd(open)[i]; !reflect.DeepEqual(b, r) {
			return fmt.Errorf("open burst %d:\n     fast %+v\nreference %+v", i, b, r)
		}
		p.saw["burst: open"]++
	}
	p.read = f.Ended
	return nil
}

// byEnd returns bursts in an order that does not depend on the order of ends in the same cycle.
func byEnd(all []saisim.Burst) []saisim.Burst {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y saisim.Burst) int {
		return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Queue, y.Queue),
			cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.Index, y.Index))
	})
	return all
}

// seeBurst counts what a burst shows.
func (p *pair) seeBurst(b saisim.Burst) {
	p.saw["burst: ended"]++
	for what, is := range map[string]bool{
		"cut": b.Cut, "of no cycle": b.Begin == b.End, "with a later peak": b.PeakAt > b.Begin, "with drops": b.Dropped > 0,
		"of several flows": len(b.Flows) > 1, "of more flows than the table has": b.Rest > 0,
		"of frames that are not IP": len(b.Flows) > 0 && !b.Flows[0].Src.IsValid(),
		"of packets that stood":     b.Packets > 0 && b.Standing < b.Bytes,
	} {
		if is {
			p.saw["burst: "+what]++
		}
	}
}
