package mgmt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/configfile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Sources of rows that are in no database.
const (
	fromTold           = "told"
	fromConfigurations = "configurations"
	fromChanges        = "changes"
	fromTables         = "tables"
)

// configurationModule is tamtam-configuration: the rows of CONFIG_DB as they are, and what is kept in files.
func configurationModule() Module {
	state := func(leaf string) Leaf { return Leaf{"state/" + leaf, readOnly(text(leaf))} }
	many := func(leaf string) Leaf {
		return Leaf{"state/" + leaf, Codec{Get: func(r Record) []string {
			if v, ok := r.Fields[leaf]; ok {
				return strings.Split(v, "\x00")
			}
			return nil
		}}}
	}
	return Module{Name: "tamtam-configuration", Groups: []Group{
		{Path: "/config-rows/row", Finish: finishRow, Rows: []Row{
			{
				DB: swss.ConfigDB, Table: anyTable, Key: "{table}|{key}", Entry: true, Counter: true,
				Leaves: []Leaf{{"config/field", rowFields()}},
			},
			{
				DB: swss.StateDB, Source: fromTold, Key: "{table}|{key}", Counter: true,
				Leaves: []Leaf{state("told"), many("rest"), state("invalid"), many("unapplied")},
			},
		}},
		{Path: "/not-in-force/object", Rows: []Row{{
			DB: swss.StateDB, Source: fromNotInForce, Table: anyTable, Key: "{table}|{key}", Entry: true, Counter: true,
			Leaves: []Leaf{
				{"state/status", readOnly(words("status", "", "FAILED", schema.Failed, "PENDING", schema.Pending,
					"UNKNOWN", schema.Unknown))},
				state("reason"), state("since"), many("unapplied"),
			},
		}}},
		{Path: "/configurations/configuration", Rows: []Row{{
			DB: swss.StateDB, Source: fromConfigurations, Key: "{name}", Entry: true, Counter: true,
			Leaves: []Leaf{state("time"), state("user"), state("kind"), state("comment"), state("rows"),
				state("unconfirmed-until")},
		}}},
		{Path: "/configurations/configuration/change", Rows: []Row{{
			DB: swss.StateDB, Source: fromChanges, Table: anyTable, Key: "{name}|{table}|{row-key}", Entry: true, Counter: true,
			Leaves: []Leaf{state("kind"), many("was"), many("is")},
		}}},
	}}
}

// rowFields is all fields of a row, as NAME=VALUE.
func rowFields() Codec {
	return Codec{
		Get: func(r Record) (out []string) {
			for _, f := range slices.Sorted(maps.Keys(r.Fields)) {
				if f != nullField && nameable(f) {
					out = append(out, f+"="+r.Fields[f])
				}
			}
			return out
		},
		Put: func(r Record, v []string) error {
			was := maps.Clone(r.Fields)
			clear(r.Fields)
			for _, text := range v {
				name, value, ok := strings.Cut(text, "=")
				if !ok || name == "" || name == nullField {
					return fmt.Errorf("%q is not NAME=VALUE", text)
				}
				if value == schema.SecretMask && schema.SecretField(r.Keys[0], name) { // as whoever may not see it reads it
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

// nameable says that NAME=VALUE can name a field; a client of Redis may have given it any name.
func nameable(field string) bool { return field != "" && !strings.Contains(field, "=") }

// finishRow checks a row as the daemons will.
func finishRow(c Change) error {
	table, key := c.Keys()[0], c.Keys()[1]
	fields := c.Fields(anyTable)
	if fields == nil {
		return nil
	}
	return checkRow(table, key, fields, func(table, key string) (map[string]string, error) {
		return c.Read(swss.ConfigDB, table, key)
	})
}

// checkRow says what is wrong with a row of CONFIG_DB. Of tables that the switch does not read nothing is. read
// returns another row.
func checkRow(
	table, key string, fields map[string]string, read func(table, key string) (map[string]string, error),
) error {
	bare := maps.Clone(fields)
	delete(bare, nullField)
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
	kind := Record{Fields: of}.Field("type")
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

// sources are what makes rows that are in no database.
func (s *Server) sources() map[string]source {
	all := map[string]source{fromTold: s.toldRows, fromConfigurations: s.kept.keptRows, fromChanges: s.kept.changedRows,
		fromTallies: s.tallier.tallied, fromTables: s.tableRows, fromDebugCounts: s.reader.debugRows,
		fromNotInForce: s.reader.notInForceRows}
	for _, table := range []string{HostFacts, HostState, HostProcesses} {
		all[table] = func(context.Context, string) (map[string]map[string]string, error) {
			if s.cfg.Host == nil {
				return nil, nil
			}
			return s.cfg.Host(table), nil
		}
	}
	return all
}

// toldRows says of all rows whether other nodes tell them.
func (s *Server) toldRows(ctx context.Context, _ string) (map[string]map[string]string, error) {
	rows, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	return toldRows(ctx, s.model, s.reader, rows)
}

// tableRows are the tables of CONFIG_DB, with how many rows each has.
func (s *Server) tableRows(ctx context.Context, _ string) (map[string]map[string]string, error) {
	db := s.reader.redis.DB(swss.ConfigDB)
	keys, err := db.Client().Keys(ctx, "*").Result()
	if err != nil {
		return nil, unavailable(err)
	}
	n := map[string]int{}
	for _, k := range keys {
		if table, _, found := strings.Cut(k, db.Separator()); found {
			n[table]++
		}
	}
	out := map[string]map[string]string{}
	for table, rows := range n {
		out[table] = map[string]string{"rows": strconv.Itoa(rows)}
	}
	return out, nil
}

// keptRows are the notes of configurations.
func (s *keeping) keptRows(context.Context, string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if s.cfg.Keep == "" {
		return out, nil
	}
	names, notes, err := s.keptNames()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n := notes[name]
		out[name] = map[string]string{
			"time": n.Time.Format(time.RFC3339Nano), "user": n.User, "kind": n.Kind, "comment": n.Comment,
		}
		if name == startupName {
			continue // its rows are not counted
		}
		out[name]["rows"] = strconv.Itoa(n.Rows)
		if t := s.onTrial.Load(); t != nil && t.Back == n.Seq {
			out[name]["unconfirmed-until"] = t.Until.UTC().Format(time.RFC3339Nano)
		}
	}
	return out, nil
}

// changedRows are how the running configuration differs from one that is kept, or from all.
func (s *keeping) changedRows(ctx context.Context, name string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if s.cfg.Keep == "" {
		return out, nil
	}
	names := []string{name}
	if name == wildcard {
		var err error
		if names, _, err = s.keptNames(); err != nil {
			return nil, err
		}
	}
	running, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, rows, err := s.configuration(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, d := range configfile.Diff(rows, running) {
			row := map[string]string{"kind": d.Kind}
			if len(d.Was) > 0 {
				row["was"] = strings.Join(d.Was, "\x00")
			}
			if len(d.Is) > 0 {
				row["is"] = strings.Join(d.Is, "\x00")
			}
			out[name+"|"+d.Table+"|"+d.Key] = row
		}
	}
	return out, nil
}
