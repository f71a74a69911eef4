package hftel

import (
	"context"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/hft"
)

// A group is a stream in the ASIC: a TAM_TEL_TYPE with a report and subscriptions.
type group struct {
	profile         string
	report, telType sai.OID
	micros          uint32
	labels          hft.Labels
	subscriptions   map[column]sai.OID
	columns         []column // of the configuration that the ASIC makes, or has made
	waits           bool     // for its templates
	ready           bool     // its templates are made, and it does not stream yet
	streams         bool
	names           []string // of the objects that stream
	session         schema.HFTSession
}

// remove removes an object and forgets it. One that is gone already is no error.
func remove(ctx context.Context, api sai.API, t sai.ObjectType, oid *sai.OID) error {
	if *oid == sai.NullOID {
		return nil
	}
	if err := api.Remove(ctx, sai.Obj(t, *oid)); err != nil && orch.Classify(err) != orch.Benign {
		return err
	}
	*oid = sai.NullOID
	return nil
}

// set sets the state of a group's stream.
func (g *group) set(ctx context.Context, api sai.API, state sai.Enum) error {
	return api.Set(ctx, sai.Obj(sai.ObjectTypeTAMTelType, g.telType), sai.Attr{ID: sai.TAMTelTypeAttrState, Value: state})
}

// build makes the report and the telemetry type of a group, and sets the interval.
func (o *Orch) build(ctx context.Context, g *group, w *wanted) error {
	if g.report != sai.NullOID && g.micros != w.micros {
		interval := sai.Meta(sai.TAMReportAttrReportInterval).Default
		if w.micros > 0 {
			interval = sai.Uint(w.micros)
		}
		err := o.api.Set(ctx, sai.Obj(sai.ObjectTypeTAMReport, g.report),
			sai.Attr{ID: sai.TAMReportAttrReportInterval, Value: interval})
		if err != nil {
			return err
		}
		g.micros = w.micros
	}
	if g.report == sai.NullOID {
		attrs := []sai.Attr{
			{ID: sai.TAMReportAttrType, Value: sai.TAMReportTypeIPFIX},
			{ID: sai.TAMReportAttrReportMode, Value: sai.TAMReportModeBulk},
			{ID: sai.TAMReportAttrTemplateReportInterval, Value: sai.Uint(0)},
		}
		if w.micros > 0 {
			attrs = append(attrs, sai.Attr{ID: sai.TAMReportAttrReportInterval, Value: sai.Uint(w.micros)})
		}
		attrs = append(attrs, sai.Attr{ID: sai.TAMReportAttrReportIntervalUnit, Value: sai.TAMReportIntervalUnitUsec})
		oid, err := o.api.Create(ctx, sai.ObjectTypeTAMReport, attrs)
		if err != nil {
			return orch.AtAttr(err, sai.ObjectTypeTAMReport, attrs)
		}
		g.report, g.micros = oid, w.micros
	}
	if g.telType == sai.NullOID {
		enable := map[string]sai.AttrID{
			schema.HFTPort:          sai.TAMTelTypeAttrSwitchEnablePortStats,
			schema.HFTQueue:         sai.TAMTelTypeAttrSwitchEnableOutputQueueStats,
			schema.HFTPriorityGroup: sai.TAMTelTypeAttrSwitchEnableMmuStats,
			schema.HFTBufferPool:    sai.TAMTelTypeAttrSwitchEnableMmuStats,
		}[w.group]
		attrs := []sai.Attr{
			{ID: sai.TAMTelTypeAttrTAMTelemetryType, Value: sai.TAMTelemetryTypeCounterSubscription},
			{ID: enable, Value: sai.Bool(true)}, {ID: sai.TAMTelTypeAttrMode, Value: sai.TAMTelTypeModeSingleType},
			{ID: sai.TAMTelTypeAttrReportID, Value: g.report},
		}
		oid, err := o.api.Create(ctx, sai.ObjectTypeTAMTelType, attrs)
		if err != nil {
			return orch.AtAttr(err, sai.ObjectTypeTAMTelType, attrs)
		}
		g.telType, g.subscriptions = oid, map[column]sai.OID{}
	}
	return o.chain.add(ctx, g.profile, g.telType)
}

// prepare subscribes other statistics, and makes the ASIC prepare templates for them. A stream goes on meanwhile.
func (o *Orch) prepare(ctx context.Context, g *group, columns []column) error {
	var names []string
	for _, c := range columns {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	labels, err := g.labels.Assign(names)
	if err != nil {
		return err
	}
	for c, oid := range g.subscriptions {
		if slices.Contains(columns, c) {
			continue
		}
		if err := remove(ctx, o.api, sai.ObjectTypeTAMCounterSubscription, &oid); err != nil {
			return err
		}
		delete(g.subscriptions, c)
	}
	for _, c := range columns {
		if _, there := g.subscriptions[c]; there {
			continue
		}
		attrs := []sai.Attr{
			{ID: sai.TAMCounterSubscriptionAttrTelType, Value: g.telType},
			{ID: sai.TAMCounterSubscriptionAttrObjectID, Value: c.of},
			{ID: sai.TAMCounterSubscriptionAttrStatID, Value: sai.Uint(uint32(c.stat))},
			{ID: sai.TAMCounterSubscriptionAttrLabel, Value: sai.Uint(labels[slices.Index(names, c.name)])},
			{ID: sai.TAMCounterSubscriptionAttrStatsMode, Value: sai.StatsModeRead},
		}
		oid, err := o.api.Create(ctx, sai.ObjectTypeTAMCounterSubscription, attrs)
		if err != nil {
			return orch.AtAttr(err, sai.ObjectTypeTAMCounterSubscription, attrs)
		}
		g.subscriptions[c] = oid
	}
	g.waits = true // the ASIC may notify before the call returns
	if err := g.set(ctx, o.api, sai.TAMTelTypeStateCreateConfig); err != nil {
		g.waits = false
		return err
	}
	g.columns = columns
	return nil
}

// maxTemplates limits the templates of a group, in bytes.
const maxTemplates = 1 << 20

// follow starts or stops a stream whose templates are made, and writes its session. Readers get the names of the
// objects before and after a change, and the templates, before the first record that needs them.
func (o *Orch) follow(ctx context.Context, key string, g *group, w *wanted) error {
	if g.ready {
		templates, err := o.templates(ctx, g)
		if err != nil {
			return err
		}
		g.session.Templates = templates
		both := slices.Concat(g.names, namesOf(g.columns))
		slices.Sort(both)
		if err := o.write(ctx, key, g, slices.Compact(both), w.enabled); err != nil {
			return err
		}
	}
	if g.ready && w.enabled || w.enabled != g.streams {
		state := sai.TAMTelTypeStateStopStream
		if w.enabled {
			state = sai.TAMTelTypeStateStartStream
		}
		if err := g.set(ctx, o.api, state); err != nil {
			return err
		}
	}
	g.ready, g.streams, g.names = false, w.enabled, namesOf(g.columns)
	return o.write(ctx, key, g, g.names, w.enabled)
}

func namesOf(columns []column) (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// templates reads the templates of a group: first their length, then the bytes.
func (o *Orch) templates(ctx context.Context, g *group) ([]byte, error) {
	want := sai.Want(sai.TAMTelTypeAttrIPFIXTemplates, 1)
	for {
		got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeTAMTelType, g.telType), []sai.Attr{want})
		n := 0
		if len(got) > 0 {
			n, _ = sai.ListLen(got[0].Value)
		}
		room, _ := sai.ListLen(want.Value)
		if s, _ := sai.StatusOf(err); err != nil && s == sai.StatusBufferOverflow && n > room && n <= maxTemplates {
			want = sai.Want(sai.TAMTelTypeAttrIPFIXTemplates, n)
			continue
		}
		if err != nil {
			return nil, err
		}
		b, _ := got[0].Value.(sai.Bytes)
		return b, nil
	}
}

// write writes the session of a group, if it differs from what was written last.
func (o *Orch) write(ctx context.Context, key string, g *group, names []string, enabled bool) error {
	labels, err := g.labels.Assign(names)
	if err != nil {
		return err
	}
	s := schema.HFTSession{Enabled: enabled, Objects: names, Labels: labels, Templates: g.session.Templates}
	if slices.Equal(s.Objects, g.session.Objects) && slices.Equal(s.Templates, g.session.Templates) &&
		s.Enabled == g.session.Enabled && slices.Equal(s.Labels, g.session.Labels) {
		return nil
	}
	if err := o.sessions.Set(ctx, key, s.Fields()); err != nil {
		return err
	}
	g.session = s
	return nil
}

// end removes a group from the ASIC.
func (o *Orch) end(ctx context.Context, g *group) error {
	if g.telType != sai.NullOID {
		if err := g.set(ctx, o.api, sai.TAMTelTypeStateStopStream); err != nil && orch.Classify(err) != orch.Benign {
			return err
		}
	}
	for c, oid := range g.subscriptions {
		if err := remove(ctx, o.api, sai.ObjectTypeTAMCounterSubscription, &oid); err != nil {
			return err
		}
		delete(g.subscriptions, c)
	}
	if err := o.chain.remove(ctx, g.profile, g.telType); err != nil {
		return err
	}
	if err := remove(ctx, o.api, sai.ObjectTypeTAMTelType, &g.telType); err != nil {
		return err
	}
	return remove(ctx, o.api, sai.ObjectTypeTAMReport, &g.report)
}
