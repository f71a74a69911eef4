package ports

import (
	"context"
	"fmt"
	"log/slog"

	"tamtam/orch"
	"tamtam/sai"
)

// An asic holds the ports, LAGs and VLANs in the ASIC, and changes single objects. It is independent of rows.
type asic struct {
	api  sai.API
	log  *slog.Logger
	chip *chip

	ports       map[string]*port
	byOID       map[sai.OID]string
	lags        map[string]*lag
	lagMembers  map[member]*lagMember
	vlans       map[string]sai.OID
	vlanMembers map[member]*vlanMember
}

func newASIC(api sai.API, log *slog.Logger, c *chip) asic {
	return asic{
		api: api, log: log, chip: c,
		ports: map[string]*port{}, byOID: map[sai.OID]string{}, lags: map[string]*lag{},
		lagMembers: map[member]*lagMember{}, vlans: map[string]sai.OID{}, vlanMembers: map[member]*vlanMember{},
	}
}

func (a *asic) remove(ctx context.Context, t sai.ObjectType, oid sai.OID) error {
	return a.api.Remove(ctx, sai.Obj(t, oid))
}

func (a *asic) set(ctx context.Context, t sai.ObjectType, oid sai.OID, id sai.AttrID, v sai.Value) error {
	return a.api.Set(ctx, sai.Obj(t, oid), sai.Attr{ID: id, Value: v})
}

// lagUp reports whether the LAG has at least its minimum number of sending members on ports that are up.
func (a *asic) lagUp(name string) bool {
	links := 0
	for m, is := range a.lagMembers {
		if m.group == name && is.distributes && a.ports[m.port].oper == sai.PortOperStatusUp {
			links++
		}
	}
	return links > 0 && links >= a.lags[name].minLinks
}

// vlansUp returns the VLANs with at least one member that is up.
func (a *asic) vlansUp() map[string]bool {
	up, vlans := map[string]bool{}, map[string]bool{}
	for name, p := range a.ports {
		up[name] = p.oper == sai.PortOperStatusUp
	}
	for name := range a.lags {
		up[name] = a.lagUp(name)
	}
	for m := range a.vlanMembers {
		if up[m.port] {
			vlans[m.group] = true
		}
	}
	return vlans
}

// downWith returns the names that are down when a port is down. The result contains the port itself, and its LAG if the
// LAG is not up without the port.
func (a *asic) downWith(name string) []string {
	down := []string{name}
	if lag := a.ports[name].lag; lag != "" && !a.lagUp(lag) {
		down = append(down, lag)
	}
	return down
}

// removeFromASIC removes a port object. If the ASIC refuses, it first removes the SerDes settings that the ASIC may
// have created with the port: the port is in use while they exist.
func (a *asic) removeFromASIC(ctx context.Context, oid sai.OID) error {
	err := a.remove(ctx, sai.ObjectTypePort, oid)
	if _, answered := sai.StatusOf(err); err != nil && answered {
		serdes, readErr := getOID(ctx, a.api, sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrPortSerdesID)
		if readErr == nil && serdes != sai.NullOID {
			if err := a.remove(ctx, sai.ObjectTypePortSerdes, serdes); err != nil {
				return fmt.Errorf("remove the SerDes settings: %w", err)
			}
			err = a.remove(ctx, sai.ObjectTypePort, oid)
		}
	}
	if err != nil {
		return fmt.Errorf("remove the port: %w", err)
	}
	return nil
}

// update sets speed, MTU and admin state if they differ from the programmed values.
func (a *asic) update(ctx context.Context, have *port, want portSpec) error {
	if have.spec.speed != want.speed {
		if err := a.set(ctx, sai.ObjectTypePort, have.oid, sai.PortAttrSpeed, sai.Uint(want.speed)); err != nil {
			return fmt.Errorf("set the speed to %d Mbit/s: %w", want.speed, a.chip.limits.refused(want, sai.PortAttrSpeed, err))
		}
		have.spec.speed = want.speed
	}
	if have.spec.mtu != want.mtu {
		if err := a.set(ctx, sai.ObjectTypePort, have.oid, sai.PortAttrMTU, sai.Uint(want.mtu+overhead)); err != nil {
			return fmt.Errorf("set the MTU to %d: %w", want.mtu, err)
		}
		have.spec.mtu = want.mtu
	}
	if have.spec.up != want.up {
		if err := a.set(ctx, sai.ObjectTypePort, have.oid, sai.PortAttrAdminState, sai.Bool(want.up)); err != nil {
			return fmt.Errorf("set the admin state: %w", err)
		}
		have.spec.up = want.up
	}
	return nil
}

// readOper reads the oper status. Some ASICs do not report it for a new port. Then it is unknown until a notification
// arrives.
func (a *asic) readOper(ctx context.Context, p *port) error {
	got, err := a.api.Get(ctx, sai.Obj(sai.ObjectTypePort, p.oid), []sai.Attr{sai.Want(sai.PortAttrOperStatus, 0)})
	if status, answered := sai.StatusOf(err); err != nil && answered {
		a.log.Warn("oper status unknown", "port", p.oid.String(), "status", status.String())
		p.oper = sai.PortOperStatusUnknown
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the oper status: %w", err)
	}
	p.oper, _ = got[0].Value.(sai.Enum)
	return nil
}

// bridgedOf returns the port or LAG of this name, with its object. It returns nil if it is not in the ASIC or must be
// removed.
func (a *asic) bridgedOf(name string) (*bridged, sai.Key) {
	if p, l := a.ports[name], a.lags[name]; p != nil && p.leaving || l != nil && l.leaving {
		return nil, sai.Key{}
	}
	return a.bridge(name)
}

// bridge returns the port or LAG of this name, with its object, even if it must be removed. It returns nil if it is not
// in the ASIC.
func (a *asic) bridge(name string) (*bridged, sai.Key) {
	if p := a.ports[name]; p != nil {
		return &p.bridged, sai.Obj(sai.ObjectTypePort, p.oid)
	}
	if l := a.lags[name]; l != nil {
		return &l.bridged, sai.Obj(sai.ObjectTypeLAG, l.oid)
	}
	return nil, sai.Key{}
}

func (a *asic) setPVID(ctx context.Context, b *bridged, k sai.Key, vlan uint16) error {
	id := sai.PortAttrPortVLANID
	if k.Type == sai.ObjectTypeLAG {
		id = sai.LAGAttrPortVLANID
	}
	if err := a.api.Set(ctx, k, sai.Attr{ID: id, Value: sai.Uint(vlan)}); err != nil {
		return fmt.Errorf("set the port VLAN to %d: %w", vlan, err)
	}
	b.pvid = vlan
	return nil
}

// tagHost sets whether frames to the host interface of a port keep their tag.
func (a *asic) tagHost(ctx context.Context, name string, how sai.Enum) error {
	p := a.ports[name]
	if p == nil || p.hostif == 0 {
		return nil
	}
	return a.set(ctx, sai.ObjectTypeHostif, p.hostif, sai.HostifAttrVLANTag, how)
}

// addBridgePort adds a port or LAG to the bridge, unless the bridge already has it.
func (a *asic) addBridgePort(ctx context.Context, undo *orch.Undo, name string, b *bridged, oid sai.OID) error {
	if b.bridgePort != 0 {
		return nil
	}
	bp, err := a.api.Create(ctx, sai.ObjectTypeBridgePort, []sai.Attr{
		{ID: sai.BridgePortAttrType, Value: sai.BridgePortTypePort},
		{ID: sai.BridgePortAttrPortID, Value: oid},
		{ID: sai.BridgePortAttrAdminState, Value: sai.Bool(true)},
		{ID: sai.BridgePortAttrFDBLearningMode, Value: sai.BridgePortFDBLearningModeHW},
	})
	if err != nil {
		return fmt.Errorf("create the bridge port of %s: %w", name, err)
	}
	b.bridgePort = bp
	undo.Push("bridge port of "+name, func(ctx context.Context) error {
		b.bridgePort = 0
		return a.remove(ctx, sai.ObjectTypeBridgePort, bp)
	})
	if err := a.tagHost(ctx, name, sai.HostifVLANTagKeep); err != nil {
		return fmt.Errorf("set the host interface of %s to keep tags: %w", name, err)
	}
	undo.Push("host interface of "+name, func(ctx context.Context) error {
		return a.tagHost(ctx, name, sai.HostifVLANTagStrip)
	})
	return nil
}

func (a *asic) removeBridgePort(ctx context.Context, name string, b *bridged) error {
	err := a.set(ctx, sai.ObjectTypeBridgePort, b.bridgePort, sai.BridgePortAttrAdminState, sai.Bool(false))
	if err != nil {
		return fmt.Errorf("set the bridge port down: %w", err)
	}
	flush := []sai.Attr{{ID: sai.FDBFlushAttrBridgePortID, Value: b.bridgePort}}
	if err := a.api.FlushFDB(ctx, flush); err != nil {
		return fmt.Errorf("flush the addresses learned: %w", err)
	}
	if err := a.remove(ctx, sai.ObjectTypeBridgePort, b.bridgePort); err != nil {
		return fmt.Errorf("remove the bridge port: %w", err)
	}
	b.bridgePort = 0
	return a.tagHost(ctx, name, sai.HostifVLANTagStrip)
}

func (a *asic) createMember(ctx context.Context, m member, does traffic) error {
	attrs := []sai.Attr{
		{ID: sai.LAGMemberAttrLAGID, Value: a.lags[m.group].oid},
		{ID: sai.LAGMemberAttrPortID, Value: a.ports[m.port].oid},
	}
	if !does.distributes {
		attrs = append(attrs, sai.Attr{ID: sai.LAGMemberAttrEgressDisable, Value: sai.Bool(true)})
	}
	if !does.collects {
		attrs = append(attrs, sai.Attr{ID: sai.LAGMemberAttrIngressDisable, Value: sai.Bool(true)})
	}
	oid, err := a.api.Create(ctx, sai.ObjectTypeLAGMember, attrs)
	if err != nil {
		return err
	}
	a.lagMembers[m] = &lagMember{oid, does}
	return nil
}

// replaced reports whether a port must be removed from the ASIC, because its row was deleted or now names other lanes,
// or did so when an earlier removal failed.
func (a *asic) replaced(p *plan, name string) bool {
	have := a.ports[name]
	want, ok := p.ports[name]
	return have != nil && (have.leaving || !ok || laneKey(want.lanes) != laneKey(have.spec.lanes))
}
