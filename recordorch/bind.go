package recordorch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// Tunnels of records use the defaults of mirror sessions.
const (
	sourcePort = 49152 // of UDP: the first of the private range
	tunnelTOS  = 8 << 2
	tunnelTTL  = 255
)

// A binding is a session in the ASIC, or on its way in or out.
type binding struct {
	scheme    *scheme
	label     record.ChipSession
	attrs     []sai.Attr // of the mirror session
	joined    bool       // the label is in the plan's object
	mirror    sai.OID
	entry     bool // there may be an ACL entry
	leaving   bool // to be taken down
	announced *record.Plan
}

// labelOf returns the chip's name for a session. SAI takes 15 characters.
func labelOf(name string) string {
	const most = 12
	if len(name) > most {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:most/2])
	}
	return record.LabelPrefix + name
}

// A tunnel is how a session's records travel, in terms of SAI.
type tunnel struct {
	attrs []sai.Attr
	label record.ChipSession
}

// tunnel finds the way to the collector.
func (o *Orch) tunnel(row schema.RecordFlow) (t tunnel, err error) {
	to := row.Collector.Addr()
	way, err := o.routes.Way(to)
	if err != nil {
		return t, err
	}
	if row.Source.IsValid() {
		way.Address = row.Source
	}
	if !way.Address.IsValid() {
		return t, orch.Wait("address", to.String(), "no address to send from to %s: the session has no source-ip, "+
			"and no loopback or interface an address of that IP version", to)
	}
	_, port, err := way.Exit(o.ports)
	if err != nil {
		return t, err
	}
	t.label = record.ChipSession{Label: labelOf(row.Name), Sample: row.Sampling, Identities: row.Identities}
	t.attrs = []sai.Attr{
		{ID: sai.MirrorSessionAttrMonitorPort, Value: port},
		{ID: sai.MirrorSessionAttrTruncateSize, Value: sai.Uint(row.Truncate)},
		{ID: sai.MirrorSessionAttrLabel, Value: sai.Text(t.label.Label)},
	}
	if row.Encapsulation == schema.RecordUDP {
		t.label.Tunnel = &record.ChipTunnel{
			SrcIP: way.Address, DstIP: to, SrcMAC: schema.MAC(way.Source).String(), DstMAC: schema.MAC(way.MAC).String(),
			TOS: tunnelTOS,
		}
		t.attrs = append(t.attrs,
			sai.Attr{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeSflow},
			sai.Attr{ID: sai.MirrorSessionAttrUDPSrcPort, Value: sai.Uint(sourcePort)},
			sai.Attr{ID: sai.MirrorSessionAttrUDPDstPort, Value: sai.Uint(row.Collector.Port())})
		return t, nil
	}
	version := sai.Uint(6)
	if to.Is4() {
		version = 4
	}
	t.attrs = append(t.attrs,
		sai.Attr{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeEnhancedRemote},
		sai.Attr{ID: sai.MirrorSessionAttrErspanEncapsulationType, Value: o.erspan},
		sai.Attr{ID: sai.MirrorSessionAttrIphdrVersion, Value: version},
		sai.Attr{ID: sai.MirrorSessionAttrTOS, Value: sai.Uint(tunnelTOS)},
		sai.Attr{ID: sai.MirrorSessionAttrTTL, Value: sai.Uint(tunnelTTL)},
		sai.Attr{ID: sai.MirrorSessionAttrSrcIPAddress, Value: sai.IP{Addr: way.Address}},
		sai.Attr{ID: sai.MirrorSessionAttrDstIPAddress, Value: sai.IP{Addr: to}},
		sai.Attr{ID: sai.MirrorSessionAttrSrcMACAddress, Value: way.Source},
		sai.Attr{ID: sai.MirrorSessionAttrDstMACAddress, Value: way.MAC},
		sai.Attr{ID: sai.MirrorSessionAttrGREProtocolType, Value: sai.Uint(schema.DefaultGREType)})
	return t, nil
}

// mirrorTo returns the entry of a flow group that mirrors its packets.
func mirrorTo(session sai.OID) []orch.ACLVariant {
	mirror := sai.Attr{ID: sai.ACLEntryAttrActionMirrorIngress, Value: sai.Do(sai.OIDs{session})}
	return []orch.ACLVariant{{Actions: []sai.Attr{mirror}}}
}

// wanted says why a session must not be bound; nil if it must.
func (o *Orch) wanted(_ context.Context, s *session) error {
	if s.Row.Encapsulation == schema.RecordUDP && o.noUDP {
		return &schema.FieldError{
			Object: schema.CfgTAMTableRecord + "|" + s.Name, Field: "encapsulation", Value: schema.RecordUDP,
			Want: schema.RecordERSPAN + ": the switch has no mirror sessions over UDP",
		}
	}
	if err := o.FlowGroup(s); err != nil {
		return err
	}
	if _, ok := o.identity.SwitchID(); !ok {
		return orch.Wait("switch id", schema.TAMGlobalKey, "the switch has no switch-id")
	}
	switch {
	case !o.Asked:
		return orch.Wait("switch", "view", "waiting for the ASIC's view to be complete")
	case o.unlearned != nil:
		return orch.Wait("switch", "graph", "%s; asked again in a second", orch.Explain(o.unlearned))
	}
	return nil
}

// stays reports whether a session can stay in the ASIC, and updates it if the way to its collector
// changed. Without a way or a plan it cannot stay.
func (o *Orch) stays(ctx context.Context, s *session) bool {
	t, c, err := o.want(ctx, s.Row)
	if err != nil {
		s.Err = err
		return false
	}
	b := s.InASIC
	if _, _, ok := o.rules.VariantCounter(s.RowInASIC.Rule, featureName, ""); !ok {
		return false // the rule's entry is gone
	}
	if b.leaving || b.scheme != c || !c.current() || !reflect.DeepEqual(s.RowInASIC, s.Row) || !o.change(ctx, s, t) {
		return false
	}
	o.announce(ctx, s)
	return true
}

// withdraw takes sessions down.
func (o *Orch) withdraw(ctx context.Context, sessions []*session) {
	for _, s := range sessions {
		if err := o.takeDown(ctx, s); err != nil {
			s.Err = err
		}
	}
}

// deploy brings up the sessions that are missing.
func (o *Orch) deploy(ctx context.Context, wanted []*session) {
	for _, s := range wanted {
		if s.InASIC == nil {
			s.Err = o.bringUp(ctx, s)
		}
	}
	o.dropSchemes()
}

// want returns what a session should be in the ASIC, or why it cannot be.
func (o *Orch) want(ctx context.Context, row schema.RecordFlow) (t tunnel, c *scheme, err error) {
	if t, err = o.tunnel(row); err != nil {
		return t, nil, err
	}
	c, err = o.scheme(ctx, row.RecordSettings)
	return t, c, err
}

// settable are the attributes that can follow the way without recreating the session.
var settable = []sai.AttrID{
	sai.MirrorSessionAttrMonitorPort, sai.MirrorSessionAttrSrcIPAddress, sai.MirrorSessionAttrSrcMACAddress,
	sai.MirrorSessionAttrDstMACAddress,
}

// change makes a session follow the way to its collector, all steps or none. It returns false if
// that failed and the session must be recreated.
func (o *Orch) change(ctx context.Context, s *session, t tunnel) bool {
	b := s.InASIC
	var undo orch.Undo
	back := func(what string, err error) bool {
		o.Log.Error("table recording session", "session", s.Name, "err",
			orch.Undone(ctx, &undo, fmt.Errorf("%s: %w", what, err)))
		return false
	}
	if !reflect.DeepEqual(b.label, t.label) {
		if err := o.join(ctx, b.scheme, t.label); err != nil {
			return back("change the way", err)
		}
		undo.Push("the way", func(ctx context.Context) error { return o.join(ctx, b.scheme, b.label) })
	}
	k := sai.Obj(sai.ObjectTypeMirrorSession, b.mirror)
	for i, a := range t.attrs {
		was := b.attrs[i]
		if a.ID != was.ID || !slices.Contains(settable, a.ID) || reflect.DeepEqual(a.Value, was.Value) {
			continue
		}
		if err := o.SAI.Set(ctx, k, a); err != nil {
			return back("set "+a.ID.String(), err)
		}
		undo.Push(a.ID.String(), func(ctx context.Context) error { return o.SAI.Set(ctx, k, was) })
	}
	b.attrs, b.label = t.attrs, t.label
	return true
}

// bringUp makes a session: its label in the plan, the mirror session, the ACL entry. If
// a step fails, those before it are undone.
func (o *Orch) bringUp(ctx context.Context, s *session) error {
	t, c, err := o.want(ctx, s.Row)
	if err != nil {
		return err
	}
	s.RowInASIC, s.InASIC = s.Row, &binding{scheme: c, label: t.label, attrs: t.attrs}
	if err = o.steps(ctx, s); err == nil {
		if o.counters.Get(s.Name) == nil {
			o.counters.Put(s.Name, countersOf([record.CounterWords]uint64{}))
		}
		o.announce(ctx, s)
		return nil
	}
	o.Log.Error("table recording session", "session", s.Name, "err", err)
	if undo := o.takeDown(ctx, s); undo != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undo)
	}
	return err
}

// remark says what a plan lacks of what was asked for.
func (o *Orch) remark(p *record.Plan) string {
	told := func(r record.Recorded) bool { return len(r.Actions) > 0 }
	switch {
	case p.Mode != record.ModeAction || slices.ContainsFunc(p.Recorded, told):
		return ""
	case len(o.graph.Acts()) == 0:
		return "no action is recorded: the switch runs no program that has a table with two actions, and actions of its " +
			"own tables are not recorded"
	}
	return "no action is recorded: hits and runs took all bits of phv " + p.PHV
}

// announce publishes the plan that a session records by.
func (o *Orch) announce(ctx context.Context, s *session) {
	b := s.InASIC
	s.Note = o.remark(b.scheme.plan)
	if b.announced == b.scheme.plan {
		return
	}
	fields, err := schema.RecordPlanFields(b.scheme.plan)
	if err != nil {
		o.Log.Error("table recording session", "session", s.Name, "err", err)
		return
	}
	o.plans.Put(s.Name, fields)
	b.announced = b.scheme.plan
	o.planned.Publish(ctx, Planned{s.Name, b.announced})
}

func (o *Orch) steps(ctx context.Context, s *session) error {
	b := s.InASIC
	err := o.join(ctx, b.scheme, b.label)
	if err != nil {
		return err
	}
	b.joined = true
	if b.mirror, err = o.SAI.Create(ctx, sai.ObjectTypeMirrorSession, b.attrs); err != nil {
		b.mirror = sai.NullOID
		return fmt.Errorf("create the mirror session: %w", orch.AtAttr(err, sai.ObjectTypeMirrorSession, b.attrs))
	}
	b.entry = true
	return o.rules.BindVariants(ctx, featureName, []schema.ACLRuleKey{s.RowInASIC.Rule}, []string{s.Name},
		[][]orch.ACLVariant{mirrorTo(b.mirror)})[0]
}

// takeDown takes a session out of the ASIC, the last step first. What fails is tried
// again from there.
func (o *Orch) takeDown(ctx context.Context, s *session) error {
	b := s.InASIC
	b.leaving = true
	if b.entry {
		if err := o.rules.UnbindMany(ctx, featureName, []schema.ACLRuleKey{s.RowInASIC.Rule},
			[]string{s.Name})[0]; err != nil {
			return fmt.Errorf("detach from ACL rule %s: %w", s.RowInASIC.Rule, err)
		}
		b.entry = false
	}
	if b.mirror != sai.NullOID {
		if err := feature.Remove(ctx, o.SAI, sai.Obj(sai.ObjectTypeMirrorSession, b.mirror)); err != nil {
			return fmt.Errorf("remove the mirror session: %w", err)
		}
		b.mirror = sai.NullOID
	}
	if b.joined {
		if err := o.part(ctx, b.scheme, b.label.Label); err != nil {
			return err
		}
	}
	o.counters.Drop(s.Name)
	o.plans.Drop(s.Name)
	s.InASIC = nil
	return nil
}
