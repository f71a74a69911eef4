// Package mirror makes MIRROR_SESSION_TABLE of APPL_DB into mirror sessions of the ASIC. Copies of SPAN sessions leave
// at a port unchanged, and copies of ERSPAN sessions are tunnelled to an address. The tunnel follows the routes.
// Without a route the session is inactive. Sessions copy the packets of ACL rules that name them, and the traffic of
// ports.
//
// What belongs here: mirror sessions and the ports that they copy. The use of a session by rules belongs to package
// acl.
package mirror

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports and LAGs that mirror sessions need. portsorch implements it.
type Ports interface {
	// Port returns a port's object and the LAG that it is a member of, or "" if it is not a member.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
	// Changes publishes the names of ports and LAGs that were created, changed their membership, or are about to be
	// removed. The latter are no longer found and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// A Path is how packets to an address leave the switch.
type Path = orch.Path

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Routes orch.Paths // nil means that there is no route to any address
}

// An Orch owns the mirror sessions of the ASIC. All its methods run on the
// daemon's goroutine.
type Orch struct {
	api    sai.API
	log    *slog.Logger
	ports  Ports
	routes orch.Paths

	ledger   *orch.Ledger
	applied  bool // whether the view of the ASIC is complete
	sessions map[string]*session
	bound    map[portAttr]sai.OID // the session that copies one direction of a port
	changes  orch.Topic[[]string]
	state    *swss.Table
	reported map[string]swss.FieldValues // fields of STATE_DB, by session
	encaps   []sai.Enum                  // encapsulations that the ASIC supports by name, besides plain GRE
}

// A session is a session in the ASIC, with its attributes.
type session struct {
	oid     sai.OID
	attrs   []sai.Attr
	leaving bool // whether it must go, or could not be removed
}

// A portAttr is the attribute of a port that holds the session of one direction.
type portAttr struct {
	port sai.OID
	attr sai.AttrID
}

// New registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), ports: cfg.Ports, routes: cfg.Routes,
		sessions: map[string]*session{}, bound: map[portAttr]sai.OID{}, reported: map[string]swss.FieldValues{},
		state: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.AppMirrorSession),
	}
	if has, err := o.api.EnumCapability(ctx, sai.MirrorSessionAttrErspanEncapsulationType); err == nil {
		o.encaps = has
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, orch.LedgerTable{
		Name: schema.AppMirrorSession, Words: orch.Words{Pending: schema.MirrorInactive, Failed: schema.MirrorInactive},
	})
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.ledger.ReconcileNow(ctx) })
	if o.routes != nil {
		o.routes.Changes().Subscribe(func(ctx context.Context, _ struct{}) { o.ledger.ReconcileNow(ctx) })
	}
	return o, nil
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier. While a view
// is being made, capabilities cannot be read, and an unsupported object would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

// Session returns the object of a session that is active and not about to be removed.
func (o *Orch) Session(name string) (sai.OID, bool) {
	s := o.sessions[name]
	if s == nil || s.leaving {
		return 0, false
	}
	return s.oid, true
}

// Changes publishes the sorted names of sessions that were created or are about to be removed. The latter are no longer
// found. Subscribers release them before they return.
func (o *Orch) Changes() *orch.Topic[[]string] { return &o.changes }

// A plan is the target state of the rows.
type plan struct {
	sessions map[string][]sai.Attr
	paths    map[string]Path     // by session; the MAC address is set only for ERSPAN
	to       []netip.Addr        // addresses that sessions lead to
	binds    map[portAttr]string // name of the session
	names    map[portAttr]string // name of the port, for errors
}

func row(name string) orch.RowKey { return orch.Row(schema.AppMirrorSession, name) }

// plan computes the target state, and records the reason for each row that is not in it.
func (o *Orch) plan() *plan {
	p := &plan{
		sessions: map[string][]sai.Attr{}, paths: map[string]Path{},
		binds: map[portAttr]string{}, names: map[portAttr]string{},
	}
	for _, name := range o.ledger.Keys(schema.AppMirrorSession) {
		k := row(name)
		if !o.applied {
			o.ledger.Why[k] = orch.WaitView()
		}
		if o.ledger.Refused(k) || !o.applied {
			continue
		}
		m, err := schema.ParseMirrorSession(name, o.ledger.Rows[k])
		if err == nil {
			err = o.planSession(p, m)
		}
		if err == nil {
			err = o.planSources(p, m)
		}
		if err != nil {
			o.ledger.Why[k] = err
		}
	}
	return p
}

// planSession adds the mirror session of a row and the path to its destination to the plan, or returns why it cannot.
func (o *Orch) planSession(p *plan, m schema.MirrorSession) error {
	path := Path{Port: m.DstPort}
	if m.DstPort == "" {
		if o.routes == nil {
			return orch.Wait("route", m.DstIP.String(), "no route to %s", m.DstIP)
		}
		p.to = append(p.to, m.DstIP)
		var err error
		if path, err = o.routes.Path(m.DstIP); err != nil {
			return err
		}
	}
	var port sai.OID
	var err error
	if path.Port, port, err = path.Exit(o.ports); err != nil {
		return err
	}
	p.paths[m.Name] = path
	attrs := []sai.Attr{
		{ID: sai.MirrorSessionAttrMonitorPort, Value: port},
		{ID: sai.MirrorSessionAttrTC, Value: sai.Uint(m.Queue)},
	}
	if m.DstPort != "" {
		p.sessions[m.Name] = append(attrs, sai.Attr{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeLocal})
		return nil
	}
	encap, err := o.encapsulation(m.GREType)
	if err != nil {
		return err
	}
	version := sai.Uint(6)
	if m.DstIP.Is4() {
		version = 4
	}
	p.sessions[m.Name] = append(attrs,
		sai.Attr{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeEnhancedRemote},
		sai.Attr{ID: sai.MirrorSessionAttrVLANHeaderValid, Value: sai.Bool(path.VLAN != 0)},
		sai.Attr{ID: sai.MirrorSessionAttrVLANID, Value: sai.Uint(path.VLAN)},
		sai.Attr{ID: sai.MirrorSessionAttrErspanEncapsulationType, Value: encap},
		sai.Attr{ID: sai.MirrorSessionAttrIphdrVersion, Value: version},
		sai.Attr{ID: sai.MirrorSessionAttrTOS, Value: sai.Uint(m.DSCP << 2)},
		sai.Attr{ID: sai.MirrorSessionAttrTTL, Value: sai.Uint(m.TTL)},
		sai.Attr{ID: sai.MirrorSessionAttrSrcIPAddress, Value: sai.IP{Addr: m.SrcIP}},
		sai.Attr{ID: sai.MirrorSessionAttrDstIPAddress, Value: sai.IP{Addr: m.DstIP}},
		sai.Attr{ID: sai.MirrorSessionAttrSrcMACAddress, Value: path.Source},
		sai.Attr{ID: sai.MirrorSessionAttrDstMACAddress, Value: path.MAC},
		sai.Attr{ID: sai.MirrorSessionAttrGREProtocolType, Value: sai.Uint(m.GREType)})
	return nil
}

// encapsulation returns the encapsulation of copies with a GRE type. SONiC has only plain GRE. If the ASIC lists ERSPAN
// type II as supported, GRE type 0x88be selects it. Type III is never sent without its header.
func (o *Orch) encapsulation(greType uint16) (sai.Enum, error) {
	switch {
	case greType == schema.DefaultGREType && slices.Contains(o.encaps, sai.ErspanEncapsulationTypeIi):
		return sai.ErspanEncapsulationTypeIi, nil
	case greType != schema.ERSPAN3GREType:
		return sai.ErspanEncapsulationTypeMirrorL3GRETunnel, nil
	case slices.Contains(o.encaps, sai.ErspanEncapsulationTypeIii):
		return sai.ErspanEncapsulationTypeIii, nil
	}
	return 0, fmt.Errorf("gre_type %#04x is ERSPAN type III, whose header the switch cannot make: "+
		"want 0x88be or another type", greType)
}

// planSources adds the ports whose traffic the session copies. A PortChannel stands for its members. The session copies
// the traffic of the existing ports, and waits for the missing ports.
func (o *Orch) planSources(p *plan, m schema.MirrorSession) (missing error) {
	empty, copies := "", false
	for _, src := range m.SrcPorts {
		ports := []string{src}
		if _, members, ok := o.ports.LAG(src); ok {
			if ports = members; len(members) == 0 {
				empty = src
			}
		}
		copies = copies || len(ports) > 0
		for _, name := range ports {
			oid, _, ok := o.ports.Port(name)
			if !ok {
				missing = orch.Wait("port", name, "no port or PortChannel %s", name)
				continue
			}
			if m.Direction != schema.MirrorTX {
				missing = p.bind(portAttr{oid, sai.PortAttrIngressMirrorSession}, m.Name, name, missing)
			}
			if m.Direction != schema.MirrorRX {
				missing = p.bind(portAttr{oid, sai.PortAttrEgressMirrorSession}, m.Name, name, missing)
			}
		}
	}
	if !copies && empty != "" {
		return orch.Wait("PortChannel", empty, "%s has no members: nothing is copied", empty)
	}
	return missing
}

// bind assigns a direction of a port to a session. It returns an error if another session has it.
func (p *plan) bind(s portAttr, session, port string, missing error) error {
	if other, taken := p.binds[s]; taken && other != session {
		return fmt.Errorf("%s is mirrored by session %s", port, other)
	}
	p.binds[s], p.names[s] = session, port
	return missing
}
