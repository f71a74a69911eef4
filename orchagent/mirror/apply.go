package mirror

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// pass brings the ASIC to the target state of rows and routes. A refusal of the ASIC changes the plan.
func (o *Orch) pass(ctx context.Context) error {
	var p *plan
	for range o.ledger.Passes {
		p = o.plan()
		o.removeSessions(ctx, p)
		came := o.makeSessions(ctx, p)
		o.bind(ctx, p)
		if len(came) > 0 {
			o.changes.Publish(ctx, came)
		}
	}
	if o.routes != nil {
		o.routes.Want(ctx, p.to)
	}
	return o.report(ctx, p)
}

// settable contains the attributes that can follow the routes and the row without recreating the session.
var settable = []sai.AttrID{
	sai.MirrorSessionAttrMonitorPort, sai.MirrorSessionAttrTC,
	sai.MirrorSessionAttrVLANHeaderValid, sai.MirrorSessionAttrVLANID,
	sai.MirrorSessionAttrTOS, sai.MirrorSessionAttrTTL,
	sai.MirrorSessionAttrSrcMACAddress, sai.MirrorSessionAttrDstMACAddress,
	sai.MirrorSessionAttrGREProtocolType,
}

// diff returns the attributes to set to turn have into want. ok is false if the session must be recreated.
func diff(have, want []sai.Attr) (sets []sai.Attr, ok bool) {
	if !slices.EqualFunc(have, want, func(a, b sai.Attr) bool { return a.ID == b.ID }) {
		return nil, false
	}
	for i, a := range want {
		if reflect.DeepEqual(have[i].Value, a.Value) {
			continue
		}
		if !slices.Contains(settable, a.ID) {
			return nil, false
		}
		sets = append(sets, a)
	}
	return sets, true
}

// removeSessions removes the sessions that must go, after all users have released them. Failures are tried again in the
// next pass, a second later at the latest.
func (o *Orch) removeSessions(ctx context.Context, p *plan) {
	going, news := o.leaving(p)
	if len(news) > 0 {
		o.changes.Publish(ctx, news)
	}
	o.unbind(ctx, p)
	for _, name := range going {
		err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeMirrorSession, o.sessions[name].oid))
		if err != nil && orch.Classify(err) != orch.Benign {
			o.log.Error("a mirror session stays in the ASIC", "session", name, "err", err)
			o.ledger.Again()
			continue
		}
		delete(o.sessions, name)
	}
}

// leaving marks the sessions that must go and returns their names. news contains the names of the sessions whose users
// have not been notified yet.
func (o *Orch) leaving(p *plan) (going, news []string) {
	for name, s := range o.sessions {
		want, ok := p.sessions[name]
		if ok {
			_, ok = diff(s.attrs, want)
		}
		if ok && !s.leaving {
			continue
		}
		if !s.leaving {
			news = append(news, name)
		}
		s.leaving = true
		going = append(going, name)
	}
	schema.SortNames(going)
	schema.SortNames(news)
	return going, news
}

// unbind removes sessions from ports, if they must go or are no longer assigned to the port.
func (o *Orch) unbind(ctx context.Context, p *plan) {
	for _, s := range sortedAttrs(o.bound) {
		name := p.binds[s]
		if t := o.sessions[name]; t != nil && !t.leaving && t.oid == o.bound[s] {
			continue
		}
		err := o.api.Set(ctx, sai.Obj(sai.ObjectTypePort, s.port), sai.Attr{ID: s.attr, Value: sai.OIDs{}})
		if status, _ := sai.StatusOf(err); err != nil && status != sai.StatusItemNotFound {
			o.log.Error("a port is still mirrored", "port", s.port.String(), "err", err)
			o.ledger.Again()
			continue
		}
		delete(o.bound, s)
	}
}

// makeSessions creates the missing sessions, and changes those that differ.
func (o *Orch) makeSessions(ctx context.Context, p *plan) (came []string) {
	for _, name := range slices.SortedFunc(maps.Keys(p.sessions), schema.CompareNames) {
		want, have := p.sessions[name], o.sessions[name]
		switch {
		case have != nil && have.leaving:
			o.ledger.Why[row(name)] = orch.Wait("mirror session", name, "the former session could not be removed yet")
		case have != nil:
			sets, _ := diff(have.attrs, want)
			if err := o.change(ctx, have, sets, want); err != nil {
				o.ledger.Fail(row(name), "change the mirror session", err)
			}
		default:
			oid, err := o.api.Create(ctx, sai.ObjectTypeMirrorSession, want)
			if err != nil {
				o.ledger.Fail(row(name), "create the mirror session", orch.AtAttr(err, sai.ObjectTypeMirrorSession, want))
				continue
			}
			o.sessions[name] = &session{oid: oid, attrs: want}
			came = append(came, name)
		}
	}
	return came
}

// change sets attributes of a session. If a call fails, nothing changes.
func (o *Orch) change(ctx context.Context, have *session, sets, want []sai.Attr) error {
	var undo orch.Undo
	k := sai.Obj(sai.ObjectTypeMirrorSession, have.oid)
	for _, a := range sets {
		if err := o.api.Set(ctx, k, a); err != nil {
			return orch.Undone(ctx, &undo, fmt.Errorf("set %s: %w", a.ID, err))
		}
		was, _ := sai.Find(have.attrs, a.ID)
		undo.Push(a.ID.String(), func(ctx context.Context) error { return o.api.Set(ctx, k, sai.Attr{ID: a.ID, Value: was}) })
	}
	have.attrs = want
	return nil
}

// bind binds sessions to ports that should be mirrored and are not yet.
func (o *Orch) bind(ctx context.Context, p *plan) {
	for _, s := range sortedAttrs(p.binds) {
		name := p.binds[s]
		t := o.sessions[name]
		if t == nil || t.leaving || o.bound[s] == t.oid || o.ledger.Refused(row(name)) {
			continue
		}
		bind := sai.Attr{ID: s.attr, Value: sai.OIDs{t.oid}}
		if err := o.api.Set(ctx, sai.Obj(sai.ObjectTypePort, s.port), bind); err != nil {
			o.ledger.Fail(row(name), "mirror "+p.names[s], err)
			continue
		}
		o.bound[s] = t.oid
	}
}

// extraFields lists the fields of STATE_DB besides the status, as in SONiC.
var extraFields = []string{"monitor_port", "dst_mac", "next_hop_ip", "vlan_id"}

// report writes the destinations of the sessions to STATE_DB.
func (o *Orch) report(ctx context.Context, p *plan) error {
	for name := range o.reported {
		if o.ledger.Rows[row(name)] != nil {
			continue
		}
		// The row may belong to the manager now, which then writes only the status.
		if err := o.state.HDel(ctx, name, extraFields...); err != nil {
			return err
		}
		delete(o.reported, name)
	}
	for _, name := range o.ledger.Keys(schema.AppMirrorSession) {
		fields := swss.FieldValues{}
		if path, ok := p.paths[name]; ok && o.sessions[name] != nil && !o.sessions[name].leaving {
			fields["monitor_port"] = path.Port
			if path.NextHop.IsValid() {
				fields["dst_mac"], fields["next_hop_ip"] = schema.MAC(path.MAC).String(), path.NextHop.String()
			}
			if path.VLAN != 0 {
				fields["vlan_id"] = fmt.Sprint(path.VLAN)
			}
		}
		if was, ok := o.reported[name]; ok && maps.Equal(was, fields) {
			continue
		}
		if err := o.state.HDel(ctx, name, extraFields...); err != nil {
			return err
		}
		if len(fields) > 0 {
			if err := o.state.Set(ctx, name, fields); err != nil {
				return err
			}
		}
		o.reported[name] = fields
	}
	return nil
}

func sortedAttrs[V any](m map[portAttr]V) []portAttr {
	return slices.SortedFunc(maps.Keys(m), func(a, b portAttr) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.attr, b.attr))
	})
}
