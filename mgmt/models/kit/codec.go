package kit

import (
	"fmt"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Text returns the codec of a field that holds YANG's text.
func Text(field string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string { return tree.One(r.Field(field)) },
		Put: func(r tree.Record, v []string) error { r.Set(field, tree.First(v)); return nil },
	}
}

// OrElse returns a codec with a default for missing values.
func OrElse(c tree.Codec, v string) tree.Codec {
	return tree.Codec{Put: c.Put, Get: func(r tree.Record) []string {
		if said := c.Get(r); len(said) > 0 {
			return said
		}
		return tree.One(v)
	}}
}

// ObjectRow returns the row of counters of an object that is found in a name map.
func ObjectRow(names, key string, leaves ...tree.Leaf) tree.Row {
	return tree.Row{DB: swss.CountersDB, Table: schema.CountersTable, Map: names, Key: key, Counter: true, Leaves: leaves}
}

// List returns the codec of a field that holds a comma-separated list.
func List(field string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string {
			return strings.FieldsFunc(r.Field(field), func(c rune) bool { return c == ',' || c == ' ' })
		},
		Put: func(r tree.Record, v []string) error { r.Set(field, strings.Join(v, ",")); return nil },
	}
}

// Words returns the codec of a field whose words differ from YANG's. pairs alternates between YANG's word and the
// field's word. absent is YANG's word for a missing field. If absent is empty, the leaf then has no value.
func Words(field, absent string, pairs ...string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string {
			v := r.Field(field)
			for i := 0; i < len(pairs); i += 2 {
				if strings.EqualFold(v, pairs[i+1]) {
					return tree.One(pairs[i])
				}
			}
			return tree.One(absent)
		},
		Put: func(r tree.Record, v []string) error {
			for i := 0; i < len(pairs); i += 2 {
				if tree.First(v) == pairs[i] {
					r.Set(field, pairs[i+1])
					return nil
				}
			}
			r.Set(field, "")
			return nil
		},
	}
}

// Number returns the codec of a field that holds a number as SONiC's ACL rules do: 0x means hexadecimal, a leading 0
// means octal. Numbers are written with the given format.
func Number(field, format string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string {
			n, err := strconv.ParseUint(r.Field(field), 0, 64)
			if err != nil {
				return nil
			}
			return tree.One(strconv.FormatUint(n, 10))
		},
		Put: func(r tree.Record, v []string) error {
			if len(v) == 0 {
				r.Set(field, "")
				return nil
			}
			n, err := strconv.ParseUint(v[0], 10, 64)
			if err != nil {
				return err
			}
			r.Set(field, fmt.Sprintf(format, n))
			return nil
		},
	}
}

// ReadOnly returns a codec that cannot write.
func ReadOnly(c tree.Codec) tree.Codec { return tree.Codec{Get: c.Get} }

// Constant returns the codec of a leaf with the same value in every entry.
func Constant(v string) tree.Codec {
	return tree.Codec{Get: func(tree.Record) []string { return tree.One(v) }}
}

// Fixed returns the codec of a leaf of config whose value cannot be changed, and why. Writing the same value is
// allowed.
func Fixed(c tree.Codec, why string) tree.Codec {
	return tree.Codec{Get: c.Get, Put: func(r tree.Record, v []string) error {
		if is := tree.First(c.Get(r)); len(v) > 0 && v[0] != is {
			return fmt.Errorf("%s cannot be set: it is %s, because %s", tree.Quoted(v[0]), is, why)
		}
		return nil
	}}
}

// Leaf returns a leaf with its codec.
func Leaf(path string, c tree.Codec) tree.Leaf { return tree.Leaf{Path: path, Codec: c} }

// Never returns the codec of a leaf without values. Clients subscribe to such leaves in one request with others, which
// would be refused if the path were unknown.
func Never() tree.Codec { return tree.Codec{Get: func(tree.Record) []string { return nil }} }

// QueueRow returns the row of counters of a queue; pairs holds the names of leaves and statistics in turn.
func QueueRow(key string, pairs ...string) tree.Row {
	row := ObjectRow(schema.CountersQueueNameMap, key)
	row.Entry = true
	for i := 0; i < len(pairs); i += 2 {
		c := ReadOnly(Text("SAI_QUEUE_STAT_" + pairs[i+1]))
		if strings.Contains(pairs[i+1], "WATERMARK") {
			c.Group = "QUEUE_WATERMARK"
		}
		row.Leaves = append(row.Leaves, Leaf("state/"+pairs[i], c))
	}
	return row
}

// MAC returns the codec of a MAC address that cannot be written.
func MAC(field string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string { return tree.One(strings.ToLower(r.Field(field))) }}
}
