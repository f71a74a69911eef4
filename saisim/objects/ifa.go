package objects

import (
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/ifa"
)

// ifaAttrs returns the attributes that only TAM INT objects of IFA have, except those that refer to objects.
func ifaAttrs() []sai.AttrID {
	return []sai.AttrID{
		sai.TAMIntAttrIntPresenceL3Protocol, sai.TAMIntAttrTraceVector, sai.TAMIntAttrActionVector,
		sai.TAMIntAttrMaxHopCount, sai.TAMIntAttrMaxLength, sai.TAMIntAttrNameSpaceID,
	}
}

// ifaRefs returns the attributes that refer to other objects: the sampler of an initiator, and the report and
// collectors of a terminator.
func ifaRefs() []sai.AttrID {
	return []sai.AttrID{
		sai.TAMIntAttrIngressSamplepacketEnable, sai.TAMIntAttrReportID, sai.TAMIntAttrCollectorList,
	}
}

// tamIntRow returns the row of a TAM INT object.
func (ms *monitors) tamIntRow(o *object) (config.Row, error) {
	r := config.TAMInt{ID: o.id(), SwitchID: uint32(o.number(sai.TAMIntAttrDeviceID))}
	switch o.enum(sai.TAMIntAttrType) {
	case sai.TAMIntTypeDirectExport:
		return nil, wantPresence(o, sai.TAMIntPresenceTypeUndefined) // it is in the row of the TAM object
	case sai.TAMIntTypeIfa1Tailstamp:
		for _, id := range ifaAttrs() {
			if o.number(id) != 0 {
				return nil, badValue(id, sai.StatusNotSupported, onlyIFA)
			}
		}
		return r, wantNoIFA(o)
	}
	if err := wantPresence(o, sai.TAMIntPresenceTypeL3Protocol); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		id       sai.AttrID
		min, max uint64
		orZero   bool
	}{
		{id: sai.TAMIntAttrDeviceID, max: ifa.MaxDevice},
		{id: sai.TAMIntAttrIntPresenceL3Protocol, min: ifa.Protocol, max: ifa.Protocol},
		{id: sai.TAMIntAttrTraceVector, max: 255}, {id: sai.TAMIntAttrActionVector, max: 255},
		{id: sai.TAMIntAttrMaxLength, min: ifa.HopWords, max: 255, orZero: true},
		{id: sai.TAMIntAttrNameSpaceID, min: ifa.LNS, max: ifa.LNS, orZero: true},
	} {
		if v := o.number(x.id); (v < x.min || v > x.max) && !(x.orZero && v == 0) {
			return nil, badValue(x.id, sai.StatusInvalidParameter, "%d, want %s", v, wantRange(x.min, x.max, x.orZero))
		}
	}
	if !o.flag(sai.TAMIntAttrInline) {
		return nil, badValue(sai.TAMIntAttrInline, sai.StatusNotSupported,
			"want true: the chip puts IFA into the packets themselves, not into copies")
	}
	r.IFA = config.IFA{
		On: true, Request: uint8(o.number(sai.TAMIntAttrTraceVector)), Action: uint8(o.number(sai.TAMIntAttrActionVector)),
		HopLimit: orNoLimit(o.number(sai.TAMIntAttrMaxHopCount)), MaxLength: orNoLimit(o.number(sai.TAMIntAttrMaxLength)),
		Sample: 1,
	}
	if x := ms.objects[o.ref(sai.TAMIntAttrIngressSamplepacketEnable)]; x != nil {
		r.IFA.Sample = uint32(x.number(sai.SamplepacketAttrSampleRate))
	}
	return r, ms.ifaReports(o, &r.IFA.Reports)
}

const onlyIFA = "only objects of IFA2 have it"

// ifaReports sets the reports of a terminator: an IPFIX report and collectors, which must be both present or both
// absent.
func (ms *monitors) ifaReports(o *object, r *config.TAMEvent) error {
	report, collectors := ms.objects[o.ref(sai.TAMIntAttrReportID)], o.refIDs(sai.TAMIntAttrCollectorList)
	switch {
	case report == nil && len(collectors) == 0:
		return nil
	case report == nil:
		return badValue(sai.TAMIntAttrReportID, sai.StatusInvalidParameter, "none, and there are collectors")
	case len(collectors) < 1 || len(collectors) > config.MaxEventCollectors:
		return badValue(sai.TAMIntAttrCollectorList, sai.StatusNotSupported,
			"%d collectors with a report, want 1 to %d", len(collectors), config.MaxEventCollectors)
	case report.enum(sai.TAMReportAttrType) != sai.TAMReportTypeIPFIX:
		return badValue(sai.TAMIntAttrReportID, sai.StatusNotSupported,
			"a report of %s, want IPFIX", sai.EnumName(sai.TAMReportAttrType, report.enum(sai.TAMReportAttrType)))
	}
	for i, id := range collectors {
		if slices.Contains(collectors[:i], id) {
			return badValue(sai.TAMIntAttrCollectorList, sai.StatusInvalidParameter, "%s is there twice", sai.OID(id))
		}
	}
	if err := ms.checkCollectors(sai.TAMIntAttrCollectorList, collectors); err != nil {
		return err
	}
	*r = config.TAMEvent{ID: o.id(), Collectors: collectors}
	if err := ms.addReport(r, sai.TAMIntAttrReportID, report); err != nil {
		return err
	}
	r.Layout = config.ReportIFA
	return nil
}

func wantRange(least, most uint64, orZero bool) string {
	s := fmt.Sprintf("%d to %d", least, most)
	if least == most {
		s = fmt.Sprint(least)
	}
	if orZero {
		s = "0 or " + s
	}
	return s
}

// orNoLimit converts a SAI limit, where 0 means no limit.
func orNoLimit(v uint64) uint8 {
	if v == 0 {
		return ifa.NoLimit
	}
	return uint8(v)
}

// wantNoIFA rejects an object that is not for IFA and uses references that only IFA objects may have.
func wantNoIFA(o *object) error {
	for _, id := range ifaRefs() {
		if len(o.refIDs(id)) > 0 || o.ref(id) != sai.NullOID {
			return badValue(id, sai.StatusNotSupported, onlyIFA)
		}
	}
	return wantPresence(o, sai.TAMIntPresenceTypeUndefined)
}

func wantPresence(o *object, want sai.Enum) error {
	if o.enum(sai.TAMIntAttrIntPresenceType) == want {
		return nil
	}
	return badCreate(sai.TAMIntAttrIntPresenceType, sai.StatusNotSupported,
		"want %s for this type", sai.EnumName(sai.TAMIntAttrIntPresenceType, want))
}

// telemetryActions sets the kinds of actions with a TAM INT object by the entry's INT_INSERT and INT_DELETE. It removes
// actions that neither insert nor delete.
func (as *acls) telemetryActions(o *object, r *config.ACLEntry) error {
	on := func(id sai.AttrID) bool {
		v, _ := o.attr(id).(sai.Action)
		return v.Enabled && v.Param == sai.Bool(true)
	}
	insert, remove := on(sai.ACLEntryAttrActionIntInsert), on(sai.ACLEntryAttrActionIntDelete)
	if insert && remove {
		return badValue(sai.ACLEntryAttrActionIntDelete, sai.StatusNotSupported,
			"the entry has INT_INSERT too, want one of them")
	}
	r.Actions = slices.DeleteFunc(r.Actions, func(a config.ACLAction) bool {
		return a.Kind == config.ActStamp && !insert && (!remove || !as.isIFA(a.Of[0]))
	})
	for i := range r.Actions {
		a := &r.Actions[i]
		switch {
		case a.Kind != config.ActStamp || !as.isIFA(a.Of[0]):
		case insert:
			a.Kind = config.ActIFA
		default:
			a.Kind = config.ActIFAEnd
		}
	}
	return nil
}

func (c *core) isIFA(id config.ID) bool {
	r, _ := config.Find[config.TAMInt](c.tables, id)
	return r.IFA.On
}
