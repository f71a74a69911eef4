package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/tm"
)

// Bursts of a queue are SAI's event SAI_TAM_EVENT_TYPE_QUEUE_THRESHOLD. A TAM object for queues has one such event. The
// threshold of the event has the unit bytes: a burst begins at HIGH_WATERMARK and ends below LOW_WATERMARK. The event
// has no action and no collector, because the records are read by the extension tamtam.bursts.

// ofQueues reports whether a TAM object is for queues.
func (o *object) ofQueues() bool {
	points, _ := o.attr(sai.TAMAttrTAMBindPointTypeList).(sai.Enums)
	return slices.Contains(points, sai.TAMBindPointTypeQueue)
}

// inBytes reports whether a threshold is one of queues.
func (o *object) inBytes() bool {
	return o.enum(sai.TAMEventThresholdAttrUnit) == sai.TAMEventThresholdUnitBytes
}

// burstLimits returns the limits in a threshold in bytes.
func (o *object) burstLimits() tm.BurstLimits {
	return tm.BurstLimits{
		High: o.number(sai.TAMEventThresholdAttrHighWatermark), Low: o.number(sai.TAMEventThresholdAttrLowWatermark),
	}
}

func (o *object) checkBurstLimits() error {
	if n := o.number(sai.TAMEventThresholdAttrAbsValue); n != 0 {
		return badValue(sai.TAMEventThresholdAttrAbsValue, sai.StatusNotSupported,
			"%d bytes, want HIGH_WATERMARK and LOW_WATERMARK", n)
	}
	if l := o.burstLimits(); l.Low < 1 || l.Low > l.High {
		return badValue(sai.TAMEventThresholdAttrLowWatermark, sai.StatusInvalidParameter,
			"%d bytes, want 1 to HIGH_WATERMARK, %d", l.Low, l.High)
	}
	return nil
}

// checkBurstEvent rejects an event of a queue's threshold that the chip does not support.
func (ms *monitors) checkBurstEvent(o *object) error {
	for _, id := range []sai.AttrID{sai.TAMEventAttrActionList, sai.TAMEventAttrCollectorList} {
		if oids, _ := o.attr(id).(sai.OIDs); len(oids) > 0 {
			return badValue(id, sai.StatusNotSupported, "%d objects, want none: records of bursts are read", len(oids))
		}
	}
	x := ms.objects[o.ref(sai.TAMEventAttrThreshold)]
	if x == nil || !x.inBytes() {
		return badValue(sai.TAMEventAttrThreshold, sai.StatusInvalidParameter,
			"want a threshold of SAI_TAM_EVENT_THRESHOLD_UNIT_BYTES for SAI_TAM_EVENT_TYPE_QUEUE_THRESHOLD")
	}
	return nil
}

// checkTAM rejects a TAM object with events for other bind points.
func (ms *monitors) checkTAM(o *object) error {
	points, _ := o.attr(sai.TAMAttrTAMBindPointTypeList).(sai.Enums)
	if o.ofQueues() && len(points) > 1 {
		return badValue(sai.TAMAttrTAMBindPointTypeList, sai.StatusNotSupported,
			"%d bind points, want no other with SAI_TAM_BIND_POINT_TYPE_QUEUE", len(points))
	}
	events, _ := o.attr(sai.TAMAttrEventObjectsList).(sai.OIDs)
	if o.ofQueues() && len(events) > 1 {
		return badValue(sai.TAMAttrEventObjectsList, sai.StatusNotSupported, "%d events, want at most one for queues",
			len(events))
	}
	for _, oid := range events {
		is := ms.objects[oid].enum(sai.TAMEventAttrType)
		if (is == sai.TAMEventTypeQueueThreshold) != o.ofQueues() {
			return badValue(sai.TAMAttrEventObjectsList, sai.StatusNotSupported,
				"%s of %s, want SAI_TAM_EVENT_TYPE_QUEUE_THRESHOLD at the bind point SAI_TAM_BIND_POINT_TYPE_QUEUE only", oid,
				sai.EnumName(sai.TAMEventAttrType, is))
		}
	}
	return nil
}

// putBursts puts the rows of all ports again, with a new attribute of an object on which limits of queues may depend.
func (ms *monitors) putBursts(o *object, a sai.Attr) error {
	was := o.attrs
	o.attrs = o.with(a).attrs
	if row := ms.kinds[o.key.Type].row; row != nil {
		if _, err := row(o); err != nil {
			o.attrs = was
			return err
		}
	}
	ms.ports.putPorts()
	return nil
}

// checkQueueTAM rejects TAM objects of other bind points at a queue, and several.
func (ps *ports) checkQueueTAM(o *object) error {
	const id = sai.QueueAttrTAMObject
	oids, _ := o.attr(id).(sai.OIDs)
	if len(oids) > 1 {
		return badValue(id, sai.StatusNotSupported, "%d objects, want at most one", len(oids))
	}
	for _, oid := range oids {
		if !ps.objects[oid].ofQueues() {
			return badValue(id, sai.StatusInvalidParameter, "%s was not made to be bound to SAI_TAM_BIND_POINT_TYPE_QUEUE", oid)
		}
	}
	return nil
}

// burstLimits returns the limits of a queue, by its TAM object.
func (ps *ports) burstLimits(q *queue) (l tm.BurstLimits) {
	for _, tam := range q.tams {
		events, _ := ps.objects[tam].attr(sai.TAMAttrEventObjectsList).(sai.OIDs)
		for _, event := range events {
			l = ps.objects[ps.objects[event].ref(sai.TAMEventAttrThreshold)].burstLimits()
		}
	}
	return l
}
