package packettrace

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// names holds the names of the chip's objects. An object without a name is represented by its object id.
type names struct {
	ports  map[saisim.PortID]string
	fork   *saisim.Fork // the fork whose tables these are; nil if they are the chip's
	tables config.Tables
	of     map[config.ID]string
	was    *fateReader // remembers names, also of deleted objects; nil means no deleted objects
	entry  map[config.ID]config.ACLEntry
}

// newNames reads the names. The chip's tables and portName give the names of ports and VLANs. COUNTERS_DB has the other
// names, and ASIC_DB the ids under which they are stored. Without Redis, only the chip's names are used.
func newNames(
	ctx context.Context, r *swss.Redis, tables config.Tables, portName func(saisim.PortID) string,
) (*names, error) {
	n := &names{
		ports: map[saisim.PortID]string{}, tables: tables,
		of: map[config.ID]string{}, entry: map[config.ID]config.ACLEntry{},
	}
	for _, p := range n.tables.Ports {
		if name := portName(p.Port); name != "" {
			n.of[p.ID], n.ports[p.Port] = name, name
		}
	}
	for _, v := range n.tables.VLANs {
		n.of[v.ID] = fmt.Sprintf("Vlan%d", v.VID)
	}
	if err := n.fromDatabases(ctx, r); err != nil {
		return nil, err
	}
	for _, b := range n.tables.BridgePorts {
		n.of[b.ID] = n.name(b.On)
	}
	for _, i := range n.tables.Interfaces {
		if n.of[i.ID] == "" { // sub-ports have a name in COUNTERS_DB only
			n.of[i.ID] = n.name(i.On)
		}
	}
	if err := n.vrfs(ctx, r); err != nil {
		return nil, err
	}
	for _, e := range n.tables.ACLEntries {
		n.entry[e.ID] = e
		for _, c := range e.Of(config.ActCounter) {
			if rule, ok := n.of[c]; ok {
				n.of[e.ID] = rule
				table, _, _ := strings.Cut(rule, "|")
				n.of[e.Table] = table
			}
		}
	}
	return n, nil
}

// fromDatabases reads the names of LAGs, router interfaces, ACL counters, policers and ACL tables.
func (n *names) fromDatabases(ctx context.Context, r *swss.Redis) error {
	if r == nil {
		return nil
	}
	virtual, err := r.DB(swss.ASICDB).Client().HGetAll(ctx, "RIDTOVID").Result()
	if err != nil {
		return fmt.Errorf("names: %w", err)
	}
	real := map[string]config.ID{}
	for rid, vid := range virtual {
		var id config.ID
		if _, err := fmt.Sscanf(rid, "oid:0x%x", (*uint64)(&id)); err == nil {
			real[vid] = id
		}
	}
	for _, table := range []string{
		schema.CountersLAGNameMap, schema.CountersRIFNameMap, schema.CountersACLRuleMap, schema.CountersPolicerNameMap,
		schema.CountersACLTableMap,
	} {
		rows, err := r.DB(swss.CountersDB).Client().HGetAll(ctx, table).Result()
		if err != nil {
			return fmt.Errorf("names: %w", err)
		}
		for name, vid := range rows {
			if id, ok := real[vid]; ok {
				n.of[id] = strings.Replace(name, ":", "|", 1)
				if table == schema.CountersACLTableMap {
					n.of[id], _, _ = strings.Cut(name, ":")
				}
			}
		}
	}
	return nil
}

// vrfs names the virtual routers: the first is that of the default VRF, and the others have the VRF of an interface.
func (n *names) vrfs(ctx context.Context, r *swss.Redis) error {
	if len(n.tables.Routers) > 0 {
		n.of[n.tables.Routers[0].ID] = schema.DefaultVRF
	}
	if r == nil || !n.several() {
		return nil
	}
	var rows []string
	for _, i := range n.tables.Interfaces {
		rows = append(rows, schema.AppInterface+":"+n.name(i.ID))
	}
	return r.DB(swss.ApplDB).ReadRows(ctx, rows, func(i int, row swss.FieldValues, _ int64) {
		if vrf := row["vrf_name"]; schema.IsVRFName(vrf) {
			n.of[n.tables.Interfaces[i].Router] = vrf
		}
	})
}

// several reports whether there are virtual routers besides that of the default VRF.
func (n *names) several() bool { return len(n.tables.Routers) > 1 }

// otherVRF returns the name of the VRF of a virtual router, "" for the default one.
func (n *names) otherVRF(router config.ID) string {
	if vrf := n.name(router); vrf != schema.DefaultVRF {
		return vrf
	}
	return ""
}

// name returns the name of an object, "" for no object.
func (n *names) name(id config.ID) string {
	if name, ok := n.of[id]; ok || id == config.None {
		return name
	}
	if n.was != nil {
		return n.gone(id)
	}
	return id.String()
}

// port returns the name of a port.
func (n *names) port(id saisim.PortID) string {
	if id == saisim.CPUPort {
		return "CPU"
	}
	if name := n.ports[id]; name != "" {
		return name
	}
	return fmt.Sprintf("port %d", id)
}

// at returns the router interface for frames from a port. tag is the VLAN of tagged frames.
func (n *names) at(id saisim.PortID, tag *uint16) (config.Interface, bool) {
	var on config.ID
	vid := uint16(0)
	for _, p := range n.tables.Ports {
		if p.Port == id {
			on, vid = p.ID, p.PVID
		}
	}
	for _, l := range n.tables.LAGs {
		for _, m := range l.Members {
			if m.Port == id {
				on, vid = l.ID, l.PVID
			}
		}
	}
	if tag != nil && *tag != 0 {
		vid = *tag
	}
	for _, i := range n.tables.Interfaces {
		if i.On == on && i.OuterVLAN != 0 && tag != nil && i.OuterVLAN == *tag {
			return i, true
		}
	}
	for _, v := range n.tables.VLANs {
		if v.VID == vid && !n.routed(on) {
			on = v.ID
			break
		}
	}
	for _, i := range n.tables.Interfaces {
		if i.On == on && i.OuterVLAN == 0 {
			return i, true
		}
	}
	return config.Interface{}, false
}

// rif returns the router interface of a finding at a port, LAG or VLAN, or at a sub-port.
func (n *names) rif(f *saisim.Finding) (config.Interface, bool) {
	i, ok := find(n.tables.Interfaces, func(i config.Interface) bool { return i.On == f.In && i.OuterVLAN == f.VLAN })
	if ok {
		return i, true
	}
	return find(n.tables.Interfaces, func(i config.Interface) bool { return i.On == f.In && i.OuterVLAN == 0 })
}

// rifName returns the name of the router interface of a finding.
func (n *names) rifName(f *saisim.Finding) string {
	if i, ok := n.rif(f); ok {
		return n.name(i.ID)
	}
	return n.name(f.In)
}

func (n *names) routed(on config.ID) bool {
	for _, i := range n.tables.Interfaces {
		if i.On == on {
			return true
		}
	}
	return false
}

// router implements scene.
func (n *names) router(port saisim.PortID, tag *uint16) (net.HardwareAddr, bool) {
	i, ok := n.at(port, tag)
	return i.MAC[:], ok
}

// neighbor implements scene.
func (n *names) neighbor(ip netip.Addr) (net.HardwareAddr, bool) {
	for _, x := range n.tables.Neighbors {
		if x.IP == ip {
			return x.MAC[:], true
		}
	}
	return nil, false
}
