package schema

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is the maximum number of next hops of a route, as in SONiC.
const maxHops = 128

// StaticRoute is a row of STATIC_ROUTE.
type StaticRoute struct {
	Dest
	Hops []StaticHop // 1 to 128
}

// A StaticHop is one next hop of a static route.
type StaticHop struct {
	Addr      netip.Addr // address of the next hop; invalid if the destination is on the interface's own link
	VRF       string     // VRF in which it is, usually that of the route; "" is the default one
	Interface string     // name of the interface; "" means the interface whose subnet contains Addr
	Blackhole bool       // true if packets are dropped
	Distance  uint8      // of the usable hops, only those with the smallest distance are used; 0 is SONiC's default
}

// NullInterface is SONiC's name of the interface of a hop that drops packets.
const NullInterface = "null"

// StaticRouteKey returns the key of a static route, as SONiC writes it. The layout also accepts a key without the VRF.
func StaticRouteKey(prefix string) string { return DefaultVRF + "|" + prefix }

// CompareStaticRoutes compares the keys of two static routes of one prefix by precedence: SONiC's form precedes.
func CompareStaticRoutes(a, b string) int {
	vrf := func(key string) int { return strings.Count(key, "|") }
	return cmp.Or(cmp.Compare(vrf(b), vrf(a)), CompareNames(a, b))
}

// RouteIndex is the field of a static route with the index of each next hop in OpenConfig's model.
const RouteIndex = "index"

const prefixWords = "default or a VRF, | and a prefix, such as default|10.1.0.0/16"

// layout returns the layout of the row. The fields are lists of equal length, some of which may be absent.
func (s *StaticRoute) layout() layout {
	return layout{
		table: CfgStaticRoute, open: true,
		key: key{form: "default|prefix, VRF|prefix, or prefix", read: func(r *reader, key string) {
			vrf, text := cutVRF(key, "|")
			s.VRF, s.Prefix = r.vrf("", vrf), r.prefix(key, text, prefixWords)
		}},
		fields: []field{
			lists("nexthop", "addresses", "The next hop of each way; 0.0.0.0 and :: are none."),
			lists("ifname", "interfaces",
				"The interface of each way; without it the one in whose subnet its next hop is. null drops."),
			lists("distance", "0..255", "The distance of each way: of those that there are, the smallest is used.").or("0"),
			lists("blackhole", "true or false", "Whether a way drops; SONiC then has null in ifname.").or("false"),
			lists("nexthop-vrf", "default or VRFs", "The VRF of each way's next hop; without it that of the route."),
			lists(RouteIndex, "texts",
				"OpenConfig's index of each way, if it is not its place from 0 on. It has no effect in the switch."),
			ignored(sonicRoute...),
		},
		check:  s.readHops,
		format: s.format,
	}
}

// lists returns a field that is one of several lists of equal length, which are read together.
func lists(name, form, words string) field {
	return own(name, "list: "+form, words, nil, nil)
}

func (s *StaticRoute) readHops(r *reader) {
	lists := map[string][]string{}
	n := 0
	fields := []string{"nexthop", "ifname", "distance", "blackhole", "nexthop-vrf"}
	for _, f := range fields {
		if v, ok := r.value(f); ok {
			lists[f] = strings.Split(v, ",")
			n = max(n, len(lists[f]))
		}
	}
	r.value(RouteIndex) // result ignored: indexes only name the next hops
	if n == 0 {
		r.bad("nexthop", "", "a next hop, or ifname or blackhole=true")
	}
	for _, f := range fields {
		if l := lists[f]; l != nil && len(l) != n {
			r.bad(f, strings.Join(l, ","), fmt.Sprintf("a list of %d, as the others", n))
		}
	}
	if n > maxHops {
		r.bad("nexthop", fmt.Sprint(n), fmt.Sprintf("at most %d next hops", maxHops))
	}
	if r.err() != nil {
		return
	}
	for i := range n {
		s.Hops = append(s.Hops, r.staticHop(s.Dest, lists, i))
	}
}

// staticHop reads the i-th element of all lists.
func (r *reader) staticHop(to Dest, lists map[string][]string, i int) StaticHop {
	at := func(f string) string {
		if lists[f] == nil {
			return ""
		}
		return strings.TrimSpace(lists[f][i])
	}
	p, h := to.Prefix, StaticHop{VRF: to.VRF, Interface: at("ifname")}
	null := strings.EqualFold(h.Interface, NullInterface)
	if null {
		h.Interface = ""
	}
	if v := at("nexthop"); v != "" {
		h.Addr = r.hopAddr("nexthop", v, p.Addr().Is4(), !p.Addr().Is4())
	}
	if h.Interface != "" && InterfaceTable(h.Interface) == "" {
		r.bad("ifname", h.Interface, interfaceWords(""))
	}
	if v := at("nexthop-vrf"); v != "" {
		h.VRF = r.vrf("nexthop-vrf", v)
	}
	h.Distance, h.Blackhole = r.distance(at("distance")), r.blackhole(at("blackhole")) || null
	switch {
	case h.Blackhole && (h.Addr.IsValid() || h.Interface != ""):
		r.bad("blackhole", "true", "no next hop and no interface beside it")
	case !h.Blackhole && !h.Addr.IsValid() && h.Interface == "":
		r.bad("nexthop", at("nexthop"), "an address, or an interface in ifname")
	case h.Addr.IsLinkLocalUnicast() && h.Interface == "":
		r.bad("ifname", "", fmt.Sprintf("the interface on which %s is", h.Addr))
	}
	return h
}

// distance parses the distance of a hop. It returns 0 if there is none.
func (r *reader) distance(text string) uint8 {
	if text == "" {
		return 0
	}
	d, ok := decimal(text)
	if !ok || d > 255 {
		r.bad("distance", text, rangeWords(0, 255))
	}
	return uint8(d)
}

// blackhole parses whether a hop drops packets. It returns false if the element is empty.
func (r *reader) blackhole(text string) bool {
	switch strings.ToLower(text) {
	case "", "false":
		return false
	case "true":
		return true
	}
	r.bad("blackhole", text, "true or false")
	return false
}

// prefix parses the prefix in a route's key. It clears the bits after its length, as FRR and ASICs do.
func (r *reader) prefix(key, text, want string) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		r.bad("", key, want)
		return netip.Prefix{}
	}
	return p.Masked()
}

// hopAddr parses a next hop of an allowed family. 0.0.0.0 and :: mean none.
func (r *reader) hopAddr(field, text string, v4, v6 bool) netip.Addr {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || a.Is4In6() || a.Zone() != "":
		r.bad(field, text, "an IP address")
	case a.IsUnspecified():
	case a.Is4() && !v4 || a.Is6() && !v6:
		want := "IPv4"
		if v6 {
			want = "IPv6"
		}
		r.bad(field, text, fmt.Sprintf("an %s address, as the route's", want))
	case notUnicast(a) != "":
		r.bad(field, text, notUnicast(a))
	default:
		return a
	}
	return netip.Addr{}
}

func (s *StaticRoute) format(f map[string]string) {
	lists := map[string][]string{}
	used := map[string]bool{}
	put := func(field, value, none string) {
		lists[field] = append(lists[field], value)
		used[field] = used[field] || value != none
	}
	for _, h := range s.Hops {
		addr := ""
		if h.Addr.IsValid() {
			addr = h.Addr.String()
		}
		put("nexthop", addr, "")
		put("ifname", h.Interface, "")
		vrf := ""
		if h.VRF != s.VRF {
			vrf = VRFName(h.VRF)
		}
		put("nexthop-vrf", vrf, "")
		put("distance", utoa(h.Distance), "0")
		put("blackhole", fmt.Sprint(h.Blackhole), "false")
	}
	for field, list := range lists {
		if used[field] {
			f[field] = strings.Join(list, ",")
		}
	}
}

// Route is a row of APPL_DB ROUTE_TABLE.
type Route struct {
	Dest
	Blackhole bool
	Hops      []Hop  // 1 to 128 next hops; empty if Blackhole is true
	Protocol  string // origin of the route, such as bgp; empty if not given
}

// A Hop is a next hop: an address on the link of an interface, or the link itself.
type Hop struct {
	Addr      netip.Addr // invalid if the destination is on the link itself; IPv6 is possible for an IPv4 route
	Interface string
	Weight    uint32 // default 1
}

// RouteKey returns the key of ROUTE_TABLE for a prefix in the default VRF. Like FRR's fpmsyncd it omits the length of
// host routes.
func RouteKey(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// layout returns the layout of the row. The fields are lists of equal length, some of which may be absent.
func (t *Route) layout() layout {
	return layout{
		table: AppRoute, open: true,
		key: key{form: "prefix, or VRF:prefix", read: func(r *reader, key string) {
			vrf, text := cutVRF(key, ":")
			if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
				text = netip.PrefixFrom(a, a.BitLen()).String()
			}
			t.VRF, t.Prefix = r.vrf("", vrf), r.prefix(key, text, "a prefix such as 10.1.0.0/16, or Vrf1:10.1.0.0/16")
		}},
		fields: []field{
			text("protocol", &t.Protocol, "What made the route, such as bgp."),
			boolean("blackhole", false, &t.Blackhole, "Whether the route drops; then it has no next hops.").ifSet(),
			lists("nexthop", "addresses", "The next hops; 0.0.0.0 or :: where the destination is on the link itself."),
			lists("ifname", "interfaces", "The interface of each next hop."),
			lists("weight", "1..255", "The weight of each next hop.").or("1"),
		},
		check:  t.readHops,
		format: t.format,
	}
}

func (t *Route) readHops(r *reader) {
	if !t.Prefix.IsValid() || t.Blackhole {
		return
	}
	hops, ifs := splitFixed(r.text("nexthop")), splitFixed(r.text("ifname"))
	weights := splitFixed(r.text("weight"))
	switch {
	case len(ifs) == 0:
		r.bad("ifname", "", "an interface for each next hop, or blackhole=true")
	case len(ifs) > maxHops:
		r.bad("ifname", fmt.Sprint(len(ifs)), fmt.Sprintf("at most %d next hops", maxHops))
	case hops != nil && len(hops) != len(ifs):
		r.bad("nexthop", strings.Join(hops, ","), fmt.Sprintf("a list of %d, as ifname", len(ifs)))
	case weights != nil && len(weights) != len(ifs):
		r.bad("weight", strings.Join(weights, ","), fmt.Sprintf("a list of %d, as ifname", len(ifs)))
	default:
		for i := range ifs {
			t.Hops = append(t.Hops, r.hop(t.Prefix, i, hops, ifs, weights))
		}
	}
	t.Hops = uniqueHops(t.Hops)
}

func (r *reader) hop(p netip.Prefix, i int, hops, ifs, weights []string) Hop {
	h := Hop{Interface: ifs[i], Weight: 1}
	if hops != nil && hops[i] != "" {
		// IPv4 routes may have IPv6 next hops too (RFC 8950).
		h.Addr = r.hopAddr("nexthop", hops[i], p.Addr().Is4(), true)
	} else if ifs[i] == "" {
		r.bad("ifname", strings.Join(ifs, ","), fmt.Sprintf("an interface in place %d, which has no next hop", i+1))
	}
	if weights != nil && weights[i] != "" {
		w, ok := decimal(weights[i])
		if !ok || w < 1 || w > 255 {
			r.bad("weight", weights[i], rangeWords(1, 255))
		}
		h.Weight = uint32(w)
	}
	return h
}

// splitFixed splits a list whose elements may be empty. It returns nil for "".
func splitFixed(v string) []string {
	if v == "" {
		return nil
	}
	list := strings.Split(v, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// Compare compares next hops by interface and address.
func (h Hop) Compare(o Hop) int {
	if c := CompareNames(h.Interface, o.Interface); c != 0 {
		return c
	}
	return h.Addr.Compare(o.Addr)
}

// uniqueHops sorts next hops and removes repeated ones.
func uniqueHops(hops []Hop) []Hop {
	slices.SortStableFunc(hops, Hop.Compare)
	return slices.CompactFunc(hops, func(a, b Hop) bool { return a.Compare(b) == 0 })
}

func (t *Route) format(f map[string]string) {
	if t.Blackhole {
		return
	}
	none := "0.0.0.0"
	if !t.Prefix.Addr().Is4() {
		none = "::"
	}
	var hops, ifs, weights []string
	weighted := false
	for _, h := range t.Hops {
		addr := none
		if h.Addr.IsValid() {
			addr = h.Addr.String()
		}
		hops, ifs, weights = append(hops, addr), append(ifs, h.Interface), append(weights, utoa(h.Weight))
		weighted = weighted || h.Weight != 1
	}
	f["nexthop"], f["ifname"] = strings.Join(hops, ","), strings.Join(ifs, ",")
	if weighted {
		f["weight"] = strings.Join(weights, ",")
	}
}
