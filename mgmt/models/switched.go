package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// vlanModule returns the mapping of openconfig-vlan. The VLANs of an interface are written in the lists of members of
// tamtam-interfaces.
func vlanModule() tree.Module {
	var rows []tree.Row
	for kind, at := range map[string]string{"Ethernet": "ethernet/", "PortChannel": "aggregation/"} {
		config := tree.Row{DB: swss.ConfigDB, Table: schema.CfgVLANMember, Key: "Vlan{*}|{name}", Of: "tagging_mode",
			Only: kind, Fold: tagModes}
		for _, l := range switchedLeaves(at + "switched-vlan/config/") {
			l.Codec.Through = switchedThrough(kind, l.Path[strings.LastIndexByte(l.Path, '/')+1:])
			config.Leaves = append(config.Leaves, l)
		}
		rows = append(rows, config, tree.Row{DB: swss.ApplDB, Table: schema.AppVLANMember, Key: "Vlan{*}:{name}",
			Of: "tagging_mode", Only: kind, Fold: tagModes, Leaves: switchedLeaves(at + "switched-vlan/state/")})
	}
	id := tree.Codec{Get: func(r tree.Record) []string { return tree.One(strings.TrimPrefix(r.Keys[0], "Vlan")) }}
	return tree.Module{Name: "openconfig-vlan", Groups: []tree.Group{{Path: interfacesPath, Rows: append(rows,
		tree.Row{DB: swss.ConfigDB, Table: schema.CfgVLANInterface, Key: "{name}", Only: "Vlan",
			Leaves: []tree.Leaf{leaf("routed-vlan/state/vlan", id)}})}}}
}

// tagModes returns the modes of an interface in its VLANs; without one, frames have no tag.
func tagModes(rows map[string]string) map[string]string {
	out := map[string]string{}
	for vlan, mode := range rows {
		if out[vlan] = strings.ToLower(mode); mode == "" {
			out[vlan] = schema.Untagged
		}
	}
	return out
}

// switchedLeaves returns the leaves for the VLANs of an interface: the VLANs of tagged frames, and the VLAN of untagged
// frames.
func switchedLeaves(at string) []tree.Leaf {
	of := func(get func(v switched) []string) tree.Codec {
		return tree.Codec{Get: func(r tree.Record) []string {
			return get(switched{parts(r, schema.Tagged), parts(r, schema.Untagged)})
		}}
	}
	return []tree.Leaf{
		leaf(at+interfaceMode, of(func(v switched) []string { return tree.One(v.mode()) })),
		leaf(at+nativeVLAN, of(func(v switched) []string { return v.only(trunk) })),
		leaf(at+accessVLAN, of(func(v switched) []string { return v.only(access) })),
		leaf(at+trunkVLANs, of(func(v switched) []string { return v.tagged })),
	}
}

// Leaves of switched-vlan, and OpenConfig's modes.
const (
	interfaceMode = "interface-mode"
	nativeVLAN    = "native-vlan"
	accessVLAN    = "access-vlan"
	trunkVLANs    = "trunk-vlans"
	untaggedVLAN  = "native-vlan or access-vlan"
	trunk         = "TRUNK"
	access        = "ACCESS"
)

// A switched has the VLANs of an interface.
type switched struct{ tagged, untagged []string }

// mode returns the mode of the interface, or "" if it is in no VLAN.
func (v switched) mode() string {
	switch {
	case len(v.tagged) > 0:
		return trunk
	case len(v.untagged) > 0:
		return access
	}
	return ""
}

// only returns the VLAN of untagged frames if the interface has a mode. OpenConfig has no leaf for several.
func (v switched) only(mode string) []string {
	if v.mode() != mode || len(v.untagged) != 1 {
		return nil
	}
	return v.untagged
}

const vlanMemberPath = vlanListPath + "/members/member"

// switchedNow returns the VLANs of an interface as the Set has left them so far.
func switchedNow(ctx context.Context, s tree.Setting, name string) (v switched, err error) {
	there, err := s.Match(ctx, vlanMemberPath, tree.Wildcard, name)
	for i := 0; err == nil && i < len(there); i++ {
		var row map[string]string
		row, err = s.Row(ctx, vlanMemberPath, there[i], schema.CfgVLANMember)
		switch tagModes(map[string]string{"": tree.Record{Fields: row}.Field("tagging_mode")})[""] {
		case schema.Tagged:
			v.tagged = append(v.tagged, there[i][0])
		case schema.Untagged:
			v.untagged = append(v.untagged, there[i][0])
		}
	}
	return v, err
}

// switchedThrough returns the Through of a leaf of the VLANs of interfaces of a kind. The mode is that which follows
// from the VLANs; a Set must not change it by the way.
func switchedThrough(kind, name string) *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			if !strings.HasPrefix(keys[0], kind) {
				return fmt.Errorf("%s is no %s", keys[0], kindWords[kind])
			}
			check := switchedCheck{s, fmt.Sprintf("%s[name=%s]/%s", interfacesPath, keys[0], leaf), keys[0]}
			switch name {
			case interfaceMode:
				check.later(name, func(is switched) error { return wantMode(is, v[0]) })
				return nil
			case trunkVLANs:
				return putTrunk(ctx, check, v)
			}
			mode := map[string]string{nativeVLAN: trunk, accessVLAN: access}[name]
			check.became(name)
			check.later(untaggedVLAN, func(is switched) error {
				if err := wantMode(is, mode); err != nil {
					return err
				}
				if len(is.untagged) != 1 || is.untagged[0] != v[0] {
					return fmt.Errorf("this Set has another value for the same data: %s", strings.Join(is.untagged, ", "))
				}
				return nil
			})
			if err := eraseVLANs(ctx, s, keys[0], false, func(vlan string) bool { return vlan != v[0] }); err != nil {
				return err
			}
			return putVLAN(ctx, s, v[0], keys[0], "UNTAGGED")
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, _ bool) error {
			there, err := s.Match(ctx, vlanMemberPath, tree.Wildcard, pattern[0])
			var names []string
			for _, keys := range there {
				if strings.HasPrefix(keys[1], kind) && !slices.Contains(names, keys[1]) {
					names = append(names, keys[1])
				}
			}
			for _, port := range names {
				is, bad := switchedNow(ctx, s, port)
				err = errors.Join(err, bad, removeSwitched(ctx, s, port, name, n, is))
			}
			return err
		},
	}
}

// kindWords names the kinds of interfaces that are in VLANs.
var kindWords = map[string]string{"Ethernet": "port", "PortChannel": "PortChannel"}

// A switchedCheck checks the VLANs of an interface at the end of a Set.
type switchedCheck struct {
	s          tree.Setting
	path, name string
}

// later calls a check, or cancels it. Checks have the names of leaves.
func (c switchedCheck) later(leaf string, do func(is switched) error) {
	at := "switched " + c.name + " " + leaf
	if do == nil {
		c.s.Later(at, "", nil)
		return
	}
	c.s.Later(at, "", func(ctx context.Context, _ []string) error {
		is, err := switchedNow(ctx, c.s, c.name)
		if err == nil {
			err = do(is)
		}
		if err != nil && !tree.IsUnavailable(err) {
			err = fmt.Errorf("%s: %w", c.path, err)
		}
		return err
	})
}

// became checks at the end of the Set that the mode did not change by the way: an access VLAN becomes a native VLAN, or
// the reverse, only if the Set names both. Items are the leaves that the Set puts, and those that it removes.
func (c switchedCheck) became(item string) {
	c.s.Later("switched "+c.name+" mode", item, func(ctx context.Context, items []string) error {
		is, err := switchedNow(ctx, c.s, c.name)
		has := func(item string) bool { return slices.Contains(items, item) }
		switch {
		case err != nil || len(is.untagged) == 0:
			return err
		case has(trunkVLANs) && is.mode() == trunk && !has(nativeVLAN) && !has(removedLeaf+trunkVLANs):
			return fmt.Errorf("%s: %s has the access-vlan %s: want its delete, or a native-vlan", c.path, c.name,
				strings.Join(is.untagged, ", "))
		case !has(removedLeaf+trunkVLANs) || is.mode() != access || has(accessVLAN):
			return nil
		case has(removedLeaf + nativeVLAN):
			return eraseVLANs(ctx, c.s, c.name, false, func(string) bool { return true })
		}
		return fmt.Errorf("%s: its native-vlan %s remains: want its delete, or an access-vlan", c.path,
			strings.Join(is.untagged, ", "))
	})
}

// removedLeaf begins an item of [switchedCheck.became]: a leaf that the Set removes.
const removedLeaf = "-"

func wantMode(is switched, mode string) error {
	switch {
	case is.mode() == mode:
		return nil
	case mode == trunk:
		return errors.New("want trunk-vlans, too: the mode TRUNK follows from them")
	case len(is.tagged) > 0:
		return fmt.Errorf("want no trunk-vlans in the mode ACCESS: there are %s", strings.Join(is.tagged, ", "))
	}
	return errors.New("want an access-vlan, too: the mode ACCESS follows from it")
}

// putTrunk gives an interface VLANs of tagged frames. An interface with an access VLAN does not become a trunk by the
// way.
func putTrunk(ctx context.Context, check switchedCheck, v []string) error {
	s, name := check.s, check.name
	is, err := switchedNow(ctx, s, name)
	if err != nil {
		return err
	}
	if is.mode() == access {
		check.became(trunkVLANs)
	}
	want := map[string]bool{}
	for _, item := range v {
		vlans, err := vlansOf(item)
		if err != nil {
			return err
		}
		for _, vlan := range vlans {
			want[vlan] = true
		}
	}
	if !s.Adds() {
		if err := eraseVLANs(ctx, s, name, true, func(vlan string) bool { return !want[vlan] }); err != nil {
			return err
		}
	}
	for _, vlan := range tree.SortedKeys(want) {
		if slices.Contains(is.untagged, vlan) {
			return fmt.Errorf("%s: is the VLAN of frames without a tag", vlan)
		}
		if err := putVLAN(ctx, s, vlan, name, "TAGGED"); err != nil {
			return err
		}
	}
	return nil
}

// vlansOf returns the VLANs of an item of trunk-vlans: a number, or a range first..last.
func vlansOf(item string) (vlans []string, err error) {
	first, last, is := strings.Cut(item, "..")
	if !is {
		return []string{item}, nil
	}
	lo, errLo := strconv.Atoi(first)
	hi, errHi := strconv.Atoi(last)
	if errLo != nil || errHi != nil || lo > hi {
		return nil, fmt.Errorf("%s: want a range of VLANs, first..last", tree.Quoted(item))
	}
	for n := lo; n <= hi; n++ {
		vlans = append(vlans, strconv.Itoa(n))
	}
	return vlans, nil
}

// putVLAN puts an interface into a VLAN.
func putVLAN(ctx context.Context, s tree.Setting, vlan, name, mode string) error {
	keys := []string{vlan, name}
	if err := s.Make(ctx, vlanMemberPath, keys...); err != nil {
		return err
	}
	return s.Write(ctx, vlanMemberPath, keys, schema.CfgVLANMember, tagging(), []string{mode})
}

// eraseVLANs takes an interface out of its VLANs of tagged or of untagged frames, if goes accepts them.
func eraseVLANs(ctx context.Context, s tree.Setting, name string, tagged bool, goes func(vlan string) bool) error {
	is, err := switchedNow(ctx, s, name)
	vlans := is.untagged
	if tagged {
		vlans = is.tagged
	}
	for i := 0; err == nil && i < len(vlans); i++ {
		if goes(vlans[i]) {
			err = s.Erase(ctx, vlanMemberPath, vlans[i], name)
		}
	}
	return err
}

// removeSwitched removes a leaf of an interface, or an item of trunk-vlans. The deletes of a mode, and of a leaf that
// the interface's mode does not have, change nothing.
func removeSwitched(ctx context.Context, s tree.Setting, port, name string, n *tree.Node, is switched) error {
	path := fmt.Sprintf("%s[name=%s]", interfacesPath, port) + strings.TrimPrefix(n.Path, interfacesPath)
	check := switchedCheck{s, path, port}
	every := func(string) bool { return true }
	check.later(name, nil)
	if name == nativeVLAN {
		check.became(removedLeaf + name)
	}
	switch {
	case name == accessVLAN && is.mode() == access, name == nativeVLAN && is.mode() == trunk:
		check.later(untaggedVLAN, nil)
		return eraseVLANs(ctx, s, port, false, every)
	case name != trunkVLANs || is.mode() != trunk:
		return nil
	}
	if item := s.Item(); item != "" {
		vlans, err := vlansOf(item)
		if err != nil {
			return err
		}
		every = func(vlan string) bool { return slices.Contains(vlans, vlan) }
	}
	check.became(removedLeaf + name)
	return eraseVLANs(ctx, s, port, true, every)
}
