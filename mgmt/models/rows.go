package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Sources of rows that are in no database.
const (
	SourceRepresented    = "told"
	SourceConfigurations = "configurations"
	SourceChanges        = "changes"
	SourceTables         = "tables"
)

// configurationModule returns the mapping of tamtam-configuration: the raw rows of CONFIG_DB, and the saved
// configurations.
func configurationModule() tree.Module {
	state := func(name string) tree.Leaf { return leaf("state/"+name, readOnly(text(name))) }
	many := func(name string) tree.Leaf {
		return leaf("state/"+name, tree.Codec{Get: func(r tree.Record) []string {
			if v, ok := r.Fields[name]; ok {
				return strings.Split(v, "\x00")
			}
			return nil
		}})
	}
	return tree.Module{Name: "tamtam-configuration", Groups: []tree.Group{
		{Path: "/config-rows/row", Finish: finishRow, Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: tree.AnyTable, Key: "{table}|{key}", Entry: true, Counter: true,
				Leaves: []tree.Leaf{leaf("config/field", RowFields())},
			},
			{
				DB: swss.StateDB, Source: SourceRepresented, Key: "{table}|{key}", Counter: true,
				Leaves: []tree.Leaf{state("told"), many("rest"), state("invalid"), many("unapplied")},
			},
		}},
		{Path: "/not-in-force/object", Rows: []tree.Row{{
			DB: swss.StateDB, Source: SourceNotInForce, Table: tree.AnyTable, Key: "{table}|{key}", Entry: true, Counter: true,
			Leaves: []tree.Leaf{
				leaf("state/status", readOnly(words("status", "", "FAILED", schema.Failed, "PENDING", schema.Pending,
					"UNKNOWN", schema.Unknown))),
				state("reason"), state("since"), many("unapplied"),
			},
		}}},
		{Path: "/configurations/configuration", Rows: []tree.Row{{
			DB: swss.StateDB, Source: SourceConfigurations, Key: "{name}", Entry: true, Counter: true,
			Leaves: []tree.Leaf{state("time"), state("user"), state("kind"), state("comment"), state("rows"),
				state("unconfirmed-until")},
		}}},
		{Path: "/configurations/configuration/change", Rows: []tree.Row{{
			DB: swss.StateDB, Source: SourceChanges, Table: tree.AnyTable, Key: "{name}|{table}|{row-key}",
			Entry: true, Counter: true,
			Leaves: []tree.Leaf{state("kind"), many("was"), many("is")},
		}}},
	}}
}

// RowFields returns the codec of all fields of a row, as NAME=VALUE.
func RowFields() tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) (out []string) {
			for _, f := range slices.Sorted(maps.Keys(r.Fields)) {
				if f != tree.NullField && Nameable(f) {
					out = append(out, f+"="+r.Fields[f])
				}
			}
			return out
		},
		Put: func(r tree.Record, v []string) error {
			was := maps.Clone(r.Fields)
			clear(r.Fields)
			for _, text := range v {
				name, value, ok := strings.Cut(text, "=")
				if !ok || name == "" || name == tree.NullField {
					return fmt.Errorf("%q is not NAME=VALUE", text)
				}
				// A masked secret keeps its former value.
				if value == schema.SecretMask && schema.SecretField(r.Keys[0], name) {
					if value, ok = was[name]; !ok {
						return fmt.Errorf("%s: %s stands for a secret that is not shown: give the secret", name, schema.SecretMask)
					}
				}
				r.Fields[name] = value
			}
			return nil
		},
	}
}

// Nameable reports whether NAME=VALUE can express a field; a client of Redis may have given it any name.
func Nameable(field string) bool { return field != "" && !strings.Contains(field, "=") }

// finishRow checks a row as the daemons will.
func finishRow(c tree.Change) error {
	table, key := c.Keys()[0], c.Keys()[1]
	fields := c.Fields(tree.AnyTable)
	if fields == nil {
		return nil
	}
	return CheckRow(table, key, fields, func(table, key string) (map[string]string, error) {
		return c.Read(swss.ConfigDB, table, key)
	})
}

// CheckRow returns the error in a row of CONFIG_DB. Rows of tables that the switch does not read have none. read
// returns another row.
func CheckRow(
	table, key string, fields map[string]string, read func(table, key string) (map[string]string, error),
) error {
	bare := maps.Clone(fields)
	delete(bare, tree.NullField)
	if table != schema.CfgACLRule {
		if check := schema.CheckerOf(table); check != nil {
			return check(key, bare)
		}
		return nil
	}
	name, _, _ := strings.Cut(key, "|")
	of, err := read(schema.CfgACLTable, name)
	if err != nil {
		return err
	}
	kind := tree.Record{Fields: of}.Field("type")
	if name == schema.TAMTable {
		kind = cmp.Or(kind, schema.ACLTypeTAM)
	}
	t, known := schema.BuiltinACLType(strings.ToUpper(kind))
	if !known && kind != "" {
		own, err := read(schema.CfgACLTableType, kind)
		if err != nil {
			return err
		}
		t, err = schema.ParseACLTableType(kind, own)
		known = own != nil && err == nil
	}
	if !known {
		return nil // what its table allows is not known yet
	}
	_, err = schema.ParseACLRule(t, key, bare)
	return err
}
