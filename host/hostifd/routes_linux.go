package hostifd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tamtam/swss/schema"
)

// staticMetric is the metric of configured routes. Together with the protocol static it marks them. zebra reads the
// distance from its highest byte: 1, as for its own static routes.
const staticMetric = 1 << 24

// SetRoutes sets the routes of the configuration. All others stay, including those of zebra.
func (Linux) SetRoutes(routes []schema.Route) error {
	have := map[netip.Prefix]netlink.Route{}
	filter := &netlink.Route{Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_STATIC}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := netlink.RouteListFiltered(family, filter, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_PROTOCOL)
		if err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		for _, r := range list {
			if p, ok := destination(r, family); ok && r.Priority == staticMetric {
				have[p] = r
			}
		}
	}
	var errs []error
	for _, want := range routes {
		r, err := linuxRoute(want)
		if err == nil && nextHopsText(have[want.Prefix]) != nextHopsText(r) {
			err = netlink.RouteReplace(&r)
		}
		if delete(have, want.Prefix); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", want.Prefix, err))
		}
	}
	for p, r := range have {
		if err := netlink.RouteDel(&r); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", p, err))
		}
	}
	return errors.Join(errs...)
}

func destination(r netlink.Route, family int) (netip.Prefix, bool) {
	if r.Dst != nil {
		return prefix(r.Dst)
	}
	if family == netlink.FAMILY_V4 {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0), true
}

// linuxRoute returns a route as Linux has it. Next hops need not be in a subnet of their interface.
func linuxRoute(r schema.Route) (netlink.Route, error) {
	a := r.Prefix.Addr()
	l := netlink.Route{
		Dst:   &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(r.Prefix.Bits(), a.BitLen())},
		Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_STATIC, Priority: staticMetric,
	}
	if r.Blackhole {
		l.Type = unix.RTN_BLACKHOLE
		return l, nil
	}
	for _, hop := range r.Hops {
		link, err := netlink.LinkByName(hop.Interface)
		if err != nil {
			return l, err
		}
		n := &netlink.NexthopInfo{LinkIndex: link.Attrs().Index, Hops: max(int(hop.Weight), 1) - 1}
		if hop.Addr.IsValid() {
			n.Gw, n.Flags = hop.Addr.AsSlice(), int(netlink.FLAG_ONLINK)
		}
		l.MultiPath = append(l.MultiPath, n)
	}
	if len(l.MultiPath) == 1 {
		n := l.MultiPath[0]
		l.LinkIndex, l.Gw, l.Flags, l.MultiPath = n.LinkIndex, n.Gw, n.Flags, nil
		if n.Gw == nil {
			l.Scope = netlink.SCOPE_LINK
		}
	}
	return l, nil
}

// nextHopsText returns the next hops of a route as text for comparison.
func nextHopsText(r netlink.Route) string {
	if r.Type == unix.RTN_BLACKHOLE {
		return "blackhole"
	}
	hops := r.MultiPath
	if len(hops) == 0 && r.LinkIndex != 0 {
		hops = []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw}}
	}
	var texts []string
	for _, n := range hops {
		texts = append(texts, fmt.Sprint(n.LinkIndex, " ", cmp.Or(n.Gw.String(), "<nil>"), " ", n.Hops))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
