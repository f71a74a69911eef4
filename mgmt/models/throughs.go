package models

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// This file maps OpenConfig's nodes that a Set writes to our lists, which hold the configuration.

// ours returns the keys of the entries of one of our lists that match a pattern and a condition.
func ours(
	ctx context.Context, s tree.Setting, list string, fits func(keys []string) bool, pattern ...string,
) ([][]string, error) {
	all, err := s.Match(ctx, list, pattern...)
	return slices.DeleteFunc(all, func(keys []string) bool { return !fits(keys) }), err
}

// erase removes the entries that match a pattern and a condition.
func erase(
	ctx context.Context, s tree.Setting, list string, fits func(keys []string) bool, pattern ...string,
) error {
	there, err := ours(ctx, s, list, fits, pattern...)
	for i := 0; err == nil && i < len(there); i++ {
		err = s.Erase(ctx, list, there[i]...)
	}
	return err
}

const addressPath = routedPath + "/addresses/address"

// addressThrough returns the Through of addresses of one family, of VLANs or of other interfaces.
func addressThrough(path string, vlan bool, family string) *tree.Through {
	fits := ofInterface(vlan, family)
	of := func(ctx context.Context, s tree.Setting, keys []string) ([][]string, error) {
		name, ip := keys[0], keys[len(keys)-1]
		want, err := netip.ParseAddr(ip)
		return ours(ctx, s, addressPath, func(keys []string) bool {
			prefix, bad := netip.ParsePrefix(keys[1])
			return bad == nil && fits([]string{keys[0], prefix.Addr().String()}) && (err != nil || prefix.Addr() == want)
		}, name, tree.Wildcard)
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			if strings.HasPrefix(keys[0], "Vlan") != vlan {
				return fmt.Errorf("addresses of %s are in %s", keys[0], map[bool]string{
					true: "subinterfaces/subinterface[index=0]", false: "routed-vlan",
				}[vlan])
			}
			if leaf == "" {
				s.Needs(path, "config/prefix-length", keys, of, nil)
				return nil
			}
			if leaf == "config/type" {
				if is := addressType(keys[len(keys)-1]); v[0] != is {
					return fmt.Errorf("%s: want %s, which the address is", v[0], is)
				}
				return nil
			}
			prefix := keys[len(keys)-1] + "/" + v[0]
			there, err := of(ctx, s, keys)
			if err != nil {
				return err
			}
			for _, k := range there { // the same address with a different prefix length
				if k[1] == prefix {
					continue
				}
				if err := s.Erase(ctx, addressPath, k...); err != nil {
					return err
				}
			}
			s.Needs(path, "config/prefix-length", keys, of, []string{keys[0], prefix})
			if err := s.Make(ctx, routedPath, keys[0]); err != nil {
				return err
			}
			return s.Make(ctx, addressPath, keys[0], prefix)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if n.Name == "type" && n.Type != nil {
				return nil // it follows from the address
			}
			there, err := of(ctx, s, pattern)
			if err != nil {
				return err
			}
			for _, k := range there {
				if err := s.Erase(ctx, addressPath, k...); err != nil {
					return err
				}
			}
			if whole {
				s.Forgo(path, pattern)
			} else if len(there) > 0 {
				s.Needs(path, "config/prefix-length", pattern, of, nil)
			}
			return nil
		},
	}
}

// neighbourThrough returns the Through of static neighbours of one family, of VLANs or of other interfaces.
func neighbourThrough(path string, vlan bool, family string) *tree.Through {
	fits := ofInterface(vlan, family)
	of := func(ctx context.Context, s tree.Setting, keys []string) ([][]string, error) {
		return ours(ctx, s, staticNeighborPath, fits, keys[0], keys[len(keys)-1])
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name, ip := keys[0], keys[len(keys)-1]
			if strings.HasPrefix(name, "Vlan") != vlan {
				return fmt.Errorf("neighbours of %s are in %s", name, map[bool]string{
					true: "subinterfaces/subinterface[index=0]", false: "routed-vlan",
				}[vlan])
			}
			s.Needs(path, "config/link-layer-address", keys, of, nil)
			if leaf == "" {
				return nil
			}
			if err := s.Make(ctx, staticNeighborPath, name, ip); err != nil {
				return err
			}
			return s.Write(ctx, staticNeighborPath, []string{name, ip}, schema.CfgNeigh, text("neigh"), v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, _ *tree.Node, whole bool) error {
			there, err := of(ctx, s, pattern)
			for i := 0; err == nil && i < len(there); i++ {
				err = s.Erase(ctx, staticNeighborPath, there[i]...)
			}
			if whole {
				s.Forgo(path, pattern)
			} else if len(there) > 0 {
				s.Needs(path, "config/link-layer-address", pattern, of, nil)
			}
			return err
		},
	}
}

// ipMTUs are the leaves of the MTU of a routed interface, which is one for both versions of IP.
var ipMTUs = []string{"ipv4/config/mtu", "ipv6/config/mtu"}

// setMTU writes the MTU of a routed interface, or removes it if v is nil.
func setMTU(ctx context.Context, s tree.Setting, name string, v []string) error {
	if schema.IsLoopbackName(name) {
		return fmt.Errorf("%s: a loopback sends no packets", tree.First(v))
	}
	return s.Write(ctx, routedPath, []string{name}, schema.InterfaceTable(name), text("mtu"), v)
}

// clearMTU removes the MTUs at and below a node of the interfaces that match. at is the node above IP.
func clearMTU(ctx context.Context, s tree.Setting, pattern string, n *tree.Node, at string) error {
	if !slices.ContainsFunc(ipMTUs, func(leaf string) bool {
		return at+"/"+leaf == n.Path || strings.HasPrefix(at+"/"+leaf, n.Path+"/")
	}) {
		return nil
	}
	vlan := strings.HasSuffix(at, "/routed-vlan")
	there, err := ours(ctx, s, routedPath, func(keys []string) bool {
		return strings.HasPrefix(keys[0], "Vlan") == vlan && !schema.IsLoopbackName(keys[0])
	}, pattern)
	for i := 0; err == nil && i < len(there); i++ {
		err = setMTU(ctx, s, there[i][0], nil)
	}
	return err
}

// macThrough returns the Through of the address that a port has as a router.
func macThrough() *tree.Through {
	write := func(ctx context.Context, s tree.Setting, name string, v []string) error {
		return s.Write(ctx, routedPath, []string{name}, schema.CfgInterface, text("mac_addr"), v)
	}
	later := func(name string) string { return "mac-address " + name }
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, _ string, v []string) error {
			name := keys[0]
			if !schema.IsPortName(name) {
				return fmt.Errorf("%s is no port", name)
			}
			s.Later(later(name), "", func(ctx context.Context, _ []string) error { // its subinterface may follow in the Set
				row, err := s.Row(ctx, routedPath, []string{name}, schema.CfgInterface)
				if err == nil && row == nil {
					err = fmt.Errorf("%s[name=%s]/ethernet/config/mac-address: %s does not route: want its subinterface 0",
						interfacesPath, name, name)
				}
				if err != nil {
					return err
				}
				return write(ctx, s, name, []string{strings.ToLower(v[0])})
			})
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, _ *tree.Node, _ bool) error {
			s.Later(later(pattern[0]), "", nil)
			ports, err := ours(ctx, s, routedPath, func(keys []string) bool { return schema.IsPortName(keys[0]) }, pattern[0])
			for i := 0; err == nil && i < len(ports); i++ {
				err = write(ctx, s, ports[i][0], nil)
			}
			return err
		},
	}
}

// subinterfaceThrough returns the Through that determines which interfaces route.
func subinterfaceThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			switch {
			case keys[1] != "0":
				return fmt.Errorf("index %s: want 0, which is all that is received without a tag", keys[1])
			case strings.HasPrefix(keys[0], "Vlan"):
				return errors.New("a VLAN interface has none: its addresses are in routed-vlan")
			case leaf == "config/enabled" && v[0] != "true":
				return fmt.Errorf("%s: want true; config/enabled of the interface takes both down", v[0])
			case strings.HasSuffix(leaf, "/enabled") && v[0] != "true":
				return errNotRouted(v[0])
			}
			if err := s.Make(ctx, routedPath, keys[0]); err != nil || !slices.Contains(ipMTUs, leaf) {
				return err
			}
			return setMTU(ctx, s, keys[0], v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if pattern[1] != "0" && pattern[1] != tree.Wildcard {
				return nil
			}
			err := clearMTU(ctx, s, pattern[0], n, interfacesPath+"/subinterfaces/subinterface")
			if !whole || err != nil {
				return err
			}
			other := func(keys []string) bool { return !strings.HasPrefix(keys[0], "Vlan") }
			return erase(ctx, s, routedPath, other, pattern[0])
		},
	}
}

// errNotRouted returns the error for an IP version that is to be disabled.
func errNotRouted(v string) error {
	return fmt.Errorf("%s: want true; an interface that routes has both IPv4 and IPv6", v)
}

// routedVLANThrough returns the Through of enabled of an IP version of a VLAN interface, and of its MTU.
func routedVLANThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			mtu := slices.Contains(ipMTUs, strings.TrimPrefix(leaf, "routed-vlan/"))
			switch {
			case !strings.HasPrefix(keys[0], "Vlan"):
				return fmt.Errorf("%s is no VLAN interface", keys[0])
			case !mtu && v[0] != "true":
				return errNotRouted(v[0])
			}
			if err := s.Make(ctx, routedPath, keys[0]); err != nil || !mtu {
				return err
			}
			return setMTU(ctx, s, keys[0], v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, _ bool) error {
			return clearMTU(ctx, s, pattern[0], n, interfacesPath+"/routed-vlan")
		},
	}
}

// memberThrough returns the Through of a port's PortChannel.
func memberThrough() *tree.Through {
	const members = interfacesPath + "/aggregation/members/member"
	leave := func(ctx context.Context, s tree.Setting, port, but string) error {
		return erase(ctx, s, members, func(keys []string) bool { return keys[0] != but }, tree.Wildcard, port)
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, _ string, v []string) error {
			switch {
			case !strings.HasPrefix(keys[0], "Ethernet"):
				return fmt.Errorf("%s is no port", keys[0])
			case !strings.HasPrefix(v[0], "PortChannel"):
				return fmt.Errorf("%s is no PortChannel", v[0])
			}
			if err := leave(ctx, s, keys[0], v[0]); err != nil {
				return err
			}
			of := func(ctx context.Context, s tree.Setting, keys []string) ([][]string, error) {
				return s.Match(ctx, members, tree.Wildcard, keys[0])
			}
			s.Needs(interfacesPath, "ethernet/config/aggregate-id", keys, of, []string{v[0], keys[0]})
			return s.Make(ctx, members, v[0], keys[0])
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, _ *tree.Node, _ bool) error {
			s.Forgo(interfacesPath, pattern)
			return leave(ctx, s, pattern[0], "")
		},
	}
}

// instanceInterfaceThrough returns the Through of the interfaces of network instances. An interface that a Set
// configures elsewhere is in the default instance, even if the Set does not name it here.
func instanceInterfaceThrough() *tree.Through {
	// in returns the network instance that has an interface.
	in := func(ctx context.Context, s tree.Setting, name string) (string, error) {
		row, err := s.Row(ctx, routedPath, []string{name}, schema.InterfaceTable(name))
		return schema.VRFName(row["vrf_name"]), err
	}
	setVRF := func(ctx context.Context, s tree.Setting, name string, v []string) error {
		return s.Write(ctx, routedPath, []string{name}, schema.InterfaceTable(name), text("vrf_name"), v)
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name, ok := strings.CutSuffix(keys[1], baseSubinterface)
			switch {
			case keys[0] != instanceName && !strings.HasPrefix(keys[0], schema.VRFPrefix):
				return nil // there is no such instance, which was reported already
			case !ok || strings.HasPrefix(name, "Vlan"):
				return fmt.Errorf("id %s: want that of an interface with subinterface 0, such as Ethernet0%s",
					tree.Quoted(keys[1]), baseSubinterface)
			case leaf == "config/interface" && v[0] != name:
				return fmt.Errorf("%s: want %s, as in the id", tree.Quoted(v[0]), name)
			case leaf == "config/subinterface" && v[0] != "0":
				return fmt.Errorf("%s: want 0, as in the id", v[0])
			}
			if err := s.Make(ctx, routedPath, name); err != nil {
				return err
			}
			if is, err := in(ctx, s, name); err != nil || is == keys[0] {
				return err
			}
			if keys[0] == instanceName {
				return setVRF(ctx, s, name, nil)
			}
			return setVRF(ctx, s, name, keys[:1])
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, _ *tree.Node, whole bool) error {
			if !whole {
				return nil
			}
			name := pattern[1]
			if name != tree.Wildcard {
				name = strings.TrimSuffix(name, baseSubinterface)
			}
			other := func(keys []string) bool { return !strings.HasPrefix(keys[0], "Vlan") }
			there, err := ours(ctx, s, routedPath, other, name)
			for i := 0; err == nil && i < len(there); i++ {
				var is string
				if is, err = in(ctx, s, there[i][0]); err != nil || pattern[0] != tree.Wildcard && pattern[0] != is {
					continue
				}
				var made bool
				if made, err = s.Made(ctx, routedPath, there[i]...); err == nil && !made {
					err = s.Erase(ctx, routedPath, there[i]...)
				}
			}
			return err
		},
	}
}

// lacpThrough returns the Through of the LACP settings of a PortChannel.
func lacpThrough() *tree.Through {
	settings := map[string]tree.Codec{
		"interval": lacpInterval("fast_rate"), "fallback": words("fallback", "false", "true", "true", "false", "false"),
	}
	write := func(ctx context.Context, s tree.Setting, keys []string, c tree.Codec, v []string) error {
		speaks := tree.Codec{Get: c.Get, Put: func(r tree.Record, v []string) error {
			if r.Field("static") == "true" && len(v) > 0 {
				return fmt.Errorf("%s does not speak LACP: its lag-type is STATIC", keys[0])
			}
			if slices.Equal(c.Get(r), v) {
				return nil // the default of an absent field is no change
			}
			return c.Put(r, v)
		}}
		return s.Write(ctx, interfacesPath, keys, schema.CfgPortChannel, speaks, v)
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name := strings.TrimPrefix(leaf, "config/")
			switch {
			case !strings.HasPrefix(keys[0], "PortChannel"):
				return fmt.Errorf("%s is no PortChannel", keys[0])
			case name == "lacp-mode" && v[0] != "ACTIVE":
				return fmt.Errorf("%s: want ACTIVE; the switch is never passive", v[0])
			case name == "system-id-mac":
				return errors.New("it cannot be set: it is the address of the switch")
			}
			if err := s.Make(ctx, interfacesPath, keys[0]); err != nil || settings[name].Put == nil {
				return err
			}
			return write(ctx, s, keys, settings[name], v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, _ bool) error {
			there, err := ours(ctx, s, interfacesPath,
				func(keys []string) bool { return strings.HasPrefix(keys[0], "PortChannel") }, pattern[0])
			for _, keys := range there {
				for name, c := range settings {
					if err == nil && (n.Type == nil || n.Name == name) {
						err = write(ctx, s, keys, c, nil)
					}
				}
			}
			return err
		},
	}
}

const vlanListPath = "/vlans/vlan"

// vlanThrough returns the Through that creates and deletes VLANs, and sets their status.
func vlanThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			switch {
			case strings.HasPrefix(keys[0], schema.VRFPrefix):
				return fmt.Errorf("%s: want %s: a VLAN is in no VRF", keys[0], instanceName)
			case keys[0] != instanceName:
				return nil // there is no such instance, which was reported already
			}
			if name := "Vlan" + keys[1]; leaf == "config/name" && v[0] != name {
				return fmt.Errorf("%s: want %s, which is what it is called", tree.Quoted(v[0]), name)
			}
			if err := s.Make(ctx, vlanListPath, keys[1]); err != nil || leaf != "config/status" {
				return err
			}
			return s.Write(ctx, vlanListPath, keys[1:], schema.CfgVLAN, vlanStatus(), v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if pattern[0] != instanceName && pattern[0] != tree.Wildcard {
				return nil
			}
			there, err := s.Match(ctx, vlanListPath, pattern[1])
			for i := 0; err == nil && i < len(there); i++ {
				if n.Name != "name" {
					err = s.Write(ctx, vlanListPath, there[i], schema.CfgVLAN, vlanStatus(), nil)
				}
				if err == nil && whole {
					err = s.Erase(ctx, vlanListPath, there[i]...)
				}
			}
			return err
		},
	}
}
