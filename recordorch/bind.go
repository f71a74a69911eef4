package recordorch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// Tunnels of records use the defaults of mirror sessions.
const (
	sourcePort = 49152 // UDP source port: the first one of the private range
	tunnelTOS  = 8 << 2
	tunnelTTL  = 255
)

// A binding is the state in the ASIC of a session that exists there, or that is being added or removed.
type binding struct {
	scheme    *scheme
	label     record.ChipSession
	attrs     []sai.Attr // attributes of the mirror session
	mirror    sai.OID
	announced *record.Plan
}

// labelOf returns the chip's name for a session. SAI accepts 15 characters.
func labelOf(name string) string {
	const most = 12
	if len(name) > most {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:most/2])
	}
	return record.LabelPrefix + name
}

// A tunnel contains the SAI attributes of the encapsulation of a session's records.
type tunnel struct {
	attrs []sai.Attr
	label record.ChipSession
}

// tunnel returns the mirror session's attributes and the chip's parameters with which a session sends records to its
// collector. They depend on the path to the collector.
func (o *Orch) tunnel(row schema.RecordFlow) (t tunnel, err error) {
	to := row.Collector.Addr()
	path, err := o.routes.Path(to)
	if err != nil {
		return t, err
	}
	if row.Source.IsValid() {
		path.Address = row.Source
	}
	if !path.Address.IsValid() {
		return t, orch.Wait("address", to.String(), "no address to send from to %s: the session has no source-ip, "+
			"and no loopback or interface an address of that IP version", to)
	}
	_, port, err := path.Exit(o.ports)
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
			SrcIP: path.Address, DstIP: to, SrcMAC: schema.MAC(path.Source).String(), DstMAC: schema.MAC(path.MAC).String(),
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
		sai.Attr{ID: sai.MirrorSessionAttrSrcIPAddress, Value: sai.IP{Addr: path.Address}},
		sai.Attr{ID: sai.MirrorSessionAttrDstIPAddress, Value: sai.IP{Addr: to}},
		sai.Attr{ID: sai.MirrorSessionAttrSrcMACAddress, Value: path.Source},
		sai.Attr{ID: sai.MirrorSessionAttrDstMACAddress, Value: path.MAC},
		sai.Attr{ID: sai.MirrorSessionAttrGREProtocolType, Value: sai.Uint(schema.DefaultGREType)})
	return t, nil
}

// mirrorTo returns the entry of a flow group that mirrors its packets.
func mirrorTo(session sai.OID) []orch.ACLVariant {
	mirror := sai.Attr{ID: sai.ACLEntryAttrActionMirrorIngress, Value: sai.Do(sai.OIDs{session})}
	return []orch.ACLVariant{{Actions: []sai.Attr{mirror}}}
}

// Wanted returns nil if a session must be bound, and otherwise the reason why it must not.
func (o *Orch) Wanted(_ context.Context, s *session) error {
	if s.Row.Encapsulation == schema.RecordUDP && o.noUDP {
		return &schema.FieldError{
			Object: schema.CfgTAMTableRecord + "|" + s.Name, Field: "encapsulation", Value: schema.RecordUDP,
			Want: schema.RecordERSPAN + ": the switch has no mirror sessions over UDP",
		}
	}
	if err := o.FlowGroup(s); err != nil {
		return err
	}
	if !o.identity.InUse().HasSwitchID {
		return orch.Wait("switch id", schema.TAMGlobalKey, "the switch has no switch-id")
	}
	switch {
	case !o.Asked:
		return orch.WaitView()
	case o.unlearned != nil:
		return orch.Wait("switch", "graph", "%s; asked again in a second", orch.Explain(o.unlearned))
	}
	return nil
}

// Stays reports whether a session can remain in the ASIC. It updates the session if the path to its collector has
// changed. Without a path or a plan the session cannot remain.
func (o *Orch) Stays(ctx context.Context, s *session) bool {
	t, c, err := o.want(ctx, s.Row)
	if err != nil {
		s.Err = err
		return false
	}
	b := s.InASIC
	if !o.Attached(o.rules, []schema.ACLRuleKey{s.RowInASIC.Rule}) {
		return false // the rule's entry was removed
	}
	if s.Leaving || b.scheme != c || !c.current() || c.switchID != o.identity.InUse().SwitchID ||
		!reflect.DeepEqual(s.RowInASIC, s.Row) || !o.change(ctx, s, t) {
		return false
	}
	o.announce(ctx, s)
	return true
}

// Deploy deploys the missing sessions.
func (o *Orch) Deploy(ctx context.Context, wanted []*session) {
	for _, s := range wanted {
		if s.InASIC == nil {
			s.Err = o.bringUp(ctx, s)
		}
	}
	o.dropSchemes()
}

// want returns the target state of a session in the ASIC, or the reason why it is impossible.
func (o *Orch) want(ctx context.Context, row schema.RecordFlow) (t tunnel, c *scheme, err error) {
	if t, err = o.tunnel(row); err != nil {
		return t, nil, err
	}
	c, err = o.scheme(ctx, row.RecordSettings)
	return t, c, err
}

// settable contains the attributes of a mirror session that can be set when its path changes, without recreating it.
var settable = []sai.AttrID{
	sai.MirrorSessionAttrMonitorPort, sai.MirrorSessionAttrSrcIPAddress, sai.MirrorSessionAttrSrcMACAddress,
	sai.MirrorSessionAttrDstMACAddress,
}

// change updates a session for a new path to its collector: it performs all steps or none. It returns false if the
// session must be recreated because a step failed.
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

// bringUp deploys a session.
func (o *Orch) bringUp(ctx context.Context, s *session) error {
	t, c, err := o.want(ctx, s.Row)
	if err != nil {
		return err
	}
	if err := o.BringUp(ctx, s, &binding{scheme: c, label: t.label, attrs: t.attrs}, o.steps); err != nil {
		return err
	}
	if o.Running && o.counters.Get(s.Name) == nil { // a session of the first view may have counted before
		o.counters.Put(s.Name, countersOf(make([]uint64, record.CounterWords)))
	}
	o.announce(ctx, s)
	return nil
}

// remark returns a note about the requested information that a plan does not record.
func (o *Orch) remark(p *record.Plan) string {
	reported := func(r record.Recorded) bool { return len(r.Actions) > 0 }
	switch {
	case p.Mode != record.ModeAction || slices.ContainsFunc(p.Recorded, reported):
		return ""
	case len(o.graph.Acts()) == 0:
		return "no action is recorded: the switch runs no program that has a table with two actions, and actions of its " +
			"own tables are not recorded"
	}
	return "no action is recorded: hits and runs took all bits of phv " + p.PHV
}

// announce publishes the plan of a session.
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

// steps performs the steps of a session: its label in the plan, its mirror session and its ACL entry.
func (o *Orch) steps(ctx context.Context, s *session) error {
	b := s.InASIC
	err := o.join(ctx, b.scheme, b.label)
	if err != nil {
		return err
	}
	s.Steps.Add("leave the plan", func(ctx context.Context) error { return o.part(ctx, b.scheme, b.label.Label) })
	b.mirror, err = s.Steps.Create(ctx, o.SAI, "mirror session", sai.ObjectTypeMirrorSession, b.attrs...)
	if err != nil {
		return err
	}
	return o.Attach(ctx, s, o.rules, []schema.ACLRuleKey{s.RowInASIC.Rule}, mirrorTo(b.mirror))
}

// Left removes the rows of a session from COUNTERS_DB.
func (o *Orch) Left(s *session) {
	o.counters.Drop(s.Name)
	o.plans.Drop(s.Name)
}
