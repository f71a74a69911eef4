package objects

import "tamtam/sai"

// uses says what a port, a LAG or a VLAN is used as.
type uses struct{ inLAG, bridged, routed bool }

func (u *uses) used() *uses { return u }

// usesOf returns how a port, a LAG or a VLAN is used; nil: it is another object.
func (c *core) usesOf(oid sai.OID) *uses {
	if x, ok := self[interface{ used() *uses }](c, oid); ok {
		return x.used()
	}
	return nil
}
