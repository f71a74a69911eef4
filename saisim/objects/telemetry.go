package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/stream"
	"tamtam/tam/hft"
)

// telemetry is the area of streamed statistics: telemetry types with their subscriptions, and the objects that connect
// them to the switch and to a collector on the host.
type telemetry struct {
	*core
	notify  bool                 // the switch sends TAM_TEL_TYPE_CONFIG_CHANGE
	types   map[sai.OID]*telType // by TAM_TEL_TYPE
	streams *stream.Set
}

// A telType is the state that the store keeps for a TAM_TEL_TYPE object.
type telType struct {
	o             *object
	subscriptions map[subscribed]*object
	stream        *stream.Stream
}

// A subscribed is what a subscription reads: a statistic of an object.
type subscribed struct {
	of   sai.OID
	stat uint64
}

func (o *object) subscribed() subscribed {
	return subscribed{o.ref(sai.TAMCounterSubscriptionAttrObjectID), o.number(sai.TAMCounterSubscriptionAttrStatID)}
}

// minReadout is the least interval of a stream.
const minReadout = 10 * time.Microsecond

// maxSubscriptions limits the subscriptions of the chip.
const maxSubscriptions = 1 << 16

func newTelemetry(c *core) *telemetry {
	t := &telemetry{core: c, types: map[sai.OID]*telType{}, streams: stream.NewSet()}
	c.engine.OnReadout(t.read)
	return t
}

// state returns the state of a stream's object.
func (x *telType) state() sai.Enum { return x.o.enum(sai.TAMTelTypeAttrState) }

func (t *telemetry) telTypeKind() *kind {
	return &kind{
		max: maxTAMs,
		attrs: []sai.AttrID{
			sai.TAMTelTypeAttrTAMTelemetryType, sai.TAMTelTypeAttrMode, sai.TAMTelTypeAttrReportID,
			sai.TAMTelTypeAttrState, sai.TAMTelTypeAttrIPFIXTemplates, sai.TAMTelTypeAttrCounterSubscriptionList,
			sai.TAMTelTypeAttrSwitchEnablePortStats, sai.TAMTelTypeAttrSwitchEnableOutputQueueStats,
			sai.TAMTelTypeAttrSwitchEnableMmuStats,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMTelTypeAttrTAMTelemetryType: {sai.TAMTelemetryTypeCounterSubscription},
		},
		check: func(o *object) error {
			r := t.objects[o.ref(sai.TAMTelTypeAttrReportID)]
			if r.enum(sai.TAMReportAttrReportMode) != sai.TAMReportModeBulk {
				return badValue(sai.TAMTelTypeAttrReportID, sai.StatusNotSupported, "a report of %s, want one of %s",
					sai.EnumName(sai.TAMReportAttrReportMode, r.enum(sai.TAMReportAttrReportMode)), "SAI_TAM_REPORT_MODE_BULK")
			}
			if o.self == nil && o.enum(sai.TAMTelTypeAttrState) != sai.TAMTelTypeStateStopStream {
				return badCreate(sai.TAMTelTypeAttrState, sai.StatusInvalidParameter,
					"there is no subscription yet, want SAI_TAM_TEL_TYPE_STATE_STOP_STREAM")
			}
			return nil
		},
		create: func(o *object) (err error) {
			x := &telType{o: o, subscriptions: map[subscribed]*object{}}
			r := t.objects[o.ref(sai.TAMTelTypeAttrReportID)]
			x.stream, err = t.streams.Add(o.key.OID, stream.Config{
				Enterprise: uint32(r.number(sai.TAMReportAttrEnterpriseNumber)), Interval: r.interval(),
				Templates: time.Duration(r.number(sai.TAMReportAttrTemplateReportInterval)) * time.Second,
			})
			o.self = x
			return err
		},
		made: func(o *object) { t.types[o.key.OID] = o.self.(*telType) },
		set: func(o *object, a sai.Attr) error {
			if a.ID != sai.TAMTelTypeAttrState {
				return nil
			}
			return t.setState(o.self.(*telType), a.Value.(sai.Enum))
		},
		gone: func(o *object) {
			t.streams.Remove(o.key.OID)
			delete(t.types, o.key.OID)
			t.drop(config.Readout{ID: o.id()})
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.TAMTelTypeAttrIPFIXTemplates: func(o *object) sai.Value {
				return sai.Bytes(o.self.(*telType).stream.Templates())
			},
			sai.TAMTelTypeAttrCounterSubscriptionList: func(o *object) sai.Value {
				return oidsOf(slices.SortedFunc(maps.Values(o.self.(*telType).subscriptions), func(a, b *object) int {
					return cmp.Compare(a.key.OID, b.key.OID)
				}))
			},
		},
	}
}

// setState changes the state of a stream. A stream that starts without a configuration, as after a restart of syncd,
// gets one.
func (t *telemetry) setState(x *telType, state sai.Enum) error {
	switch state {
	case sai.TAMTelTypeStateCreateConfig:
		return t.configure(x)
	case sai.TAMTelTypeStateStartStream:
		if !x.stream.Ready(func(oid sai.OID) bool { return t.objects[oid] != nil }) {
			if err := t.configure(x); err != nil {
				return err
			}
		}
		x.stream.Switch()
	default:
		x.stream.Flush()
	}
	return nil
}

// configure makes the templates of the present subscriptions, for the next start.
func (t *telemetry) configure(x *telType) error {
	columns, sources, err := t.columns(x)
	if err != nil {
		return err
	}
	if err := x.stream.Prepare(columns, sources); err != nil {
		return badValue(sai.TAMTelTypeAttrState, sai.StatusInsufficientResources, "%v", err)
	}
	if t.notify {
		t.core.notify(sai.TelTypeConfigChange{TelType: x.o.key.OID})
	}
	return nil
}

// columns returns the columns of the present subscriptions, by label and statistic, and how they are read.
func (t *telemetry) columns(x *telType) (columns []hft.Column, sources []stream.Source, err error) {
	if len(x.subscriptions) == 0 {
		return nil, nil, badValue(sai.TAMTelTypeAttrState, sai.StatusInvalidParameter,
			"no object of SAI_OBJECT_TYPE_TAM_COUNTER_SUBSCRIPTION is of this type, want one at least")
	}
	all := slices.SortedFunc(maps.Values(x.subscriptions), func(a, b *object) int {
		const label, of, stat = sai.TAMCounterSubscriptionAttrLabel, sai.TAMCounterSubscriptionAttrObjectID,
			sai.TAMCounterSubscriptionAttrStatID
		return cmp.Or(cmp.Compare(a.number(label), b.number(label)), cmp.Compare(a.ref(of), b.ref(of)),
			cmp.Compare(a.number(stat), b.number(stat)))
	})
	for len(all) > 0 {
		of := all[0].ref(sai.TAMCounterSubscriptionAttrObjectID)
		n := slices.IndexFunc(all, func(y *object) bool { return y.ref(sai.TAMCounterSubscriptionAttrObjectID) != of })
		if n < 0 {
			n = len(all)
		}
		o, ids := t.objects[of], make([]sai.StatID, n)
		if o == nil {
			return nil, nil, badValue(sai.TAMTelTypeAttrState, sai.StatusInvalidParameter,
				"subscription %s is of %s, which exists no longer: remove the subscription", all[0].key.OID, of)
		}
		var clears []sai.StatID
		for i, y := range all[:n] {
			ids[i] = y.statID(o.key.Type)
			if y.enum(sai.TAMCounterSubscriptionAttrStatsMode) == sai.StatsModeReadAndClear {
				clears = append(clears, ids[i])
			}
			columns = append(columns, hft.Column{
				Statistic: hft.Statistic{
					Label: uint16(y.number(sai.TAMCounterSubscriptionAttrLabel)), Type: uint32(o.key.Type), ID: uint32(ids[i]),
				},
				Object: t.nameOf(o), Name: ids[i].String(),
			})
		}
		sources = append(sources, stream.Source{Object: of, Width: n, Read: t.kinds[o.key.Type].readout(o, ids, clears)})
		all = all[n:]
	}
	return columns, sources, nil
}

// nameOf returns the name of an object in high-frequency telemetry, or its id if it has none.
func (t *telemetry) nameOf(o *object) string {
	switch x := o.self.(type) {
	case *port:
		return cmp.Or(x.name, o.key.OID.String())
	case *queue:
		return fmt.Sprintf("%s|%d", cmp.Or(x.port.name, x.port.o.key.OID.String()), x.index)
	case *priorityGroup:
		return fmt.Sprintf("%s|%d", cmp.Or(x.port.name, x.port.o.key.OID.String()), x.index)
	}
	return o.key.OID.String()
}

// read takes one readout.
func (t *telemetry) read(id config.ID, at engine.Cycle) {
	t.types[sai.OID(id)].stream.Read(t.engine.Clock().At(at).Time().UnixNano())
}

// connect begins and ends readouts after a change of the objects between streams and their collectors.
func (t *telemetry) connect() {
	for _, oid := range slices.Sorted(maps.Keys(t.types)) {
		x := t.types[oid]
		channel, packets, ok := t.channel(x)
		x.stream.Connect(channel, packets)
		was, running := row[config.Readout](t.core, oid)
		if state := x.state(); !ok || state == sai.TAMTelTypeStateStopStream || !x.stream.Started() ||
			state == sai.TAMTelTypeStateCreateConfig && !running {
			if running {
				t.drop(was)
			}
			continue
		}
		every := uint64(t.engine.Clock().CycleAt(t.objects[x.o.ref(sai.TAMTelTypeAttrReportID)].interval()))
		if !running || was.Every != every {
			t.put(config.Readout{ID: x.o.id(), From: uint64(t.engine.Now()), Every: every})
		}
	}
	t.commit()
}

// channel returns where the records of a stream go, on the host and in packets. It returns false if nothing connects
// the stream with the switch.
func (t *telemetry) channel(x *telType) (c stream.Channel, packets []config.TAMCollector, ok bool) {
	for _, tam := range t.sw.refIDs(sai.SwitchAttrTAMObjectID) {
		for _, id := range t.objects[sai.OID(tam)].refIDs(sai.TAMAttrTelemetryObjectsList) {
			tel := t.objects[sai.OID(id)]
			if !slices.Contains(tel.refIDs(sai.TAMTelemetryAttrTAMTypeList), x.o.id()) {
				continue
			}
			for _, to := range tel.refIDs(sai.TAMTelemetryAttrCollectorList) {
				if r, remote := row[config.TAMCollector](t.core, sai.OID(to)); remote {
					packets = append(packets, r)
				} else if found := t.netlink(t.objects[sai.OID(to)]); found != (stream.Channel{}) {
					c = found
				}
			}
			ok = true
		}
	}
	return c, packets, ok
}

// netlink returns the group of generic netlink that a collector's trap leads to. It is empty if there is none.
func (t *telemetry) netlink(collector *object) stream.Channel {
	trap := collector.ref(sai.TAMCollectorAttrHostifTrap)
	for _, o := range t.objects {
		if o.key.Type == sai.ObjectTypeHostifTableEntry && trap != sai.NullOID &&
			o.ref(sai.HostifTableEntryAttrTrapID) == trap {
			h := t.objects[o.ref(sai.HostifTableEntryAttrHostIf)]
			return stream.Channel{Family: h.text(sai.HostifAttrName), Group: h.text(sai.HostifAttrGenetlinkMcgrpName)}
		}
	}
	return stream.Channel{}
}

// uses reports whether a stream reads an object's statistics.
func (t *telemetry) uses(o *object) bool {
	for oid, x := range t.types {
		if _, running := row[config.Readout](t.core, oid); running && x.stream.Reads(o.key.OID) {
			return true
		}
	}
	return false
}

func (t *telemetry) telemetryKind() *kind {
	return &kind{
		max:   maxTAMs,
		attrs: []sai.AttrID{sai.TAMTelemetryAttrTAMTypeList, sai.TAMTelemetryAttrCollectorList},
		check: func(o *object) error {
			to, _ := o.attr(sai.TAMTelemetryAttrCollectorList).(sai.OIDs)
			for _, oid := range to {
				if c := t.objects[oid]; !c.ofHost(t.core) && c.flag(sai.TAMCollectorAttrLocalhost) {
					return badValue(sai.TAMTelemetryAttrCollectorList, sai.StatusNotSupported,
						"collector %s is on the host with SAI_TAM_TRANSPORT_TYPE_UDP, want SAI_TAM_TRANSPORT_TYPE_NONE, or LOCALHOST "+
							"false", oid)
				}
			}
			return nil
		},
	}
}

// ofHost reports whether a collector is a program on the switch's host, which gets records without packets.
func (o *object) ofHost(c *core) bool {
	transport := c.objects[o.ref(sai.TAMCollectorAttrTransport)]
	return o.flag(sai.TAMCollectorAttrLocalhost) &&
		transport.enum(sai.TAMTransportAttrTransportType) == sai.TAMTransportTypeNone
}

func (t *telemetry) subscriptionKind() *kind {
	return &kind{
		max: maxSubscriptions,
		attrs: []sai.AttrID{
			sai.TAMCounterSubscriptionAttrTelType, sai.TAMCounterSubscriptionAttrObjectID,
			sai.TAMCounterSubscriptionAttrStatID, sai.TAMCounterSubscriptionAttrLabel,
			sai.TAMCounterSubscriptionAttrStatsMode,
		},
		check: t.checkSubscription,
		made: func(o *object) {
			x := t.types[o.ref(sai.TAMCounterSubscriptionAttrTelType)]
			x.subscriptions[o.subscribed()] = o
		},
		gone: func(o *object) {
			x := t.types[o.ref(sai.TAMCounterSubscriptionAttrTelType)]
			delete(x.subscriptions, o.subscribed())
		},
	}
}

// statID returns the statistic of a subscription.
func (o *object) statID(of sai.ObjectType) sai.StatID {
	return sai.StatID(uint64(of)<<32 | o.number(sai.TAMCounterSubscriptionAttrStatID))
}

// checkSubscription rejects statistics that the chip does not count, and objects that the telemetry type is not for.
func (t *telemetry) checkSubscription(o *object) error {
	const of, stat = sai.TAMCounterSubscriptionAttrObjectID, sai.TAMCounterSubscriptionAttrStatID
	err := o.within(bound{id: sai.TAMCounterSubscriptionAttrLabel, what: "label ", most: hft.MaxLabel})
	if err != nil {
		return err
	}
	x, to := t.types[o.ref(sai.TAMCounterSubscriptionAttrTelType)], t.objects[o.ref(of)]
	enabled := map[sai.ObjectType]sai.AttrID{
		sai.ObjectTypePort:                 sai.TAMTelTypeAttrSwitchEnablePortStats,
		sai.ObjectTypeQueue:                sai.TAMTelTypeAttrSwitchEnableOutputQueueStats,
		sai.ObjectTypeBufferPool:           sai.TAMTelTypeAttrSwitchEnableMmuStats,
		sai.ObjectTypeIngressPriorityGroup: sai.TAMTelTypeAttrSwitchEnableMmuStats,
	}[to.key.Type]
	if !x.o.flag(enabled) {
		return badCreate(of, sai.StatusInvalidParameter, "%s is a %s, want an object of a type with %s true in %s",
			to.key.OID, to.key.Type, enabled, x.o.key.OID)
	}
	if x.o.enum(sai.TAMTelTypeAttrMode) == sai.TAMTelTypeModeSingleType && len(x.subscriptions) > 0 {
		for y := range x.subscriptions {
			if other := t.objects[y.of].key.Type; other != to.key.Type {
				return badCreate(of, sai.StatusInvalidParameter, "%s is a %s, want a %s as the others, or MIXED_TYPE",
					to.key.OID, to.key.Type, other)
			}
			break // all are of one type
		}
	}
	id, kd := o.statID(to.key.Type), t.kinds[to.key.Type]
	switch {
	case kd.countsNothing() || !kd.counts(id):
		return badCreate(stat, sai.StatusNotSupported, "the chip does not count %d of %s", o.number(stat), to.key.Type)
	case kd.uncounted[id] != "":
		return badCreate(stat, sai.StatusNotSupported, "the chip does not count %s: %s", id, kd.uncounted[id])
	}
	if y := x.subscriptions[o.subscribed()]; y != nil {
		return badCreate(stat, sai.StatusItemAlreadyExists, "%s of %s is subscribed by %s", id, to.key.OID, y.key.OID)
	}
	return nil
}

// readout returns a function that reads statistics of an object, as get_stats returns them, and then clears some.
func (k *kind) readout(o *object, ids, clears []sai.StatID) func(to []uint64) {
	read := k.reader
	if read == nil {
		read = func(o *object, ids []sai.StatID) func([]uint64) {
			return func(to []uint64) {
				for i, id := range ids {
					to[i] = k.stat(o, id)
				}
			}
		}
	}
	now := read(o, ids)
	return func(to []uint64) {
		now(to)
		for i, id := range ids {
			to[i] -= o.cleared[id]
		}
		for _, id := range clears {
			k.clearStat(o, id)
		}
	}
}

// interval returns the interval of a report in bulk.
func (o *object) interval() time.Duration {
	unit := map[sai.Enum]time.Duration{
		sai.TAMReportIntervalUnitNanosec: time.Nanosecond, sai.TAMReportIntervalUnitUsec: time.Microsecond,
		sai.TAMReportIntervalUnitMsec: time.Millisecond,
	}
	return time.Duration(o.number(sai.TAMReportAttrReportInterval)) * unit[o.enum(sai.TAMReportAttrReportIntervalUnit)]
}

// checkInterval rejects intervals of reports that are too short, or no number of cycles.
func checkInterval(o *object, hz uint64) error {
	const id = sai.TAMReportAttrReportInterval
	d := o.interval()
	if d < minReadout {
		return badValue(id, sai.StatusInvalidParameter, "an interval of %v, want %v at least", d, minReadout)
	}
	if near := stream.NearestInterval(d, minReadout, hz); near != d {
		return badValue(id, sai.StatusInvalidParameter, "an interval of %v, which is no number of cycles at %d Hz; want %v, "+
			"which is nearest", d, hz, near)
	}
	return nil
}

// DefaultRouter returns the default virtual router.
func (s *Store) DefaultRouter() config.ID { return s.defaultRouter.id() }

// Streams returns the streams of statistics.
func (s *Store) Streams() *stream.Set { return s.telemetry.streams }
