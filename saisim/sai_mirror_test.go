package saisim_test

import (
	"tamtam/sai"
	"tamtam/saisim"
)

// sessionList is a list of one local mirror session to a port, or to what pairs say.
func sessionList(to saisim.PortID, pairs func(d *dut) []any) func(d *dut) sai.Value {
	return func(d *dut) sai.Value {
		a := []any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal}
		if pairs != nil {
			a = pairs(d)
		}
		return sai.OIDs{d.create(sai.ObjectTypeMirrorSession, append(a, sai.MirrorSessionAttrMonitorPort, d.port(to).OID)...)}
	}
}
