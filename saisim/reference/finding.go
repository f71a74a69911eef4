package reference

import (
	"net/netip"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/pipe"
)

// find reports a finding of the packet in a table.
func (pk *packet) find(f saisim.Finding) {
	if pk.found != nil {
		pk.found(f)
	}
	*pk.heard = append(*pk.heard, f)
}

func (e effects) of(f saisim.Finding) saisim.Finding {
	f.Drop, f.Copy, f.Cancel = e.drop, e.copy, e.cancel
	return f
}

// findRoute reports the finding of a longest prefix in a virtual router.
func (pk *packet) findRoute(table string, vr config.ID, r config.Route, found bool) {
	f := saisim.Finding{Table: table, In: vr, Hit: found}
	if found {
		f.Prefix = r.Prefix
		f = doesOf(r.Action).of(f)
	}
	pk.find(f)
}

// findHop reports the finding of a neighbour. n is nil if no neighbour has the address.
func (pk *packet) findHop(rif config.Interface, ip netip.Addr, n *config.Neighbor) {
	f := saisim.Finding{Table: "chip.next_hop", Hit: n != nil, In: rif.On, VLAN: rif.OuterVLAN,
		Prefix: netip.PrefixFrom(ip, ip.BitLen())}
	if n != nil {
		f.MAC = n.MAC
	}
	pk.find(f)
}

// findAddress reports the finding of an address in the FDB.
func (pk *packet) findAddress(table string, key fdbKey, e saisim.FDBRow, known bool) {
	f := saisim.Finding{Table: table, Hit: known, VLAN: key.vid, MAC: macOf(key.mac)}
	if known {
		f.Entry = e.BridgePort
		f = effects{drop: e.Drop, copy: e.Copy}.of(f)
	}
	pk.find(f)
}

// findIn returns a function that reports findings in a program's tables, at the port of a copy or at the ingress.
func (pk *packet) findIn(out saisim.PortID) func(string, *pipe.Entry) {
	return func(table string, e *pipe.Entry) {
		f := saisim.Finding{Table: table, Hit: e != nil, Port: out}
		if e != nil {
			f.Number = e.ID
		}
		pk.find(f)
	}
}

// findEntry reports the finding of an ACL entry, at the port of a copy or at the ingress.
func (s subject) findEntry(conf *settings, table config.ID, e config.ACLEntry, found bool) {
	f := saisim.Finding{Table: "chip.acl", Hit: found, In: table, Port: saisim.CPUPort}
	switch {
	case s.early:
		f.Table = saisim.TablePreIngress
	case s.egress:
		f.Table, f.Port = "chip.egress_acl", conf.ports[s.out].Port
	}
	if found {
		f.Entry = e.ID
		for _, counter := range e.Of(config.ActCounter) {
			s.counters[e.ID] = counter
		}
		f = effectsOf([]hit{{entry: e}}).of(f)
	}
	s.find(f)
}
