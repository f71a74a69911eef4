package switchpage

import (
	"cmp"
	"fmt"

	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// network returns the switch with the neighbours that its ports learn by LLDP.
func (t *tables) network(s *web.Switch) web.Network {
	return neighbours(s, t.Dump(swss.ApplDB, schema.AppLLDPEntry))
}

// neighbours returns the switch with the neighbours at its ports.
func neighbours(s *web.Switch, heard map[string]swss.FieldValues) web.Network {
	n := web.Network{
		Source: "LLDP data of neighbours; devices without LLDP are not here, and losses on the way are unknown",
		Nodes:  []web.Node{{Name: s.Name}},
	}
	chassis := map[string]string{} // chassis id by neighbour name
	for _, port := range s.Ports {
		row, ok := heard[port.Name]
		if !ok {
			continue
		}
		far, id := row["lldp_rem_sys_name"], row["lldp_rem_chassis_id"]
		if far == "" || far == s.Name {
			far = "the neighbour at " + port.Name
		}
		if other, known := chassis[far]; known && other != id { // another neighbour with the same name
			far += " (chassis " + cmp.Or(id, "not reported, at "+port.Name) + ")"
		}
		if _, known := chassis[far]; !known {
			chassis[far] = id
			n.Nodes = append(n.Nodes, neighbor(far, row))
		}
		n.Links = append(n.Links, web.Link{
			Name: port.Name, Mbps: port.Mbps, Oper: port.Oper,
			A:  web.End{Node: s.Name, Port: port.Name, Number: web.PortNumber(port.Name)},
			B:  web.End{Node: far, Port: row["lldp_rem_port_id"]},
			AB: web.Traffic{Within: port.Out}, BA: web.Traffic{Within: port.In},
		})
	}
	return n
}

// LLDP capabilities in the first of two octets. SONiC writes them as SNMP bits: the first bit is the highest.
const (
	bridge = 0x20
	router = 0x08
)

// neighbor classifies an LLDP neighbour: a switch if it announces bridging or routing, unknown if it announces
// nothing, otherwise a host.
func neighbor(name string, row swss.FieldValues) web.Node {
	n := web.Node{Name: name}
	var first, second uint8
	_, err := fmt.Sscanf(row["lldp_rem_sys_cap_enabled"], "%02X %02X", &first, &second)
	switch {
	case err != nil || first == 0 && second == 0:
		n.Unknown = true
	case first&(bridge|router) == 0:
		n.Host = true
	}
	return n
}
