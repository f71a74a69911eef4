package models

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// These are the parts of package kit that most tables use, by short names.
var (
	text, list, words, number = kit.Text, kit.List, kit.Words, kit.Number
	readOnly, constant, fixed = kit.ReadOnly, kit.Constant, kit.Fixed
	orElse, never, mac        = kit.OrElse, kit.Never, kit.MAC
	leaf, objectRow           = kit.Leaf, kit.ObjectRow
	readRaw, makeRaw          = kit.ReadRaw, kit.MakeRaw
	writeRaw, eraseRaw        = kit.WriteRaw, kit.EraseRaw
	withoutNull               = kit.WithoutNull
)

// fieldLeaves returns the leaves for the fields of a table, as package schema declares them. at is the container of the
// leaves. special holds codecs of leaves whose value is not the text of the field.
func fieldLeaves(at string, fields []schema.Field, special map[string]tree.Codec) (leaves []tree.Leaf) {
	for _, f := range fields {
		if f.Leaf == "" {
			continue
		}
		c, ok := special[f.Leaf]
		switch {
		case ok:
		case f.Parts == ",":
			c = list(f.Name)
		case f.Parts != "":
			c = parted(f.Name, f.Parts)
		default:
			c = text(f.Name)
		}
		leaves = append(leaves, leaf(at+"/"+f.Leaf, c))
	}
	return leaves
}

// countersRow returns the row of a table of counters.
func countersRow(table, key, at string) tree.Row {
	row := measuredRow(table, key, at, nil)
	row.Counter = true
	return row
}

// measuredRow returns the row of a table of COUNTERS_DB; special is as in fieldLeaves.
func measuredRow(table, key, at string, special map[string]tree.Codec) tree.Row {
	return tree.Row{DB: swss.CountersDB, Table: table, Key: key,
		Leaves: fieldLeaves(at, schema.CountersIn(table), special)}
}

// ruleCounters returns the row with the packets and the octets of an ACL rule.
func ruleCounters(key, packets, octets string) tree.Row {
	return objectRow(schema.CountersACLRuleMap, key, leaf(packets, text("SAI_ACL_COUNTER_ATTR_PACKETS")),
		leaf(octets, text("SAI_ACL_COUNTER_ATTR_BYTES")))
}

// configRow returns the row of CONFIG_DB that makes up an entry.
func configRow(t schema.Table, key string) tree.Row {
	return tree.Row{DB: swss.ConfigDB, Table: t.Config, Key: key, Entry: true,
		Leaves: fieldLeaves("config", t.Fields, nil)}
}

// appliedRow returns the row of APPL_DB of an entry; wanted computes its target state from the configuration.
func appliedRow(t schema.Table, key string, wanted func(tree.Configured) (map[string]string, error)) tree.Row {
	fields := t.Applied
	if fields == nil {
		fields = t.Fields
	}
	return tree.Row{DB: swss.ApplDB, Table: t.Appl, Key: key, Behind: "state/not-in-force", Wanted: wanted,
		Leaves: fieldLeaves("state", fields, nil)}
}

// of returns the codec of a leaf that only interfaces of a kind have. A row of all kinds of interfaces has such leaves.
func of(kind string, c tree.Codec) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		if !strings.HasPrefix(r.Keys[0], kind) {
			return nil
		}
		return c.Get(r)
	}}
}

// statistic returns the codec of a counter of a port.
func statistic(s schema.Statistic) tree.Codec {
	if len(s.Of) == 1 {
		return text(s.Of[0])
	}
	return tree.Codec{Get: func(r tree.Record) []string {
		n, known := s.Count(r.Fields)
		if !known {
			return nil
		}
		return tree.One(strconv.FormatUint(n, 10))
	}}
}

// prefix returns the codec of an IP prefix. A single host is written without length. A mask in a separate field is
// accepted if it is contiguous.
func prefix(field string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string {
			text, mask := r.Field(field), r.Field(field+"_MASK")
			if mask == "" {
				return tree.One(text)
			}
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil
			}
			m, err := netip.ParseAddr(mask)
			if err != nil || m.BitLen() != a.BitLen() {
				return nil
			}
			ones, size := net.IPMask(m.AsSlice()).Size() // 0, 0 means that the mask is no prefix
			if size == 0 {
				return nil
			}
			return tree.One(netip.PrefixFrom(a, ones).Masked().String())
		},
		Put: func(r tree.Record, v []string) error {
			if p := tree.First(v); strings.Contains(p, "/") {
				if _, err := netip.ParsePrefix(p); err != nil {
					return fmt.Errorf("%q is no prefix", p)
				}
			} else if p != "" {
				if _, err := netip.ParseAddr(p); err != nil {
					return fmt.Errorf("%q is no address", p)
				}
			}
			r.Set(field, tree.First(v))
			r.Set(field+"_MASK", "")
			return nil
		},
	}
}

// addr returns the codec of an IP address with a second field that names its family.
func addr(field, family string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string { return tree.One(r.Field(field)) },
		Put: func(r tree.Record, v []string) error {
			r.Set(field, "")
			r.Set(family, "")
			if len(v) == 0 {
				return nil
			}
			a, err := netip.ParseAddr(v[0])
			if err != nil {
				return fmt.Errorf("%q is no address", v[0])
			}
			r.Set(field, a.String())
			r.Set(family, "ipv6")
			if a.Unmap().Is4() {
				r.Set(family, "ipv4")
			}
			return nil
		},
	}
}

// maskedPart returns the codec of one side of a field "value/mask": 0 is the value, 1 the mask.
func maskedPart(field string, side int) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string {
			value, mask, _ := strings.Cut(r.Field(field), "/")
			if side == 1 {
				return tree.One(strings.ToLower(mask))
			}
			return tree.One(strings.ToLower(value))
		},
		Put: func(r tree.Record, v []string) error {
			value, mask, _ := strings.Cut(r.Field(field), "/")
			if side == 1 {
				mask = tree.First(v)
			} else {
				value = tree.First(v)
			}
			if mask != "" {
				value += "/" + mask
			}
			r.Set(field, strings.ToLower(value))
			return nil
		},
	}
}

// ports returns the codec of a transport port or a range of ports, for which SONiC has separate fields.
func ports(field string) tree.Codec {
	single, ranged := number(field, "%d"), field+"_RANGE"
	return tree.Codec{
		Get: func(r tree.Record) []string {
			if v := single.Get(r); v != nil {
				return v
			}
			if lo, hi, ok := strings.Cut(r.Field(ranged), "-"); ok {
				return tree.One(lo + ".." + hi)
			}
			return nil
		},
		Put: func(r tree.Record, v []string) error {
			r.Set(ranged, "")
			lo, hi, ok := strings.Cut(tree.First(v), "..")
			if !ok {
				return single.Put(r, v)
			}
			r.Set(field, "")
			a, errA := strconv.ParseUint(lo, 10, 16)
			b, errB := strconv.ParseUint(hi, 10, 16)
			if errA != nil || errB != nil || a > b {
				return fmt.Errorf("%q is no range of ports, first..last", v[0])
			}
			r.Set(ranged, fmt.Sprintf("%d-%d", a, b))
			return nil
		},
	}
}

// flags returns the codec of a bit field, value/mask, as the list of the flags that must be set. It cannot express
// flags that must be clear.
func flags(field string, names ...string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string {
			value, mask, masked := strings.Cut(r.Field(field), "/")
			v, err := strconv.ParseUint(value, 0, 8)
			if err != nil {
				return nil
			}
			m := uint64(1)<<len(names) - 1
			if masked {
				if m, err = strconv.ParseUint(mask, 0, 8); err != nil {
					return nil
				}
			}
			if v&m != m {
				return nil
			}
			var out []string
			for i, n := range names {
				if m>>i&1 == 1 {
					out = append(out, n)
				}
			}
			return out
		},
		Put: func(r tree.Record, v []string) error {
			bits := 0
			for _, n := range v {
				i := slices.Index(names, n)
				if i < 0 {
					return fmt.Errorf("flag %q is not known", n)
				}
				bits |= 1 << i
			}
			r.Set(field, "")
			if bits != 0 {
				r.Set(field, fmt.Sprintf("0x%02x/0x%02x", bits, bits))
			}
			return nil
		},
	}
}
