package recordorch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/tam/record"
)

// What tunnels of records look like; the same as mirror sessions have by default.
const (
	sourcePort = 49152 // of UDP: the first that nobody may register
	tunnelTOS  = 8 << 2
	tunnelTTL  = 255
)

// A binding is a session in the ASIC, or on its way there or from there.
type binding struct {
	row     schema.RecordFlow
	scheme  *scheme
	label   record.ChipSession
	attrs   []sai.Attr // of the mirror session
	joined  bool       // the label is in the plan's object
	mirror  sai.OID
	entry   bool // there may be an ACL entry
	leaving bool // has to go
	told    *record.Plan
}

// labelOf is how the chip knows a session. SAI takes 15 characters.
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
	way, err := o.routes.Way(to, row.Source)
	if err != nil {
		return t, err
	}
	if _, members, ok := o.ports.LAG(way.Port); ok {
		if len(members) == 0 {
			return t, orch.Wait("PortChannel", way.Port, "%s has no members", way.Port)
		}
		way.Port = members[0] // as mirror sessions do
	}
	port, _, ok := o.ports.Port(way.Port)
	if !ok {
		return t, orch.Wait("port", way.Port, "no port %s", way.Port)
	}
	t.label = record.ChipSession{Label: labelOf(row.Name), Sample: row.Sampling}
	t.attrs = []sai.Attr{
		{ID: sai.MirrorSessionAttrMonitorPort, Value: port},
		{ID: sai.MirrorSessionAttrTruncateSize, Value: sai.Uint(row.Truncate)},
		{ID: sai.MirrorSessionAttrLabel, Value: sai.Text(t.label.Label)},
	}
	if row.Encapsulation == schema.RecordUDP {
		t.label.Tunnel = &record.ChipTunnel{
			SrcIP: way.Address, DstIP: to, SrcMAC: schema.MAC(way.Source).String(), DstMAC: schema.MAC(way.MAC).String(), TOS: tunnelTOS,
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

// mirrorTo is the entry of a flow group: packets are mirrored.
func mirrorTo(session sai.OID) []orch.ACLVariant {
	return []orch.ACLVariant{{Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionMirrorIngress, Value: sai.Do(sai.OIDs{session})}}}}
}

// pass takes down the sessions that must not be in the ASIC as they are, changes those
// whose way has changed, and brings up those that are missing. If that leaves room,
// those that had none are looked at again in the next.
func (o *Orch) pass(ctx context.Context, sessions []*session) {
	before := o.bound
	up := map[*session]tunnel{}
	for _, s := range sessions {
		t, c, err := o.want(ctx, s)
		s.err = err
		switch {
		case s.on == nil:
		case err == nil && o.asItIs(s, c) && o.change(ctx, s, t):
			o.tell(ctx, s)
			continue
		default:
			if down := o.takeDown(ctx, s); down != nil {
				s.err = down
				continue
			}
		}
		if s.err == nil {
			up[s] = t
		}
	}
	if o.bound < before {
		maps.Copy(o.dirty, o.again)
	}
	for _, s := range sessions {
		if t, ok := up[s]; ok {
			s.err = o.bringUp(ctx, s, t)
		}
	}
	o.dropSchemes()
	for _, s := range sessions {
		o.settle(ctx, s)
	}
}

// want finds what a session has to be, or why it is not to be.
func (o *Orch) want(ctx context.Context, s *session) (t tunnel, c *scheme, err error) {
	if err = o.wanted(s); err != nil {
		return t, nil, err
	}
	if t, err = o.tunnel(s.row); err != nil {
		return t, nil, err
	}
	c, err = o.scheme(ctx, s.row.RecordSettings)
	return t, c, err
}

// asItIs says whether a session can stay in the ASIC.
func (o *Orch) asItIs(s *session, c *scheme) bool {
	b := s.on
	if _, _, ok := o.rules.VariantCounter(b.row.Rule, feature, ""); !ok {
		return false // the rule's entry is gone
	}
	return !b.leaving && b.scheme == c && c.current() && reflect.DeepEqual(b.row, s.row)
}

// settable are the attributes that follow the way without the session being made anew.
var settable = []sai.AttrID{
	sai.MirrorSessionAttrMonitorPort, sai.MirrorSessionAttrSrcIPAddress, sai.MirrorSessionAttrSrcMACAddress, sai.MirrorSessionAttrDstMACAddress,
}

// change has a session follow the way to its collector, all steps or none. It returns
// false if it could not: the session has to be made anew.
func (o *Orch) change(ctx context.Context, s *session, t tunnel) bool {
	b := s.on
	var undo orch.Undo
	back := func(what string, err error) bool {
		o.log.Error("table recording session", "session", s.name, "err", orch.Undone(ctx, &undo, fmt.Errorf("%s: %w", what, err)))
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
		if err := o.api.Set(ctx, k, a); err != nil {
			return back("set "+a.ID.String(), err)
		}
		undo.Push(a.ID.String(), func(ctx context.Context) error { return o.api.Set(ctx, k, was) })
	}
	b.attrs, b.label = t.attrs, t.label
	return true
}

// bringUp makes a session: its label in the plan, the mirror session, the ACL entry. If
// a step fails, those before it are undone.
func (o *Orch) bringUp(ctx context.Context, s *session, t tunnel) error {
	c, err := o.scheme(ctx, s.row.RecordSettings)
	if err != nil {
		return err
	}
	s.on = &binding{row: s.row, scheme: c, label: t.label, attrs: t.attrs}
	o.bound++
	if err = o.steps(ctx, s); err == nil {
		o.books.begin(s.name)
		o.tell(ctx, s)
		return nil
	}
	o.log.Error("table recording session", "session", s.name, "err", err)
	if undo := o.takeDown(ctx, s); undo != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undo)
	}
	return err
}

// tell says by which plan a session records.
func (o *Orch) tell(ctx context.Context, s *session) {
	b := s.on
	if b.told == b.scheme.plan {
		return
	}
	if err := o.books.plan(s.name, b.scheme.plan); err != nil {
		o.log.Error("table recording session", "session", s.name, "err", err)
		return
	}
	b.told = b.scheme.plan
	o.planned.Publish(ctx, Planned{s.name, b.told})
}

func (o *Orch) steps(ctx context.Context, s *session) error {
	b := s.on
	err := o.join(ctx, b.scheme, b.label)
	if err != nil {
		return err
	}
	b.joined = true
	if b.mirror, err = o.api.Create(ctx, sai.ObjectTypeMirrorSession, b.attrs); err != nil {
		b.mirror = sai.NullOID
		return fmt.Errorf("create the mirror session: %w", orch.AtAttr(err, sai.ObjectTypeMirrorSession, b.attrs))
	}
	b.entry = true
	return o.rules.BindVariants(ctx, feature, []schema.ACLRuleKey{b.row.Rule}, []string{s.name}, [][]orch.ACLVariant{mirrorTo(b.mirror)})[0]
}

// takeDown takes a session out of the ASIC, the last step first. What fails is tried
// again from there.
func (o *Orch) takeDown(ctx context.Context, s *session) error {
	b := s.on
	b.leaving = true
	if b.entry {
		if err := o.rules.UnbindMany(ctx, feature, []schema.ACLRuleKey{b.row.Rule}, []string{s.name})[0]; err != nil {
			return fmt.Errorf("detach from ACL rule %s: %w", b.row.Rule, err)
		}
		b.entry = false
	}
	if b.mirror != sai.NullOID {
		if err := o.remove(ctx, sai.Obj(sai.ObjectTypeMirrorSession, b.mirror)); err != nil {
			return fmt.Errorf("remove the mirror session: %w", err)
		}
		b.mirror = sai.NullOID
	}
	if b.joined {
		if err := o.part(ctx, b.scheme, b.label.Label); err != nil {
			return err
		}
	}
	o.books.end(s.name)
	s.on = nil
	o.bound--
	return nil
}
