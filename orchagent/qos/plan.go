package qos

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A spec is an object that a row requests. If pool is not empty, the first attribute is the id of that pool.
type spec struct {
	typ   sai.ObjectType
	attrs []sai.Attr
	pool  string
}

// A bind sets an attribute to an object, for a row.
type bind struct{ to, by orch.RowKey }

// A plan is the target state of the ASIC.
type plan struct {
	objects map[orch.RowKey]spec
	binds   map[attrKey]bind
}

// plan computes the target state, and records the reason for each row that is not in it. A row that the ASIC has
// refused permanently is not in it, so that the result does not depend on its previous version.
func (o *Orch) plan() *plan {
	p := &plan{objects: map[orch.RowKey]spec{}, binds: map[attrKey]bind{}}
	l := o.ledger
	for _, table := range tables {
		for _, key := range l.Keys(table.Name) {
			k := orch.Row(table.Name, key)
			if !o.applied {
				l.Why[k] = orch.WaitView()
			}
			if l.Refused(k) || !o.applied {
				continue
			}
			if err := o.planRow(p, k, l.Rows[k]); err != nil {
				l.Why[k] = err
			}
		}
	}
	return p
}

// planRow adds the object or the bindings of a row to the plan, or returns why it cannot.
func (o *Orch) planRow(p *plan, k orch.RowKey, f swss.FieldValues) error {
	key := schema.ConfigKey(k.Key)
	switch k.Table {
	case schema.AppDSCPToTC, schema.AppDot1pToTC, schema.AppTCToQueue:
		m, err := schema.ParseQoSMap(strings.TrimSuffix(k.Table, "_TABLE"), key, f)
		p.object(k, err, mapSpec(m))
		return err
	case schema.AppScheduler:
		s, err := schema.ParseScheduler(key, f)
		p.object(k, err, schedulerSpec(s))
		return err
	case schema.AppWRED:
		w, err := schema.ParseWRED(key, f)
		p.object(k, err, wredSpec(w))
		return err
	case schema.AppBufferPool:
		b, err := schema.ParseBufferPool(key, f)
		p.object(k, err, poolSpec(b))
		return err
	case schema.AppBufferProfile:
		b, err := schema.ParseBufferProfile(key, f)
		p.object(k, err, profileSpec(b))
		return err
	case schema.AppPortQoS:
		m, err := schema.ParsePortQoS(key, f)
		if err == nil {
			err = o.planPort(p, k, m)
		}
		return err
	case schema.AppQueue:
		q, err := schema.ParseQueue(key, f)
		if err == nil {
			err = o.planQueues(p, k, q.QueueKey,
				use{sai.QueueAttrSchedulerProfileID, schema.AppScheduler, q.Scheduler},
				use{sai.QueueAttrWREDProfileID, schema.AppWRED, q.WRED})
		}
		return err
	}
	q, err := schema.ParseBufferQueue(key, f)
	if err == nil {
		err = o.planQueues(p, k, q.QueueKey, use{sai.QueueAttrBufferProfileID, schema.AppBufferProfile, q.Profile})
	}
	return err
}

func (p *plan) object(k orch.RowKey, err error, s spec) {
	if err == nil {
		p.objects[k] = s
	}
}

// A use is an attribute and the row of the object that it is set to. An empty name means no object.
type use struct {
	attr        sai.AttrID
	table, name string
}

// bindAll sets attributes of one port or queue to objects.
func (p *plan) bindAll(by orch.RowKey, what string, k sai.Key, uses []use) error {
	for _, u := range uses {
		s := attrKey{k, u.attr}
		if u.name == "" {
			continue
		}
		if other, taken := p.binds[s]; taken {
			return fmt.Errorf("%s is configured by %s", what, schema.ConfigKey(other.by.Key))
		}
		p.binds[s] = bind{to: orch.Row(u.table, u.name), by: by}
	}
	return nil
}

func (o *Orch) planPort(p *plan, k orch.RowKey, m schema.PortQoS) error {
	var missing error
	for _, name := range m.Ports {
		oid, _, ok := o.ports.Port(name)
		if !ok {
			missing = orch.Wait("port", name, "no port %s", name)
			continue
		}
		err := p.bindAll(k, name, sai.Obj(sai.ObjectTypePort, oid), []use{
			{sai.PortAttrQoSDSCPToTCMap, schema.AppDSCPToTC, m.DSCPToTC},
			{sai.PortAttrQoSDot1pToTCMap, schema.AppDot1pToTC, m.Dot1pToTC},
			{sai.PortAttrQoSTCToQueueMap, schema.AppTCToQueue, m.TCToQueue},
		})
		if err != nil {
			return err
		}
	}
	return missing
}

func (o *Orch) planQueues(p *plan, k orch.RowKey, q schema.QueueKey, uses ...use) error {
	var missing error
	for _, name := range q.Ports {
		pq := o.queues[name]
		if err := o.unread[name]; err != nil {
			missing = orch.Wait("port", name, "the queues of %s could not be read: %s", name, orch.Explain(err))
			continue
		}
		if pq == nil {
			missing = orch.Wait("port", name, "no port %s", name)
			continue
		}
		for _, i := range q.Queues {
			if int(i) >= len(pq.queues) {
				return fmt.Errorf("%s has no queue %d: it has %d, from 0 on", name, i, len(pq.queues))
			}
			err := p.bindAll(k, fmt.Sprintf("queue %d of %s", i, name), sai.Obj(sai.ObjectTypeQueue, pq.queues[i].oid), uses)
			if err != nil {
				return err
			}
		}
	}
	return missing
}

func mapSpec(m schema.QoSMap) spec {
	typ := sai.QoSMapTypeDSCPToTC
	entry := func(p schema.QoSPair) sai.QoSMapEntry {
		return sai.QoSMapEntry{Key: sai.QoSMapParams{DSCP: p.From}, Value: sai.QoSMapParams{TC: p.To}}
	}
	switch m.Table {
	case schema.CfgDot1pToTC:
		typ = sai.QoSMapTypeDot1pToTC
		entry = func(p schema.QoSPair) sai.QoSMapEntry {
			return sai.QoSMapEntry{Key: sai.QoSMapParams{Dot1p: p.From}, Value: sai.QoSMapParams{TC: p.To}}
		}
	case schema.CfgTCToQueue:
		typ = sai.QoSMapTypeTCToQueue
		entry = func(p schema.QoSPair) sai.QoSMapEntry {
			return sai.QoSMapEntry{Key: sai.QoSMapParams{TC: p.From}, Value: sai.QoSMapParams{Queue: p.To}}
		}
	}
	list := sai.QoSMap{}
	for _, p := range m.Pairs {
		list = append(list, entry(p))
	}
	return spec{typ: sai.ObjectTypeQoSMap, attrs: []sai.Attr{
		{ID: sai.QoSMapAttrType, Value: typ},
		{ID: sai.QoSMapAttrMapToValueList, Value: list},
	}}
}

func schedulerSpec(s schema.Scheduler) spec {
	if s.Type == schema.SchedulerStrict {
		strict := sai.Attr{ID: sai.SchedulerAttrSchedulingType, Value: sai.SchedulingTypeStrict}
		return spec{typ: sai.ObjectTypeScheduler, attrs: []sai.Attr{strict}}
	}
	typ := sai.SchedulingTypeWrr
	if s.Type == schema.SchedulerDWRR {
		typ = sai.SchedulingTypeDwrr
	}
	return spec{typ: sai.ObjectTypeScheduler, attrs: []sai.Attr{
		{ID: sai.SchedulerAttrSchedulingType, Value: typ},
		{ID: sai.SchedulerAttrSchedulingWeight, Value: sai.Uint(s.Weight)},
	}}
}

func wredSpec(w schema.WRED) spec {
	mode := sai.ECNMarkModeNone
	if w.ECN {
		mode = sai.ECNMarkModeAll
	}
	return spec{typ: sai.ObjectTypeWRED, attrs: []sai.Attr{
		{ID: sai.WREDAttrGreenEnable, Value: sai.Bool(w.Drop)},
		{ID: sai.WREDAttrGreenMinThreshold, Value: sai.Uint(w.Min)},
		{ID: sai.WREDAttrGreenMaxThreshold, Value: sai.Uint(w.Max)},
		{ID: sai.WREDAttrGreenDropProbability, Value: sai.Uint(w.Probability)},
		{ID: sai.WREDAttrECNMarkMode, Value: mode},
	}}
}

func poolSpec(b schema.BufferPool) spec {
	typ, mode := sai.BufferPoolTypeEgress, sai.BufferPoolThresholdModeStatic
	if b.Both {
		typ = sai.BufferPoolTypeBoth
	}
	if b.Dynamic {
		mode = sai.BufferPoolThresholdModeDynamic
	}
	return spec{typ: sai.ObjectTypeBufferPool, attrs: []sai.Attr{
		{ID: sai.BufferPoolAttrType, Value: typ},
		{ID: sai.BufferPoolAttrSize, Value: sai.Uint(b.Size)},
		{ID: sai.BufferPoolAttrThresholdMode, Value: mode},
	}}
}

func profileSpec(b schema.BufferProfile) spec {
	attrs := []sai.Attr{
		{ID: sai.BufferProfileAttrReservedBufferSize, Value: sai.Uint(b.Reserved)},
		{ID: sai.BufferProfileAttrThresholdMode, Value: sai.BufferProfileThresholdModeStatic},
		{ID: sai.BufferProfileAttrSharedStaticTh, Value: sai.Uint(b.Static)},
	}
	if b.Dynamic {
		attrs = slices.Replace(attrs, 1, 3,
			sai.Attr{ID: sai.BufferProfileAttrThresholdMode, Value: sai.BufferProfileThresholdModeDynamic},
			sai.Attr{ID: sai.BufferProfileAttrSharedDynamicTh, Value: sai.Int(b.Alpha)})
	}
	return spec{typ: sai.ObjectTypeBufferProfile, attrs: attrs, pool: b.Pool}
}
