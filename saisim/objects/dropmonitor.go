package objects

import (
	"maps"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

// monitors is the area of the objects for drop reports: TAM, its events, and the destinations and formats of reports.
type monitors struct {
	*core
	ports *ports                    // ports whose rows are put again after a change of thresholds of queues
	used  [config.MaxTAMEvents]bool // by index of an event
	// The rows of these objects also depend on other objects.
	collectors, events, ints map[sai.OID]*object
}

func newMonitors(c *core, ps *ports) *monitors {
	return &monitors{
		core: c, ports: ps, collectors: map[sai.OID]*object{}, events: map[sai.OID]*object{}, ints: map[sai.OID]*object{},
	}
}

// A tamIndex is the state that the store keeps for a TAM_EVENT object: its bit in the sets of events.
type tamIndex int

// maxTAMs is the maximum number of objects that only hold settings for others.
const maxTAMs = 64

func (ms *monitors) tamKind() *kind {
	return &kind{
		max: maxTAMs,
		attrs: []sai.AttrID{
			sai.TAMAttrEventObjectsList, sai.TAMAttrIntObjectsList, sai.TAMAttrTAMBindPointTypeList,
			sai.TAMAttrTelemetryObjectsList,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMAttrTAMBindPointTypeList: {
				sai.TAMBindPointTypePort, sai.TAMBindPointTypeSwitch, sai.TAMBindPointTypeQueue,
			},
		},
		check: ms.checkTAM,
		set:   ms.putBursts,
		row: func(o *object) (config.Row, error) {
			r := config.TAM{ID: o.id()}
			if !o.ofQueues() {
				r.Events = o.refIDs(sai.TAMAttrEventObjectsList)
			}
			return r, ms.tamInts(o, &r)
		},
	}
}

func (ms *monitors) eventKind() *kind {
	return &kind{
		max: config.MaxTAMEvents,
		attrs: []sai.AttrID{
			sai.TAMEventAttrType, sai.TAMEventAttrActionList, sai.TAMEventAttrCollectorList, sai.TAMEventAttrThreshold,
			sai.TAMEventAttrDSCPValue,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMEventAttrType: {sai.TAMEventTypePacketDrop, sai.TAMEventTypeQueueThreshold},
		},
		set: ms.putBursts,
		create: func(o *object) error {
			o.self = tamIndex(slices.Index(ms.used[:], false)) // max ensures that an index is free
			return nil
		},
		row: ms.eventRow,
		made: func(o *object) {
			ms.used[o.self.(tamIndex)], ms.events[o.key.OID] = true, o
		},
		gone: func(o *object) {
			ms.used[o.self.(tamIndex)] = false
			delete(ms.events, o.key.OID)
		},
	}
}

func (ms *monitors) eventRow(o *object) (config.Row, error) {
	if o.enum(sai.TAMEventAttrType) == sai.TAMEventTypeQueueThreshold {
		return nil, ms.checkBurstEvent(o)
	}
	actions, _ := o.attr(sai.TAMEventAttrActionList).(sai.OIDs)
	collectors, _ := o.attr(sai.TAMEventAttrCollectorList).(sai.OIDs)
	if len(actions) != 1 {
		return nil, badValue(sai.TAMEventAttrActionList, sai.StatusNotSupported,
			"%d actions, the chip has one for an event", len(actions))
	}
	if n := len(collectors); n < 1 || n > config.MaxEventCollectors {
		return nil, badValue(sai.TAMEventAttrCollectorList, sai.StatusNotSupported,
			"%d collectors, want 1 to %d", n, config.MaxEventCollectors)
	}
	for i, oid := range collectors {
		if slices.Contains(collectors[:i], oid) {
			return nil, badValue(sai.TAMEventAttrCollectorList, sai.StatusInvalidParameter, "%s is there twice", oid)
		}
	}
	if err := ms.checkCollectors(sai.TAMEventAttrCollectorList, configIDs(collectors)); err != nil {
		return nil, err
	}
	r := config.TAMEvent{
		ID: o.id(), Index: int(o.self.(tamIndex)), Collectors: configIDs(collectors),
		DSCP: uint8(o.number(sai.TAMEventAttrDSCPValue)),
	}
	if err := o.within(bound{id: sai.TAMEventAttrDSCPValue, what: "DSCP ", most: 63}); err != nil {
		return nil, err
	}
	err := ms.addReport(&r, sai.TAMEventAttrActionList,
		ms.objects[ms.objects[actions[0]].ref(sai.TAMEventActionAttrReportType)])
	if err != nil {
		return nil, err
	}
	if x := ms.objects[o.ref(sai.TAMEventAttrThreshold)]; x != nil {
		if x.inBytes() {
			return nil, badValue(sai.TAMEventAttrThreshold, sai.StatusInvalidParameter,
				"threshold %s is in bytes, want an interval", x.key.OID)
		}
		r.Aging = x.aging()
	}
	return r, nil
}

// addReport adds the report settings of an event. id is the attribute that leads to the report x.
func (ms *monitors) addReport(r *config.TAMEvent, id sai.AttrID, x *object) error {
	n := x.number
	if x.enum(sai.TAMReportAttrReportMode) == sai.TAMReportModeBulk {
		return badValue(id, sai.StatusNotSupported, "report %s is of SAI_TAM_REPORT_MODE_BULK, which is for streams of "+
			"statistics; want ALL or SAMPLING", x.key.OID)
	}
	if x.enum(sai.TAMReportAttrType) == sai.TAMReportTypeVendorExtn {
		r.Layout = config.ReportFixed
	}
	r.Enterprise = uint32(n(sai.TAMReportAttrEnterpriseNumber))
	r.Templates = time.Duration(n(sai.TAMReportAttrTemplateReportInterval)) * time.Second
	if x.enum(sai.TAMReportAttrReportMode) == sai.TAMReportModeSampling {
		r.Sample = uint32(n(sai.TAMReportAttrSampleRate))
	} else if r.Rate = n(sai.TAMReportAttrMaxReportRate); r.Rate > 0 {
		r.Burst = max(n(sai.TAMReportAttrMaxReportBurst), 1)
	}
	return nil
}

func (ms *monitors) actionKind() *kind {
	return &kind{
		max:   maxTAMs,
		attrs: []sai.AttrID{sai.TAMEventActionAttrReportType},
		set:   ms.putEvents,
	}
}

func (ms *monitors) thresholdKind() *kind {
	const unit, value = sai.TAMEventThresholdAttrUnit, sai.TAMEventThresholdAttrAbsValue
	const high, low = sai.TAMEventThresholdAttrHighWatermark, sai.TAMEventThresholdAttrLowWatermark
	return &kind{
		max:   maxTAMs,
		attrs: []sai.AttrID{unit, value, high, low},
		enums: map[sai.AttrID][]sai.Enum{
			unit: {sai.TAMEventThresholdUnitNanosec, sai.TAMEventThresholdUnitUsec, sai.TAMEventThresholdUnitMsec,
				sai.TAMEventThresholdUnitBytes},
		},
		check: func(o *object) error {
			if o.inBytes() {
				return o.checkBurstLimits()
			}
			for _, id := range []sai.AttrID{high, low} {
				if o.attr(id) != sai.Meta(id).Default {
					return badValue(id, sai.StatusNotSupported, "it is for thresholds in bytes")
				}
			}
			if d := o.aging(); d < config.MinAging || d > config.MaxAging {
				return badValue(value, sai.StatusInvalidParameter, "an interval of %v, want %v to %v",
					d, config.MinAging, config.MaxAging)
			}
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			was := o.attrs
			err := ms.putEvents(o, a)
			if err == nil {
				err = ms.putBursts(o, a)
			}
			if err != nil {
				o.attrs = was
			}
			return err
		},
	}
}

// aging returns the interval that a threshold contains.
func (o *object) aging() time.Duration {
	unit := map[sai.Value]time.Duration{
		sai.TAMEventThresholdUnitNanosec: time.Nanosecond, sai.TAMEventThresholdUnitUsec: time.Microsecond,
		sai.TAMEventThresholdUnitMsec: time.Millisecond,
	}
	return time.Duration(o.number(sai.TAMEventThresholdAttrAbsValue)) * unit[o.enum(sai.TAMEventThresholdAttrUnit)]
}

func (ms *monitors) reportKind() *kind {
	return &kind{
		max: maxTAMs,
		attrs: []sai.AttrID{
			sai.TAMReportAttrType, sai.TAMReportAttrReportMode, sai.TAMReportAttrEnterpriseNumber,
			sai.TAMReportAttrTemplateReportInterval, sai.TAMReportAttrSampleRate, sai.TAMReportAttrMaxReportRate,
			sai.TAMReportAttrMaxReportBurst, sai.TAMReportAttrReportInterval, sai.TAMReportAttrReportIntervalUnit,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMReportAttrType:       {sai.TAMReportTypeIPFIX, sai.TAMReportTypeVendorExtn},
			sai.TAMReportAttrReportMode: {sai.TAMReportModeAll, sai.TAMReportModeSampling, sai.TAMReportModeBulk},
		},
		check: func(o *object) error {
			if o.enum(sai.TAMReportAttrReportMode) == sai.TAMReportModeBulk {
				return checkInterval(o, ms.prof.ClockHz)
			}
			return o.withinIfSet(
				bound{id: sai.TAMReportAttrTemplateReportInterval, least: 1, most: 1<<32 - 1},
				bound{id: sai.TAMReportAttrSampleRate, least: 1, most: 1<<32 - 1},
				bound{id: sai.TAMReportAttrMaxReportBurst, most: engine.MaxBurst(ms.prof.ClockHz)},
			)
		},
		set: func(o *object, a sai.Attr) error {
			was := o.attrs
			err := ms.putEvents(o, a)
			if err == nil {
				err = ms.putInts(o, a)
			}
			if err != nil {
				o.attrs = was
			}
			return err
		},
	}
}

// putEvents puts the rows of all events again, with a new attribute of an object that they may use.
func (ms *monitors) putEvents(o *object, a sai.Attr) error {
	return ms.again(o, a, ms.events, ms.eventRow)
}

// putInts does the same as putEvents, for the objects of IFA.
func (ms *monitors) putInts(o *object, a sai.Attr) error {
	return ms.again(o, a, ms.ints, ms.tamIntRow)
}

// again puts the rows of users again, which may depend on object o, with a new attribute of o.
func (ms *monitors) again(o *object, a sai.Attr, users map[sai.OID]*object,
	row func(*object) (config.Row, error)) error {
	was := o.attrs
	o.attrs = o.with(a).attrs
	for _, oid := range slices.Sorted(maps.Keys(users)) {
		r, err := row(users[oid])
		if err != nil {
			o.attrs = was
			return err
		}
		ms.put(r)
	}
	return nil
}

// checkTAMs rejects TAM objects that were created for other bind points.
func (c *core) checkTAMs(o *object, id sai.AttrID, point sai.Enum) error {
	oids, _ := o.attr(id).(sai.OIDs)
	for _, oid := range oids {
		points, _ := c.objects[oid].attr(sai.TAMAttrTAMBindPointTypeList).(sai.Enums)
		if len(points) > 0 && !slices.Contains(points, point) {
			return badValue(id, sai.StatusInvalidParameter, "%s was not made to be bound to %s", oid,
				sai.EnumName(sai.TAMAttrTAMBindPointTypeList, point))
		}
	}
	return nil
}

// tamInts applies the TAM INT objects of a TAM object. An object of direct export sets the domain of reports. An object
// of IFA makes the switch that it is bound to a transit node.
func (ms *monitors) tamInts(o *object, r *config.TAM) error {
	a := sai.Attr{ID: sai.TAMAttrIntObjectsList}
	var have [2]bool
	for _, id := range o.refIDs(a.ID) {
		x := ms.objects[sai.OID(id)]
		kind := 0
		switch x.enum(sai.TAMIntAttrType) {
		case sai.TAMIntTypeDirectExport:
			r.Domain = uint32(x.number(sai.TAMIntAttrDeviceID))
		case sai.TAMIntTypeIfa2:
			kind, r.IFA = 1, id
		default:
			return badValue(a.ID, sai.StatusNotSupported, "an object of %s, want SAI_TAM_INT_TYPE_DIRECT_EXPORT or IFA2",
				sai.EnumName(sai.TAMIntAttrType, x.enum(sai.TAMIntAttrType)))
		}
		if have[kind] {
			return badValue(a.ID, sai.StatusNotSupported, "several objects of %s, want at most one",
				sai.EnumName(sai.TAMIntAttrType, x.enum(sai.TAMIntAttrType)))
		}
		have[kind] = true
	}
	return nil
}
