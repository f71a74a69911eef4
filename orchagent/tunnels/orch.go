// Package tunnels makes TUNNEL_DECAP_TABLE and TUNNEL_DECAP_TERM_TABLE of APPL_DB into tunnels of IP in IP that end at
// the ASIC, and their ends. STATE_DB has the outcome of each row with the fields that SONiC's orchagent writes.
//
// Each tunnel has a loopback router interface of its own, in whose virtual router its packets continue. Rows may come
// in any order: an end waits for its tunnel. Of two ends with the same addresses, the one with the smaller key counts.
//
// What belongs here: tunnels that end. Nothing enters a tunnel.
package tunnels

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config is the configuration of an [Orch].
type Config struct {
	SAI      sai.API
	Daemon   *orch.Daemon
	Redis    *swss.Redis
	Router   sai.OID // the default virtual router
	Underlay sai.OID // the switch's loopback router interface
}

// An Orch owns the tunnels of the ASIC. All its methods run on the daemon's goroutine.
type Orch struct {
	api              sai.API
	log              *slog.Logger
	router, underlay sai.OID

	ledger  *orch.Ledger
	applied bool // whether the view of the ASIC is complete
	tunnels map[string]*tunnel
	ends    map[string]*end // by key in APPL_DB

	state    map[string]*swss.Table           // by table of APPL_DB
	reported map[orch.RowKey]swss.FieldValues // SONiC's fields of rows of STATE_DB
}

// A tunnel is a tunnel in the ASIC.
type tunnel struct {
	oid, overlay sai.OID // overlay is its loopback router interface
	spec         schema.TunnelDecap
}

// An end is the end of a tunnel in the ASIC.
type end struct {
	oid, tunnel sai.OID
	spec        schema.TunnelTerm
}

// New registers the handlers on the daemon.
func New(cfg Config) *Orch {
	state := cfg.Redis.DB(swss.StateDB)
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), router: cfg.Router, underlay: cfg.Underlay,
		tunnels: map[string]*tunnel{}, ends: map[string]*end{}, reported: map[orch.RowKey]swss.FieldValues{},
		state: map[string]*swss.Table{schema.AppTunnel: swss.NewTable(state, schema.AppTunnel),
			schema.AppTunnelTerm: swss.NewTable(state, schema.AppTunnelTerm)},
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass,
		orch.LedgerTable{Name: schema.AppTunnel}, orch.LedgerTable{Name: schema.AppTunnelTerm})
	cfg.Daemon.AfterHold(o.dropFormer)
	return o
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier, because an
// object that the ASIC does not support would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

// A plan is the target state of the rows, by key.
type plan struct {
	tunnels map[string]schema.TunnelDecap
	ends    map[string]schema.TunnelTerm
}

// plan computes the target state, and records the reason for each row that is not in it.
func (o *Orch) plan() plan {
	p := plan{map[string]schema.TunnelDecap{}, map[string]schema.TunnelTerm{}}
	for _, name := range o.ledger.Keys(schema.AppTunnel) {
		k := orch.Row(schema.AppTunnel, name)
		if o.ledger.Refused(k) {
			continue
		}
		t, err := schema.ParseTunnelDecap(name, o.ledger.Rows[k])
		if err == nil && !o.applied {
			err = orch.WaitView()
		}
		if err != nil {
			o.ledger.Why[k] = err
			continue
		}
		p.tunnels[name] = t
	}
	at := map[[2]netip.Addr]string{} // keys of ends, by their addresses
	for _, key := range o.ledger.Keys(schema.AppTunnelTerm) {
		k := orch.Row(schema.AppTunnelTerm, key)
		if o.ledger.Refused(k) {
			continue
		}
		e, err := schema.ParseTunnelTerm(schema.ConfigKey(key), o.ledger.Rows[k])
		other := at[[2]netip.Addr{e.Dst, e.Src}]
		switch _, there := p.tunnels[e.Tunnel]; {
		case err != nil:
		case !there:
			err = orch.Wait(schema.CfgTunnel, e.Tunnel, "no tunnel %s", e.Tunnel)
		case other != "":
			err = fmt.Errorf("a tunnel ends there already: %s, want one end for each pair of addresses", other)
		}
		if err != nil {
			o.ledger.Why[k] = err
			continue
		}
		p.ends[key], at[[2]netip.Addr{e.Dst, e.Src}] = e, key
	}
	return p
}

// pass brings the ASIC to the target state of the rows.
func (o *Orch) pass(ctx context.Context) error {
	for range o.ledger.Passes {
		p := o.plan()
		o.removeEnds(ctx, p)
		o.removeTunnels(ctx, p)
		o.makeTunnels(ctx, p)
		o.makeEnds(ctx, p)
	}
	o.blameEnds()
	return o.report(ctx)
}

// again reports whether a tunnel must be created again to become another: the ECN mode of a tunnel stays.
func (t *tunnel) again(want schema.TunnelDecap) bool { return t.spec.ECN != want.ECN }

// removeEnds removes the ends that are not wanted, have changed, or whose tunnel must leave.
func (o *Orch) removeEnds(ctx context.Context, p plan) {
	for _, key := range slices.SortedFunc(maps.Keys(o.ends), schema.CompareNames) {
		e := o.ends[key]
		want, stays := p.ends[key]
		if t := o.tunnels[e.spec.Tunnel]; stays && want == e.spec && t.oid == e.tunnel && !t.again(p.tunnels[want.Tunnel]) {
			continue
		}
		if o.remove(ctx, orch.Row(schema.AppTunnelTerm, key), sai.Obj(sai.ObjectTypeTunnelTermTableEntry, e.oid)) {
			delete(o.ends, key)
		}
	}
}

// removeTunnels removes the tunnels that are not wanted or must be created again, with their router interfaces.
func (o *Orch) removeTunnels(ctx context.Context, p plan) {
	for _, name := range slices.SortedFunc(maps.Keys(o.tunnels), schema.CompareNames) {
		t := o.tunnels[name]
		if want, stays := p.tunnels[name]; stays && t.oid != sai.NullOID && !t.again(want) {
			continue
		}
		row := orch.Row(schema.AppTunnel, name)
		if t.oid != sai.NullOID && !o.remove(ctx, row, sai.Obj(sai.ObjectTypeTunnel, t.oid)) {
			continue
		}
		if t.oid = sai.NullOID; o.remove(ctx, row, sai.Obj(sai.ObjectTypeRouterInterface, t.overlay)) {
			delete(o.tunnels, name)
		}
	}
}

// remove removes an object. If that fails, another pass tries it again soon.
func (o *Orch) remove(ctx context.Context, row orch.RowKey, k sai.Key) bool {
	err := o.api.Remove(ctx, k)
	if err == nil || orch.Classify(err) == orch.Benign {
		o.ledger.Freed()
		return true
	}
	o.ledger.LogError("a part of a tunnel stays in the ASIC", "row", row.String(), "err", err)
	o.ledger.Again()
	if o.ledger.Rows[row] != nil {
		o.ledger.Why[row] = fmt.Errorf("its former object stays in the ASIC: %w", err)
	}
	return false
}

// makeTunnels creates the missing tunnels, and changes the modes of existing ones.
func (o *Orch) makeTunnels(ctx context.Context, p plan) {
	for _, name := range slices.SortedFunc(maps.Keys(p.tunnels), schema.CompareNames) {
		k, want := orch.Row(schema.AppTunnel, name), p.tunnels[name]
		switch t := o.tunnels[name]; {
		case t == nil:
			if err := o.makeTunnel(ctx, want); err != nil {
				o.ledger.Fail(k, "create the tunnel", err)
			}
		case t.oid == sai.NullOID || t.again(want): // it could not be removed
		default:
			if err := o.change(ctx, t, want); err != nil {
				o.ledger.Fail(k, "change the tunnel", err)
			}
		}
	}
}

func (o *Orch) makeTunnel(ctx context.Context, spec schema.TunnelDecap) error {
	loopback := []sai.Attr{{ID: sai.RouterInterfaceAttrVirtualRouterID, Value: o.router},
		{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypeLoopback}}
	overlay, err := o.api.Create(ctx, sai.ObjectTypeRouterInterface, loopback)
	if err != nil {
		return orch.AtAttr(err, sai.ObjectTypeRouterInterface, loopback)
	}
	ecn := sai.TunnelDecapECNModeStandard
	if spec.ECN == schema.TunnelCopyOuter {
		ecn = sai.TunnelDecapECNModeCopyFromOuter
	}
	attrs := []sai.Attr{
		{ID: sai.TunnelAttrType, Value: sai.TunnelTypeIpinip},
		{ID: sai.TunnelAttrOverlayInterface, Value: overlay},
		{ID: sai.TunnelAttrUnderlayInterface, Value: o.underlay},
		{ID: sai.TunnelAttrDecapECNMode, Value: ecn}, ttlAttr(spec), dscpAttr(spec),
	}
	oid, err := o.api.Create(ctx, sai.ObjectTypeTunnel, attrs)
	if err != nil {
		o.tunnels[spec.Name] = &tunnel{overlay: overlay}
		if o.remove(ctx, orch.Row(schema.AppTunnel, spec.Name), sai.Obj(sai.ObjectTypeRouterInterface, overlay)) {
			delete(o.tunnels, spec.Name)
		}
		return orch.AtAttr(err, sai.ObjectTypeTunnel, attrs)
	}
	o.tunnels[spec.Name] = &tunnel{oid, overlay, spec}
	return nil
}

func ttlAttr(spec schema.TunnelDecap) sai.Attr {
	if spec.TTL == schema.TunnelPipe {
		return sai.Attr{ID: sai.TunnelAttrDecapTTLMode, Value: sai.TunnelTTLModePipeModel}
	}
	return sai.Attr{ID: sai.TunnelAttrDecapTTLMode, Value: sai.TunnelTTLModeUniformModel}
}

func dscpAttr(spec schema.TunnelDecap) sai.Attr {
	if spec.DSCP == schema.TunnelPipe {
		return sai.Attr{ID: sai.TunnelAttrDecapDSCPMode, Value: sai.TunnelDSCPModePipeModel}
	}
	return sai.Attr{ID: sai.TunnelAttrDecapDSCPMode, Value: sai.TunnelDSCPModeUniformModel}
}

// change sets the modes of a tunnel that differ.
func (o *Orch) change(ctx context.Context, t *tunnel, want schema.TunnelDecap) error {
	for _, m := range []struct {
		have *string
		want string
		attr sai.Attr
	}{{&t.spec.TTL, want.TTL, ttlAttr(want)}, {&t.spec.DSCP, want.DSCP, dscpAttr(want)}} {
		if *m.have == m.want {
			continue
		}
		if err := o.api.Set(ctx, sai.Obj(sai.ObjectTypeTunnel, t.oid), m.attr); err != nil {
			return fmt.Errorf("set %s: %w", m.attr.ID, err)
		}
		*m.have = m.want
	}
	return nil
}

// makeEnds creates the missing ends of tunnels in the ASIC.
func (o *Orch) makeEnds(ctx context.Context, p plan) {
	for _, key := range slices.SortedFunc(maps.Keys(p.ends), schema.CompareNames) {
		k, spec := orch.Row(schema.AppTunnelTerm, key), p.ends[key]
		t := o.tunnels[spec.Tunnel]
		if o.ends[key] != nil || o.ledger.Why[k] != nil {
			continue
		}
		if t == nil || t.oid == sai.NullOID || o.ledger.Failed[orch.Row(schema.AppTunnel, spec.Tunnel)] != nil {
			o.ledger.Why[k] = orch.Wait(schema.CfgTunnel, spec.Tunnel, "the tunnel %s is not in the ASIC", spec.Tunnel)
			continue
		}
		attrs := []sai.Attr{
			{ID: sai.TunnelTermTableEntryAttrVrID, Value: o.router},
			{ID: sai.TunnelTermTableEntryAttrType, Value: sai.TunnelTermTableEntryTypeP2mp},
			{ID: sai.TunnelTermTableEntryAttrTunnelType, Value: sai.TunnelTypeIpinip},
			{ID: sai.TunnelTermTableEntryAttrActionTunnelID, Value: t.oid},
			{ID: sai.TunnelTermTableEntryAttrDstIP, Value: sai.IP{Addr: spec.Dst}},
		}
		if spec.Src.IsValid() {
			attrs[1].Value = sai.TunnelTermTableEntryTypeP2p
			attrs = append(attrs, sai.Attr{ID: sai.TunnelTermTableEntryAttrSrcIP, Value: sai.IP{Addr: spec.Src}})
		}
		oid, err := o.api.Create(ctx, sai.ObjectTypeTunnelTermTableEntry, attrs)
		if err != nil {
			o.ledger.Fail(k, "create the end of the tunnel", orch.AtAttr(err, sai.ObjectTypeTunnelTermTableEntry, attrs))
			continue
		}
		o.ends[key] = &end{oid, t.oid, spec}
	}
}

// blameEnds reports the error of an end also for its row of CONFIG_DB, which is that of its tunnel.
func (o *Orch) blameEnds() {
	for _, key := range o.ledger.Keys(schema.AppTunnelTerm) {
		k := orch.Row(schema.AppTunnelTerm, key)
		err := o.ledger.Failed[k]
		if err == nil {
			err = o.ledger.Why[k]
		}
		of := orch.Row(schema.AppTunnel, o.ledger.Rows[k][schema.FieldConfigKey])
		if err != nil && o.ledger.Rows[of] != nil && o.ledger.Why[of] == nil && o.ledger.Failed[of] == nil {
			o.ledger.Why[of] = fmt.Errorf("%s: %w", schema.ConfigKey(key), err)
		}
	}
}

// dropFormer removes the fields that a former process wrote for tunnels that are gone.
func (o *Orch) dropFormer(ctx context.Context) error {
	for table, rows := range o.state {
		all, err := rows.Dump(ctx)
		if err != nil {
			return err
		}
		fields := schema.TunnelDecap{}.Fields()
		if table == schema.AppTunnelTerm {
			fields = schema.TunnelTerm{}.Fields()
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			k := orch.Row(table, strings.Replace(key, "|", ":", 1))
			if o.reported[k] == nil && !o.ledger.Refused(k) {
				if err := rows.HDel(ctx, key, slices.Sorted(maps.Keys(fields))...); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// report writes the fields of tunnels and ends in the ASIC to STATE_DB, as SONiC does.
func (o *Orch) report(ctx context.Context) error {
	is := map[orch.RowKey]swss.FieldValues{}
	for name, t := range o.tunnels {
		if t.oid != sai.NullOID {
			is[orch.Row(schema.AppTunnel, name)] = t.spec.Fields()
		}
	}
	for key, e := range o.ends {
		is[orch.Row(schema.AppTunnelTerm, key)] = e.spec.Fields()
	}
	for k, was := range o.reported {
		if maps.Equal(was, is[k]) {
			continue
		}
		if err := o.state[k.Table].HDel(ctx, schema.ConfigKey(k.Key), slices.Sorted(maps.Keys(was))...); err != nil {
			return err
		}
		delete(o.reported, k)
	}
	for k, fields := range is {
		if o.reported[k] != nil {
			continue
		}
		if err := o.state[k.Table].Set(ctx, schema.ConfigKey(k.Key), fields); err != nil {
			return err
		}
		o.reported[k] = fields
	}
	return nil
}
