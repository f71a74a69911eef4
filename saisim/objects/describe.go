package objects

import (
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
)

// describe returns a description of an object without its id.
func (c *core) describe(oid sai.OID) string {
	o := c.objects[oid]
	if o == nil {
		return ""
	}
	switch o.key.Type {
	case sai.ObjectTypePort:
		if p, ok := row[config.Port](c, oid); ok {
			return fmt.Sprintf("port %04d", p.Port)
		}
	case sai.ObjectTypeLAG:
		l, _ := row[config.LAG](c, oid)
		return fmt.Sprintf("lag %s %04d", o.text(sai.LAGAttrLabel), l.First())
	case sai.ObjectTypeBridgePort:
		b, _ := row[config.BridgePort](c, oid)
		return fmt.Sprintf("bridge port %05d", c.order(b.On))
	case sai.ObjectTypeACLRange:
		r, _ := row[config.ACLRange](c, oid)
		return fmt.Sprintf("range %d %05d-%05d", r.Of, r.Min, r.Max)
	case sai.ObjectTypeACLCounter:
		return "counter " + o.text(sai.ACLCounterAttrLabel)
	case sai.ObjectTypeNextHop:
		return "next hop " + c.describeHop(config.ID(oid))
	case sai.ObjectTypeNextHopGroup:
		g, _ := row[config.HopGroup](c, oid)
		s := "next hops"
		for _, m := range g.Members {
			s += fmt.Sprintf(" %s %d", c.describeHop(m.NextHop), m.Weight)
		}
		return s
	case sai.ObjectTypeMirrorSession:
		return fmt.Sprintf("mirror %02d", o.self.(mirrorIndex))
	case sai.ObjectTypeSamplepacket:
		r, _ := row[config.Sampler](c, oid)
		return fmt.Sprintf("sampler %d %d %v", r.Rate, r.Truncate, r.Shared)
	case sai.ObjectTypeTAMInt:
		if r, _ := row[config.TAMInt](c, oid); r.IFA.On {
			return fmt.Sprintf("ifa %d %v", r.SwitchID, r.IFA)
		}
		return fmt.Sprintf("tam int %d", o.number(sai.TAMIntAttrDeviceID))
	}
	return ""
}

func (c *core) describeHop(id config.ID) string {
	h, _ := config.Find[config.NextHop](c.tables, id)
	return fmt.Sprintf("%s %09d", h.IP, c.interfaceOrder(h.Interface))
}

// interfaceOrder returns the sort order of a router interface, by the object below it and then by its outer VLAN.
func (c *core) interfaceOrder(id config.ID) int {
	r, _ := config.Find[config.Interface](c.tables, id)
	return c.order(r.On)<<12 | int(r.OuterVLAN)
}

// order returns the sort order of the ports, LAGs and VLANs below bridge ports and router interfaces.
func (c *core) order(on config.ID) int {
	if p, ok := config.Find[config.Port](c.tables, on); ok {
		return int(p.Port)
	}
	if l, ok := config.Find[config.LAG](c.tables, on); ok {
		return profile.MaxLanes + int(l.First())
	}
	if v, ok := config.Find[config.VLAN](c.tables, on); ok {
		return 2*int(engine.CPUPort) + int(v.VID)
	}
	return 3 * int(engine.CPUPort) // a loopback interface
}
