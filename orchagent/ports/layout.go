package ports

import (
	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A RouterPort is an object on which a router interface can be made.
type RouterPort struct {
	Key sai.Key // the port, LAG or VLAN
	MTU uint32  // as configured, in bytes
}

// RouterPort returns the object for a router interface of this name. This is a VLAN, or a port or PortChannel that is
// in no VLAN and no PortChannel. If there can be none, the error is the reason. The answer follows the plan, so that an
// interface is removed before its port gets another use.
func (o *Orch) RouterPort(name string) (RouterPort, error) {
	p := o.plan
	if p == nil {
		return RouterPort{}, orch.Wait("port", name, "the ports are not there yet")
	}
	if _, ok := schema.VLANNumber(name); ok {
		oid, there := o.asic.vlans[name]
		if _, planned := p.vlans[name]; !planned || !there {
			return RouterPort{}, orch.Wait("VLAN", name, "VLAN %s is not in the ASIC", name)
		}
		return RouterPort{sai.Obj(sai.ObjectTypeVLAN, oid), p.mtu[name]}, nil
	}
	b, key := o.asic.bridgedOf(name)
	switch {
	case b == nil || o.asic.replaced(p, name) || key.Type == sai.ObjectTypeLAG && !p.lags[name]:
		return RouterPort{}, orch.Wait("port", name, "port %s is not in the ASIC", name)
	case p.lagOf[name] != "":
		return RouterPort{}, orch.Wait("port", name, "%s is a member of %s", name, p.lagOf[name])
	case o.asic.ports[name] != nil && o.asic.ports[name].lag != "":
		return RouterPort{}, orch.Wait("port", name, "%s is still a member of %s", name, o.asic.ports[name].lag)
	case p.bridged()[name]:
		return RouterPort{}, orch.Wait("port", name, "%s is a member of %s", name, p.vlanOf(name))
	case b.bridgePort != 0:
		return RouterPort{}, orch.Wait("port", name, "%s is still on the bridge", name)
	}
	return RouterPort{key, p.mtu[name]}, nil
}

// vlanOf returns the first VLAN that a port or LAG is a member of, or "".
func (p *plan) vlanOf(name string) string {
	for _, m := range sortedMembers(p.vlanMembers) {
		if m.port == name {
			return m.group
		}
	}
	return ""
}

// BridgePort returns the VLAN and the bridge port of a port or PortChannel that is a member of the VLAN and stays one.
func (o *Orch) BridgePort(vlan, port string) (vlanOID, bridgePort sai.OID, err error) {
	m := member{vlan, port}
	if p := o.plan; p == nil || o.asic.vlanMembers[m] == nil {
		return 0, 0, orch.Wait("VLAN member", m.String(), "%s is not a member of %s", port, vlan)
	} else if _, planned := p.vlanMembers[m]; !planned || o.asic.replaced(p, port) {
		return 0, 0, orch.Wait("VLAN member", m.String(), "%s is no longer a member of %s", port, vlan)
	}
	b, _ := o.asic.bridgedOf(port)
	if b == nil || b.bridgePort == 0 {
		return 0, 0, orch.Wait("VLAN member", m.String(), "%s is not on the bridge", port)
	}
	return o.asic.vlans[vlan], b.bridgePort, nil
}

// BridgePortOf returns the bridge port of a port or PortChannel, or 0 if it has none.
func (o *Orch) BridgePortOf(name string) sai.OID {
	if b, _ := o.asic.bridgedOf(name); b != nil {
		return b.bridgePort
	}
	return 0
}

// BridgePortName returns the port or PortChannel with the bridge port, or "" if there is none.
func (o *Orch) BridgePortName(oid sai.OID) string {
	for name, p := range o.asic.ports {
		if p.bridgePort == oid && oid != 0 {
			return name
		}
	}
	for name, l := range o.asic.lags {
		if l.bridgePort == oid && oid != 0 {
			return name
		}
	}
	return ""
}

// VLANName returns the name of a VLAN, or "" if there is none.
func (o *Orch) VLANName(oid sai.OID) string {
	for name, v := range o.asic.vlans {
		if v == oid {
			return name
		}
	}
	return ""
}

// VLANMembers returns the VLAN members that are in the ASIC and stay, as sorted pairs of VLAN and port.
func (o *Orch) VLANMembers() (list [][2]string) {
	for _, m := range sortedMembers(o.asic.vlanMembers) {
		if _, planned := o.plan.vlanMembers[m]; planned && !o.asic.replaced(o.plan, m.port) {
			list = append(list, [2]string{m.group, m.port})
		}
	}
	return list
}

// Up reports whether a port or PortChannel is up.
func (o *Orch) Up(name string) bool {
	if p := o.asic.ports[name]; p != nil {
		return p.oper == sai.PortOperStatusUp
	}
	return o.asic.lags[name] != nil && o.asic.lagUp(name)
}

// MAC returns the switch's own address.
func (o *Orch) MAC() sai.MAC { return o.mac.now }

// CPU returns the CPU port.
func (o *Orch) CPU() sai.OID { return o.asic.chip.cpu }

// Layout publishes that a port, PortChannel, VLAN or membership was created or is about to be removed, or that the
// switch's address changed. Subscribers check the objects that they use, and release those that are no longer found
// before they return.
func (o *Orch) Layout() *orch.Topic[struct{}] { return &o.layout }

// Downs publishes each port or PortChannel whose state changes to down.
func (o *Orch) Downs() *orch.Topic[string] { return &o.downs }

// Opers publishes that the state of a port has changed, so that the result of Up may differ.
func (o *Orch) Opers() *orch.Topic[struct{}] { return &o.opers }
