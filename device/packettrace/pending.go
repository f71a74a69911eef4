package packettrace

import (
	"context"
	"fmt"
	"net/netip"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// pendingRoute returns the longest route to dst that a row requests and that the chip lacks. The text contains the
// reason, for example "route 10.9.0.0/16 is pending: no neighbour ...". It is "" if the chip used the longest route. If
// r is nil, the text is "".
func (n *names) pendingRoute(
	ctx context.Context, r *swss.Redis, t *saisim.PacketTrace, dst netip.Addr,
) (string, error) {
	used, router, routed := usedRoute(t)
	if !routed || r == nil || !dst.IsValid() {
		return "", nil
	}
	vrf := n.otherVRF(router)
	static, bits, err := pendingStatic(ctx, r, vrf, dst, used)
	if err != nil {
		return "", err
	}
	other, err := pendingOther(ctx, r, vrf, dst, max(used, bits+1))
	if err != nil || other != "" {
		return other, err
	}
	return static, nil
}

// usedRoute returns the shortest prefix length that would have been preferred to the route that a packet used. It
// also returns the virtual router, and whether the packet was looked up in a route table at all.
func usedRoute(t *saisim.PacketTrace) (bits int, router config.ID, routed bool) {
	for i := range t.Findings {
		switch f := &t.Findings[i]; {
		case f.Table != "chip.ipv4_route" && f.Table != "chip.ipv6_route":
		case !f.Hit, f.Drop && f.Prefix.Bits() == 0: // the switch's own default route drops
			return 0, f.In, true
		default:
			return f.Prefix.Bits() + 1, f.In, true
		}
	}
	return 0, config.None, false
}

// pendingStatic returns the longest route of STATIC_ROUTE in a VRF that is not in force and has at least least bits. It
// also returns its length in bits, -1 if there is none.
func pendingStatic(
	ctx context.Context, r *swss.Redis, vrf string, dst netip.Addr, least int,
) (text string, bits int, err error) {
	rows, err := swss.NewTable(r.DB(swss.StateDB), schema.StateStaticRoute).Dump(ctx)
	if err != nil {
		return "", 0, fmt.Errorf("static routes: %w", err)
	}
	table, _ := schema.StatusTable(schema.StateStaticRoute)
	bits = -1
	for key, row := range rows {
		s, err := schema.ParseStaticRoute(key, map[string]string{"blackhole": "true"})
		p := s.Prefix
		longer := err == nil && s.VRF == vrf && p.Contains(dst) && p.Bits() >= max(least, bits+1)
		if longer && !table.OK(row[table.Status], row[schema.FieldReason]) {
			bits, text = p.Bits(), routeText(p, row)
		}
	}
	return text, bits, nil
}

// pendingOther returns the longest pending route of a VRF with at least least bits that another program has written to
// ROUTE_TABLE.
func pendingOther(
	ctx context.Context, r *swss.Redis, vrf string, dst netip.Addr, least int,
) (text string, err error) {
	var prefixes []netip.Prefix
	var names []string
	for bits := dst.BitLen(); bits >= least; bits-- {
		p := netip.PrefixFrom(dst, bits).Masked()
		for _, vrf := range prefixesOf(vrf) {
			prefixes, names = append(prefixes, p), append(names, schema.AppRoute+":"+vrf+schema.RouteKey(p))
		}
	}
	first := len(names)
	err = r.DB(swss.ApplDB).ReadRows(ctx, names, func(i int, row swss.FieldValues, size int64) {
		if _, configured := row[schema.FieldConfigKey]; (row != nil || size > 0) && !configured {
			first = min(first, i)
		}
	})
	if err != nil || first == len(names) {
		return "", err
	}
	_, key, _ := r.DB(swss.ApplDB).Split(names[first])
	row, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateRoute).Get(ctx, key)
	return routeText(prefixes[first], row), err
}

// prefixesOf returns the beginnings of keys of ROUTE_TABLE for routes of a VRF.
func prefixesOf(vrf string) []string {
	if vrf == "" {
		return []string{"", schema.DefaultVRF + ":"}
	}
	return []string{vrf + ":"}
}

// routeText returns the status of a route that is not in the chip, from its row of STATE_DB.
func routeText(p netip.Prefix, row swss.FieldValues) string {
	if row[schema.FieldStatus] == "" {
		return fmt.Sprintf("route %s is not in the ASIC", p)
	}
	return fmt.Sprintf("route %s is %s: %s", p, row[schema.FieldStatus], row[schema.FieldReason])
}
