package hostifd

import (
	"maps"
	"net/netip"
	"slices"

	"tamtam/host/cpuport"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Device is the target state of an interface of Linux.
type Device struct {
	MAC     schema.MAC
	MTU     int  // in bytes
	Up      bool // administrative state: true if up
	Carrier bool
	// true if the interface routes; otherwise it only carries frames, and has no automatic IPv6 address
	Routed bool
	Addrs  []netip.Prefix // sorted
	On     string         // of a sub-port: its port or PortChannel; otherwise ""
	VLAN   uint16         // of a sub-port: the VLAN in the tag of its frames
}

// equal reports whether two devices have the same settings in Linux; the carrier is syncd's.
func (d Device) equal(o Device) bool {
	return d.MAC == o.MAC && d.MTU == o.MTU && d.Up == o.Up && d.Routed == o.Routed && d.On == o.On &&
		d.VLAN == o.VLAN && slices.Equal(d.Addrs, o.Addrs)
}

// A plan is the target state of Linux.
type plan struct {
	devices map[string]Device
	beside  map[string]cpuport.Interface // devices that are not for ports
	lagOf   map[string]string            // PortChannel by port
	local   map[string]bool              // interfaces whose neighbours may have link-local addresses
	routes  []schema.Route               // routes of the configuration, by devices that are up; sorted by prefix
	// true if all configured ports are known: devices that are not in the plan are to be removed
	whole bool
}

type rows map[string]map[string]swss.FieldValues

// tables holds the tables that define the interfaces.
var tables = []string{
	schema.AppPort, schema.AppLAG, schema.AppLAGMember, schema.AppVLAN, schema.AppVLANMember, schema.AppInterface,
}

// makePlan returns the plan of all rows. Wrong rows are ignored; orchagent reports them. A VLAN always has a carrier,
// as in SONiC, whose bridge has a member that is always up.
func makePlan(r rows, mac schema.MAC) plan {
	p := plan{
		devices: map[string]Device{}, beside: map[string]cpuport.Interface{}, lagOf: map[string]string{},
		local: map[string]bool{},
	}
	_, p.whole = r[schema.AppPort][schema.PortConfigDone]
	for name, f := range r[schema.AppPort] {
		if port, err := schema.ParsePort(name, f); err == nil && schema.IsPortName(name) {
			p.devices[name] = Device{MAC: mac, MTU: int(port.MTU), Up: port.AdminUp, Carrier: up(f)}
		}
	}
	for name, f := range r[schema.AppLAG] {
		if lag, err := schema.ParsePortChannel(name, f); err == nil {
			p.devices[name] = Device{MAC: mac, MTU: int(lag.MTU), Up: lag.AdminUp, Carrier: up(f)}
			p.beside[name] = cpuport.Interface{
				Name: name, LAG: true, LACP: f[schema.FieldProtocol] == schema.ProtocolLACP, Up: up(f),
			}
		}
	}
	p.addMembers(r)
	p.addInterfaces(r, mac)
	return p
}

func up(f swss.FieldValues) bool { return f[schema.FieldOperStatus] == schema.OperUp }

func (p plan) addMembers(r rows) {
	for _, key := range slices.Sorted(maps.Keys(r[schema.AppLAGMember])) {
		m, err := schema.ParsePortChannelMember(schema.ConfigKey(key), r[schema.AppLAGMember][key])
		lag, ok := p.beside[m.PortChannel]
		if err != nil || !ok {
			continue
		}
		p.lagOf[m.Port] = m.PortChannel
		lag.Members = append(lag.Members, m.Port)
		slices.SortFunc(lag.Members, schema.CompareNames)
		if r[schema.AppLAGMember][key]["status"] != "disabled" {
			lag.Senders = append(lag.Senders, m.Port)
			slices.SortFunc(lag.Senders, schema.CompareNames)
		}
		p.beside[m.PortChannel] = lag
	}
}

// loopbackMTU is the MTU of loopbacks, which send nothing.
const loopbackMTU = schema.DefaultMTU

// addInterfaces adds the properties of routed interfaces.
func (p plan) addInterfaces(r rows, mac schema.MAC) {
	table := r[schema.AppInterface]
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if schema.IsAddressKey(schema.ConfigKey(key)) {
			continue
		}
		i, err := schema.ParseInterface(schema.AppInterface, key, table[key])
		if err != nil {
			continue
		}
		d, ok := p.devices[i.Name]
		on, _, sub := schema.SubPort(i.Name)
		switch id, vlan := schema.VLANNumber(i.Name); {
		case sub:
			if d, ok = p.devices[on]; !ok {
				continue
			}
			d.Addrs, d.Up, d.On, d.VLAN = nil, d.Up && !i.AdminDown, on, i.VLAN
		case vlan:
			v, err := schema.ParseVLAN(i.Name, r[schema.AppVLAN][i.Name])
			if err != nil || r[schema.AppVLAN][i.Name] == nil {
				continue
			}
			d = Device{MAC: mac, MTU: int(v.MTU), Up: v.AdminUp, Carrier: true}
			p.beside[i.Name] = cpuport.Interface{Name: i.Name, VLAN: id, Up: true}
		case schema.IsLoopbackName(i.Name):
			d = Device{MAC: mac, MTU: loopbackMTU, Up: true, Carrier: true}
			p.beside[i.Name] = cpuport.Interface{Name: i.Name, Up: true}
		case !ok:
			continue
		}
		if !i.MAC.IsZero() {
			d.MAC = i.MAC
		}
		d.MTU, d.Routed = i.MTUOn(d.MTU), true
		p.devices[i.Name], p.local[i.Name] = d, i.LinkLocal
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		a, err := schema.ParseInterfaceAddress(schema.AppInterface, schema.ConfigKey(key), table[key])
		_, routes := table[a.Name]
		if d, ok := p.devices[a.Name]; err == nil && ok && routes && schema.IsAddressKey(schema.ConfigKey(key)) {
			d.Addrs = append(d.Addrs, a.Prefix)
			slices.SortFunc(d.Addrs, netip.Prefix.Compare)
			p.devices[a.Name] = d
		}
	}
}

// addRoutes adds routes with only the next hops at devices that are up, since Linux accepts no others.
func (p *plan) addRoutes(static map[string]schema.Route) {
	for _, r := range static {
		r.Hops = slices.DeleteFunc(slices.Clone(r.Hops), func(h schema.Hop) bool { return !p.devices[h.Interface].Up })
		if r.Blackhole || len(r.Hops) > 0 {
			p.routes = append(p.routes, r)
		}
	}
	slices.SortFunc(p.routes, func(a, b schema.Route) int { return a.Prefix.Compare(b.Prefix) })
}
