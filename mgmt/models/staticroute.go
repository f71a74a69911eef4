package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// staticRoutePath is the list in which static routes are written.
const staticRoutePath = "/routing/static-routes/route"

// staticRouteRows returns a row of a static route in both forms: as SONiC writes it, and without the VRF.
func staticRouteRows(r tree.Row) []tree.Row {
	r.DB, r.Table, r.Entry = swss.ConfigDB, schema.CfgStaticRoute, true
	r.Key = schema.StaticRouteKey("{prefix}")
	former := r
	former.Key, former.Former = "{prefix}", true
	return []tree.Row{r, former}
}

// A routeHop is one next hop of a static route, with the texts of its row.
type routeHop struct {
	Index                                   string // key of OpenConfig's next hop
	Address, Interface, Blackhole, Distance string
}

// hopLists names the fields of a row that are lists of the next hops' texts.
var hopLists = []string{"nexthop", "ifname", "blackhole", "distance"}

// texts returns the hop's elements of hopLists.
func (h *routeHop) texts() []*string {
	return []*string{&h.Address, &h.Interface, &h.Blackhole, &h.Distance}
}

// fields returns the fields of hopsByIndex. A hop that drops packets has no interface.
func (h routeHop) fields() map[string]string {
	if h.drops() {
		h.Interface, h.Blackhole = "", "true"
	}
	return map[string]string{"address": h.Address, "interface": h.Interface, "blackhole": h.Blackhole,
		"distance": h.Distance}
}

// drops reports whether packets to the hop are dropped.
func (h routeHop) drops() bool {
	return strings.EqualFold(h.Blackhole, "true") || strings.EqualFold(h.Interface, schema.NullInterface)
}

// readHops returns the next hops of a row, in its order. A hop's index is its place, unless the row has an index for
// each hop.
func readHops(r tree.Record) []routeHop {
	lists := make([][]string, len(hopLists))
	n := 0
	for i, f := range hopLists {
		if v := r.Field(f); v != "" {
			lists[i] = strings.Split(v, ",")
			n = max(n, len(lists[i]))
		}
	}
	named := strings.Split(r.Field(schema.RouteIndex), ",")
	valid := len(named) == n && !slices.Contains(named, "") &&
		len(slices.Compact(slices.Sorted(slices.Values(named)))) == n
	hops := make([]routeHop, n)
	for k := range hops {
		hops[k].Index = strconv.Itoa(k)
		if valid {
			hops[k].Index = named[k]
		}
		for i, text := range hops[k].texts() {
			if k < len(lists[i]) {
				*text = strings.TrimSpace(lists[i][k])
			}
		}
	}
	return hops
}

// writeHops writes next hops into a row, in the order of their indexes. A list whose elements all equal the value of an
// absent field is omitted.
func writeHops(r tree.Record, hops []routeHop) {
	slices.SortFunc(hops, func(a, b routeHop) int { return schema.CompareNames(a.Index, b.Index) })
	lists := make([][]string, len(hopLists))
	var indexes, places []string
	for k, h := range hops {
		for i, text := range h.texts() {
			lists[i] = append(lists[i], *text)
		}
		indexes, places = append(indexes, h.Index), append(places, strconv.Itoa(k))
	}
	for i, f := range hopLists {
		none := map[string]string{"blackhole": "false", "distance": "0"}[f]
		absent := func(text string) bool { return text == none || text == "" }
		if !slices.ContainsFunc(lists[i], func(text string) bool { return !absent(text) }) {
			lists[i] = nil
		}
		for k, text := range lists[i] {
			lists[i][k] = cmp.Or(text, none)
		}
		r.Set(f, strings.Join(lists[i], ","))
	}
	if slices.Equal(indexes, places) {
		indexes = nil
	}
	r.Set(schema.RouteIndex, strings.Join(indexes, ","))
}

// hopsByIndex returns the next hops of a route's row, by their index.
func hopsByIndex(fields map[string]string) map[string]string {
	out := map[string]string{}
	for _, h := range readHops(tree.Record{Fields: fields}) {
		if text, err := json.Marshal(h.fields()); err == nil {
			out[h.Index] = string(text)
		}
	}
	return out
}

// ofHop returns the codec of a part of the next hop with an index, in a route's row. Removing a part of a hop that does
// not exist changes nothing.
func ofHop(index string, get func(routeHop) string, put func(h *routeHop, v string) error) tree.Codec {
	at := func(hops []routeHop) int {
		return slices.IndexFunc(hops, func(h routeHop) bool { return h.Index == index })
	}
	return tree.Codec{
		Shared: true,
		Get: func(r tree.Record) []string {
			hops := readHops(r)
			if i := at(hops); i >= 0 {
				return tree.One(get(hops[i]))
			}
			return nil
		},
		Put: func(r tree.Record, v []string) error {
			hops := readHops(r)
			i := at(hops)
			switch {
			case i < 0 && len(v) == 0:
				return nil
			case i < 0:
				i, hops = len(hops), append(hops, routeHop{Index: index})
			}
			if err := put(&hops[i], tree.First(v)); err != nil {
				return err
			}
			writeHops(r, hops)
			return nil
		},
	}
}

// hopParts returns the codecs of the leaves of the next hop with an index that are stored, by their paths.
func hopParts(index string) map[string]tree.Codec {
	return map[string]tree.Codec{
		"config/next-hop": ofHop(index, routeHop.to, (*routeHop).lead),
		"config/metric":   ofHop(index, routeHop.metric, (*routeHop).rank),
		"interface-ref/config/interface": ofHop(index, func(h routeHop) string { return h.Interface },
			func(h *routeHop, v string) error {
				if v != "" && schema.InterfaceTable(v) == "" {
					return fmt.Errorf("%s: want EthernetN, PortChannelN, VlanN or LoopbackN", tree.Quoted(v))
				}
				h.Interface = v
				return nil
			}),
	}
}

// OpenConfig's next hops that are no address.
const (
	hopDrop = "DROP"
	hopLink = "LOCAL_LINK"
)

// to returns OpenConfig's next-hop.
func (h routeHop) to() string {
	if h.drops() {
		return hopDrop
	}
	if a, err := netip.ParseAddr(h.Address); err == nil && !a.IsUnspecified() {
		return a.String()
	}
	if h.Interface != "" {
		return hopLink
	}
	return ""
}

// lead sets OpenConfig's next-hop.
func (h *routeHop) lead(v string) error {
	if v == h.to() {
		return nil
	}
	if h.drops() {
		h.Blackhole, h.Interface = "", ""
	}
	h.Address = ""
	switch a, err := netip.ParseAddr(v); {
	case v == "", v == hopLink:
	case v == hopDrop:
		h.Blackhole = "true"
	case err != nil || a.IsUnspecified() || a.Zone() != "":
		return fmt.Errorf("%s: want an address, %s or %s", tree.Quoted(v), hopDrop, hopLink)
	default:
		h.Address = a.String()
	}
	return nil
}

// metric returns OpenConfig's metric. In a list, 0 stands for no distance.
func (h routeHop) metric() string { return strings.TrimPrefix(h.Distance, "0") }

// rank sets OpenConfig's metric.
func (h *routeHop) rank(v string) error {
	if n, err := strconv.ParseUint(v, 10, 32); v != "" && (err != nil || n < 1 || n > 255) {
		return fmt.Errorf("%s: want 1..255, SONiC's distance", v)
	}
	h.Distance = v
	return nil
}

// inStatic reports whether keys, or a pattern, are of the protocol that has the static routes.
func inStatic(keys []string) bool {
	return tree.Matches([]string{instanceName, staticProtocol, staticName}, keys[:3]) ||
		tree.Matches(keys[:3], []string{instanceName, staticProtocol, staticName})
}

// staticThrough returns the Through of static routes.
func staticThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, _ string, _ []string) error {
			if !inStatic(keys) {
				return nil // there is no such protocol, which was reported already
			}
			return s.Make(ctx, staticRoutePath, keys[3])
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, _ *tree.Node, whole bool) error {
			if !whole || !inStatic(pattern) {
				return nil
			}
			routes, err := s.Match(ctx, staticRoutePath, pattern[3])
			none := withoutHops(tree.Wildcard, nil, true)
			for i := 0; err == nil && i < len(routes); i++ { // the Set may make a route again, with other next hops
				err = errors.Join(s.Write(ctx, staticRoutePath, routes[i], schema.CfgStaticRoute, none, nil),
					s.Erase(ctx, staticRoutePath, routes[i]...))
			}
			return err
		},
	}
}

// staticHopThrough returns the Through of the next hops of static routes.
func staticHopThrough(path string) *tree.Through {
	write := func(ctx context.Context, s tree.Setting, prefix string, c tree.Codec, v []string) error {
		return s.Write(ctx, staticRoutePath, []string{prefix}, schema.CfgStaticRoute, c, v)
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			prefix, index := keys[3], keys[4]
			switch {
			case !inStatic(keys):
				return nil // there is no such protocol, which was reported already
			case strings.ContainsAny(index, ", ") || len(index) > mostIndex:
				return fmt.Errorf("index %s: want at most %d characters, no comma and no blank", tree.Quoted(index), mostIndex)
			case leaf == "config/recurse" && v[0] != "false":
				return errors.New("true: want false; a next hop is in the subnet of an interface")
			case leaf == "interface-ref/config/subinterface" && v[0] != "0":
				return fmt.Errorf("%s: want 0, which is all that an interface has", v[0])
			}
			err := s.Make(ctx, staticRoutePath, prefix)
			if c, stored := hopParts(index)[leaf]; err == nil && stored {
				err = write(ctx, s, prefix, c, v)
			}
			return err
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if !inStatic(pattern) {
				return nil
			}
			routes, err := s.Match(ctx, staticRoutePath, pattern[3])
			for i := 0; err == nil && i < len(routes); i++ {
				err = write(ctx, s, routes[i][0], withoutHops(pattern[4], func(leaf string) bool {
					at := path + "/" + leaf
					return at == n.Path || strings.HasPrefix(at, n.Path+"/")
				}, whole), nil)
			}
			return err
		},
	}
}

// mostIndex is the maximum length of an index.
const mostIndex = 64

// withoutHops returns a codec that removes the next hops whose index matches a pattern from a row or, if not whole,
// those of their leaves that go.
func withoutHops(pattern string, goes func(leaf string) bool, whole bool) tree.Codec {
	put := func(r tree.Record, _ []string) error {
		fits := func(h routeHop) bool { return pattern == tree.Wildcard || h.Index == pattern }
		hops := readHops(r)
		if !slices.ContainsFunc(hops, fits) {
			return nil
		}
		if whole {
			writeHops(r, slices.DeleteFunc(hops, fits))
			return nil
		}
		for _, h := range hops {
			for leaf, c := range hopParts(h.Index) {
				if fits(h) && goes(leaf) {
					if err := c.Put(r, nil); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return tree.Codec{Shared: true, Get: func(tree.Record) []string { return nil }, Put: put}
}

// nextHopLeaves returns the leaves of a next hop below config or state, from the fields of hopsByIndex.
func nextHopLeaves(at string) []tree.Leaf {
	read := func(get func(routeHop) string) tree.Codec {
		return tree.Codec{Get: func(r tree.Record) []string {
			return tree.One(get(routeHop{Address: r.Field("address"), Interface: r.Field("interface"),
				Blackhole: r.Field("blackhole"), Distance: r.Field("distance")}))
		}}
	}
	return []tree.Leaf{
		leaf(at+"/next-hop", read(routeHop.to)), leaf(at+"/metric", read(routeHop.metric)),
		leaf(at+"/recurse", constant("false")),
		leaf("interface-ref/"+at+"/interface", read(func(h routeHop) string { return kit.ServedInterface(h.Interface) })),
		leaf("interface-ref/"+at+"/subinterface", read(func(h routeHop) string { return kit.Subinterface(h.Interface) })),
	}
}

// wayInForce returns leaves of a next hop that have a value only while the static route in force has the hop. The
// entry's own row is the configured hop. The row is the route in APPL_DB, which has the usable hops of the smallest
// distance.
func wayInForce(leaves []tree.Leaf) []tree.Leaf {
	for i, l := range leaves {
		leaves[i].Codec = tree.Codec{Get: func(r tree.Record) []string {
			is := routeHop{Address: r.Own["address"], Interface: r.Own["interface"], Blackhole: r.Own["blackhole"],
				Distance: r.Own["distance"]}
			if !is.inForce(r) {
				return nil
			}
			return l.Codec.Get(tree.Record{Keys: r.Keys, Fields: is.fields()})
		}}
	}
	return leaves
}

// inForce reports whether a route of APPL_DB is static and has the hop. If so, the hop gets the interface that the
// route has for it.
func (h *routeHop) inForce(route tree.Record) bool {
	if route.Field("protocol") != "static" {
		return false
	}
	for _, is := range readHops(route) {
		if h.drops() == is.drops() && h.to() == is.to() && (h.Interface == "" || h.drops() || h.Interface == is.Interface) {
			h.Interface = is.Interface
			return true
		}
	}
	return false
}

// hopsInForce returns the codec of the configured next hops of a static route that are in force.
func hopsInForce() tree.Codec {
	return tree.Codec{Get: func(r tree.Record) (hops []string) {
		for _, h := range readHops(tree.Record{Fields: r.Own}) {
			if is := h; is.inForce(r) {
				hops = append(hops, formatNextHop(h.Address, h.Interface, h.Blackhole, h.Distance))
			}
		}
		return hops
	}}
}
