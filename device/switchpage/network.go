package switchpage

import (
	"strconv"
	"strings"

	"tamtam/collectord/page"
	"tamtam/schema"
	"tamtam/swss"
)

// network is the switch with those who say by LLDP that they are at its ports.
func (t *tables) network(s *page.Switch) page.Network {
	n := page.Network{
		Source: "what neighbours say by LLDP; who does not speak it is not here, and what is lost on the way is not known",
		Nodes:  []page.Node{{Name: s.Name}},
	}
	heard := t.dump(swss.ApplDB, schema.AppLLDPEntry)
	seen := map[string]bool{s.Name: true}
	for _, port := range s.Ports {
		row, ok := heard[port.Name]
		if !ok {
			continue
		}
		far := row["lldp_rem_sys_name"]
		if far == "" || far == s.Name {
			far = "the neighbour at " + port.Name
		}
		if !seen[far] {
			seen[far] = true
			n.Nodes = append(n.Nodes, page.Node{Name: far, Host: true})
		}
		n.Links = append(n.Links, page.Link{
			Name: port.Name, Mbps: port.Mbps, Down: port.Oper != schema.OperUp,
			A: page.End{Node: s.Name, Port: port.Name, Number: number(port.Name)},
			B: page.End{Node: far, Port: row["lldp_rem_port_id"]},
		})
	}
	return n
}

// number is that of a port as in stamps.
func number(port string) uint16 {
	n, err := strconv.ParseUint(strings.TrimPrefix(port, "Ethernet"), 10, 16)
	if err != nil {
		return 65535
	}
	return uint16(n)
}
