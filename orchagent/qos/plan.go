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

// A bind sets an attribute to an object, to a list of objects if all is not nil, or to a value if that is not nil, for
// a row.
type bind struct {
	to, by orch.RowKey
	all    []orch.RowKey
	value  sai.Value
}

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
	case schema.AppDSCPToTC, schema.AppDot1pToTC, schema.AppTCToQueue, schema.AppTCToPG, schema.AppTCToDSCP,
		schema.AppPFCToQueue, schema.AppPFCToPG:
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
		if err == nil && b.Trim && !o.trims {
			err = fmt.Errorf("%s %q: the ASIC cannot trim packets, want drop", schema.FieldDiscardAction, schema.ActionTrim)
		}
		p.object(k, err, profileSpec(b, o.trims))
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
				use{attr: sai.QueueAttrSchedulerProfileID, table: schema.AppScheduler, name: q.Scheduler},
				use{attr: sai.QueueAttrWREDProfileID, table: schema.AppWRED, name: q.WRED})
		}
		return err
	case schema.AppBufferIngress:
		return o.planList(p, k, f, schema.CfgBufferIngress, sai.PortAttrQoSIngressBufferProfileList)
	case schema.AppBufferEgress:
		return o.planList(p, k, f, schema.CfgBufferEgress, sai.PortAttrQoSEgressBufferProfileList)
	case schema.AppBufferPG:
		g, err := schema.ParseBufferPG(key, f)
		if err == nil {
			err = o.planGroups(p, k, g)
		}
		return err
	}
	q, err := schema.ParseBufferQueue(key, f)
	if err == nil {
		err = o.planQueues(p, k, q.QueueKey,
			use{attr: sai.QueueAttrBufferProfileID, table: schema.AppBufferProfile, name: q.Profile})
	}
	return err
}

func (p *plan) object(k orch.RowKey, err error, s spec) {
	if err == nil {
		p.objects[k] = s
	}
}

// A use is an attribute and the row of the object that it is set to, the rows of a list of objects, or the value. An
// empty name without a list or a value means that the attribute keeps its default.
type use struct {
	attr        sai.AttrID
	table, name string
	list        []string
	value       sai.Value
}

// bindAll sets attributes of one port, queue or priority group.
func (p *plan) bindAll(by orch.RowKey, what string, k sai.Key, uses []use) error {
	for _, u := range uses {
		s := attrKey{k, u.attr}
		if u.name == "" && u.list == nil && u.value == nil {
			continue
		}
		if other, taken := p.binds[s]; taken {
			return fmt.Errorf("%s is configured by %s", what, schema.ConfigKey(other.by.Key))
		}
		b := bind{to: orch.Row(u.table, u.name), by: by, value: u.value}
		for _, name := range u.list {
			b.all = append(b.all, orch.Row(u.table, name))
		}
		p.binds[s] = b
	}
	return nil
}

// planList sets the list of buffer profiles of ports.
func (o *Orch) planList(p *plan, k orch.RowKey, f swss.FieldValues, table string, attr sai.AttrID) error {
	b, err := schema.ParseBufferProfiles(table, schema.ConfigKey(k.Key), f)
	if err != nil {
		return err
	}
	return o.planPorts(p, k, b.Ports, use{attr: attr, table: schema.AppBufferProfile, list: b.Profiles})
}

func (o *Orch) planPort(p *plan, k orch.RowKey, m schema.PortQoS) error {
	uses := []use{
		{attr: sai.PortAttrQoSDSCPToTCMap, table: schema.AppDSCPToTC, name: m.DSCPToTC},
		{attr: sai.PortAttrQoSDot1pToTCMap, table: schema.AppDot1pToTC, name: m.Dot1pToTC},
		{attr: sai.PortAttrQoSTCToQueueMap, table: schema.AppTCToQueue, name: m.TCToQueue},
		{attr: sai.PortAttrQoSTCToPriorityGroupMap, table: schema.AppTCToPG, name: m.TCToPG},
		{attr: sai.PortAttrQoSTCAndColorToDSCPMap, table: schema.AppTCToDSCP, name: m.TCToDSCP},
		{attr: sai.PortAttrQoSPfcPriorityToPriorityGroupMap, table: schema.AppPFCToPG, name: m.PFCToPG},
		{attr: sai.PortAttrQoSPfcPriorityToQueueMap, table: schema.AppPFCToQueue, name: m.PFCToQ},
		{attr: sai.PortAttrQoSSchedulerProfileID, table: schema.AppScheduler, name: m.Scheduler},
	}
	if bits := m.PFCBits(); bits != 0 {
		uses = append(uses, use{attr: sai.PortAttrPriorityFlowControl, value: sai.Uint(bits)})
	}
	return o.planPorts(p, k, m.Ports, uses...)
}

// planPorts sets attributes of ports.
func (o *Orch) planPorts(p *plan, k orch.RowKey, ports []string, uses ...use) error {
	var missing error
	for _, name := range ports {
		oid, _, ok := o.ports.Port(name)
		if !ok {
			missing = orch.Wait("port", name, "no port %s", name)
			continue
		}
		if err := p.bindAll(k, name, sai.Obj(sai.ObjectTypePort, oid), uses); err != nil {
			return err
		}
	}
	return missing
}

func (o *Orch) planQueues(p *plan, k orch.RowKey, q schema.QueueKey, uses ...use) error {
	return o.planParts(p, k, q, "queue", func(pq *portQueues) (keys []sai.Key) {
		for _, q := range pq.queues {
			keys = append(keys, sai.Obj(sai.ObjectTypeQueue, q.oid))
		}
		return keys
	}, uses...)
}

func (o *Orch) planGroups(p *plan, k orch.RowKey, g schema.BufferPG) error {
	return o.planParts(p, k, g.QueueKey, "priority group", func(pq *portQueues) (keys []sai.Key) {
		for _, oid := range pq.groups {
			keys = append(keys, sai.Obj(sai.ObjectTypeIngressPriorityGroup, oid))
		}
		return keys
	}, use{attr: sai.IngressPriorityGroupAttrBufferProfile, table: schema.AppBufferProfile, name: g.Profile})
}

// planParts sets attributes of queues or priority groups, which of returns.
func (o *Orch) planParts(
	p *plan, k orch.RowKey, q schema.QueueKey, what string, of func(*portQueues) []sai.Key, uses ...use,
) error {
	var missing error
	for _, name := range q.Ports {
		pq := o.queues[name]
		if err := o.unread[name]; err != nil {
			missing = orch.Wait("port", name, "the %ss of %s could not be read: %s", what, name, orch.Explain(err))
			continue
		}
		if pq == nil {
			missing = orch.Wait("port", name, "no port %s", name)
			continue
		}
		parts := of(pq)
		for _, i := range q.Queues {
			if int(i) >= len(parts) {
				return fmt.Errorf("%s has no %s %d: it has %d, from 0 on", name, what, i, len(parts))
			}
			if err := p.bindAll(k, fmt.Sprintf("%s %d of %s", what, i, name), parts[i], uses); err != nil {
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
	case schema.CfgTCToPG:
		typ = sai.QoSMapTypeTCToPriorityGroup
		entry = func(p schema.QoSPair) sai.QoSMapEntry {
			return sai.QoSMapEntry{Key: sai.QoSMapParams{TC: p.From}, Value: sai.QoSMapParams{PG: p.To}}
		}
	case schema.CfgTCToDSCP:
		typ = sai.QoSMapTypeTCAndColorToDSCP
		entry = func(p schema.QoSPair) sai.QoSMapEntry {
			return sai.QoSMapEntry{Key: sai.QoSMapParams{TC: p.From}, Value: sai.QoSMapParams{DSCP: p.To}}
		}
	case schema.CfgPFCToQueue:
		typ = sai.QoSMapTypePfcPriorityToQueue
		entry = func(p schema.QoSPair) sai.QoSMapEntry {
			return sai.QoSMapEntry{Key: sai.QoSMapParams{Prio: p.From}, Value: sai.QoSMapParams{Queue: p.To}}
		}
	case schema.CfgPFCToPG:
		typ = sai.QoSMapTypePfcPriorityToPriorityGroup
		entry = func(p schema.QoSPair) sai.QoSMapEntry {
			return sai.QoSMapEntry{Key: sai.QoSMapParams{Prio: p.From}, Value: sai.QoSMapParams{PG: p.To}}
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
	var attrs []sai.Attr
	add := func(id sai.AttrID, v sai.Value) { attrs = append(attrs, sai.Attr{ID: id, Value: v}) }
	switch s.Type {
	case schema.SchedulerStrict:
		add(sai.SchedulerAttrSchedulingType, sai.SchedulingTypeStrict)
	case schema.SchedulerDWRR:
		add(sai.SchedulerAttrSchedulingType, sai.SchedulingTypeDwrr)
	default:
		add(sai.SchedulerAttrSchedulingType, sai.SchedulingTypeWrr)
	}
	if s.Type != schema.SchedulerStrict {
		add(sai.SchedulerAttrSchedulingWeight, sai.Uint(s.Weight))
	}
	if s.Packets {
		add(sai.SchedulerAttrMeterType, sai.MeterTypePackets)
	}
	for _, r := range []struct {
		id sai.AttrID
		n  uint64
	}{
		{sai.SchedulerAttrMaxBandwidthRate, s.PIR}, {sai.SchedulerAttrMaxBandwidthBurstRate, s.PBS},
		{sai.SchedulerAttrMinBandwidthRate, s.CIR}, {sai.SchedulerAttrMinBandwidthBurstRate, s.CBS},
	} {
		if r.n > 0 {
			add(r.id, sai.Uint(r.n))
		}
	}
	return spec{typ: sai.ObjectTypeScheduler, attrs: attrs}
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
	switch {
	case b.Both:
		typ = sai.BufferPoolTypeBoth
	case b.Ingress:
		typ = sai.BufferPoolTypeIngress
	}
	if b.Dynamic {
		mode = sai.BufferPoolThresholdModeDynamic
	}
	attrs := []sai.Attr{
		{ID: sai.BufferPoolAttrType, Value: typ},
		{ID: sai.BufferPoolAttrSize, Value: sai.Uint(b.Size)},
		{ID: sai.BufferPoolAttrThresholdMode, Value: mode},
	}
	if b.Xoff > 0 {
		attrs = append(attrs, sai.Attr{ID: sai.BufferPoolAttrXoffSize, Value: sai.Uint(b.Xoff)})
	}
	return spec{typ: sai.ObjectTypeBufferPool, attrs: attrs}
}

// profileSpec returns the object of a profile. trims reports whether the ASIC has the attribute of trimming.
func profileSpec(b schema.BufferProfile, trims bool) spec {
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
	if b.Xoff+b.Xon+b.XonOffset > 0 {
		attrs = append(attrs, sai.Attr{ID: sai.BufferProfileAttrXoffTh, Value: sai.Uint(b.Xoff)},
			sai.Attr{ID: sai.BufferProfileAttrXonTh, Value: sai.Uint(b.Xon)},
			sai.Attr{ID: sai.BufferProfileAttrXonOffsetTh, Value: sai.Uint(b.XonOffset)})
	}
	if trims {
		action := sai.BufferProfilePacketAdmissionFailActionDrop
		if b.Trim {
			action = sai.BufferProfilePacketAdmissionFailActionDropAndTrim
		}
		attrs = append(attrs, sai.Attr{ID: sai.BufferProfileAttrPacketAdmissionFailAction, Value: action})
	}
	return spec{typ: sai.ObjectTypeBufferProfile, attrs: attrs, pool: b.Pool}
}
