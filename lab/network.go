package lab

import (
	"fmt"
	"net"

	"tamtam/collector/topology"
	"tamtam/swss/schema"
)

// Network returns the static part of the topology: switches with their ids, hosts, and links.
func (t *Topology) Network() (*topology.Topology, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	n := &topology.Topology{}
	for i := range t.Switches {
		id, err := t.SwitchID(&t.Switches[i])
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", t.Switches[i].Name, err)
		}
		n.Nodes = append(n.Nodes, topology.Node{Name: t.Switches[i].Name, Kind: topology.Switch, ID: id})
	}
	for i := range t.Hosts {
		n.Nodes = append(n.Nodes, topology.Node{Name: t.Hosts[i].Name, Kind: topology.Host})
	}
	for _, l := range t.Links {
		n.Links = append(n.Links, topology.Link{A: topology.ParseEnd(l.A), B: topology.ParseEnd(l.B)})
	}
	return n, n.Check()
}

// SwitchID returns the id that a switch puts into stamps and records.
func (t *Topology) SwitchID(s *Switch) (uint32, error) {
	config, err := t.ConfigOf(s)
	if err != nil {
		return 0, err
	}
	row, err := schema.ParseTAMSwitch(schema.TAMGlobalKey, config[schema.CfgTAMSwitch][schema.TAMGlobalKey])
	if err != nil || row.SwitchID != 0 {
		return row.SwitchID, err
	}
	mac, err := net.ParseMAC(config[schema.CfgDeviceMetadata]["localhost"]["mac"])
	if err != nil || len(mac) != 6 {
		return 0, fmt.Errorf("it has neither a switch-id nor a MAC address: %w", err)
	}
	return uint32(mac[4])<<8 | uint32(mac[5]), nil
}
