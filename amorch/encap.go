package amorch

import (
	"context"

	"tamtam/orch"
	"tamtam/tam/altmark"
)

// leastMTU is the minimum MTU of IPv6 (RFC 8200 section 5) plus the header: an encapsulated packet of that length must
// not be too long.
const leastMTU = 1280 + altmark.EncapSize

// canEncap returns the reason why the switch cannot encapsulate or decapsulate the packets of a session at present. It
// returns nil if it can, or if the session has no header.
func (o *Orch) canEncap(s altmark.Session) error {
	e := s.Encap
	if !e.Given() {
		return nil
	}
	field, own := "encap-src", e.Src
	if s.Role == altmark.Terminator {
		field, own = "encap-dst", e.Dst
	}
	if !o.routes.Owns(own) {
		return orch.Wait("address", own.String(), "%s is %s, which is no address of this switch", field, own)
	}
	if s.Role == altmark.Terminator {
		return nil
	}
	name, mtu, err := o.routes.Exit(e.Dst)
	switch {
	case err != nil:
		return err
	case mtu < leastMTU:
		return orch.Wait("MTU", name, "packets to encap-dst %s leave by %s, whose MTU is %d: want at least %d, the least of "+
			"IPv6 and %d bytes of the header", e.Dst, name, mtu, leastMTU, altmark.EncapSize)
	}
	return nil
}

// lookAgain reconciles sessions with encapsulation again, because addresses, routes or an MTU may have changed.
func (o *Orch) lookAgain(ctx context.Context) {
	for _, s := range o.Sessions {
		if s.Row.Encap.Given() || s.RowInASIC.Encap.Given() {
			o.MarkAll()
			o.ReconcileNow(ctx)
			return
		}
	}
}
