package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Rows of CONFIG_DB in the tree.
const (
	rowsModule = "tamtam-configuration"
	rowsRoot   = rowsModule + ":config-rows"
)

func rowPath(table, key string) *gpb.Path {
	return gpath(rowsRoot, keyed2{"row", "table", table, "key", key})
}

// rowKind describes the rows of a table that no other node of the tree configures: one command writes a row, its words
// are the names of the fields. The command and the running configuration follow.
type rowKind struct {
	table  string
	words  []element // of the command, behind them the key's parts
	keys   []element
	fields []rowField
	pairs  *rowField // the fields are a map, written as one list of FROM:TO
	parts  string    // a table whose rows KEY|... are of the row, and go with it
	update bool      // a command leaves fields that it does not name as they are
}

// A rowField is a field, and how its command spells it.
type rowField struct {
	name, help string
	kind       *argKind
}

// word is the field's keyword.
func (f rowField) word() string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(f.name, "@"), "_", "-"))
}

// anything is a value that only the switch judges.
var anything = &argKind{label: "<value>", parse: func(text string) (string, error) { return text, nil }}

// offered is a value that only the switch judges, too, of which some are known.
func offered(words ...string) *argKind {
	k := &argKind{label: "<value>", parse: anything.parse}
	for _, w := range words {
		k.choices = append(k.choices, choice{w, ""})
	}
	return k
}

// command is the one that writes and deletes such a row.
func (k rowKind) command() *command {
	form := form{fixed: append(slices.Clone(k.words), k.keys...)}
	no := form
	no.fixed = slices.Clone(form.fixed)
	if k.pairs != nil {
		form.fixed = append(form.fixed, arg(pairsArg, anything, k.pairs.help))
	}
	for _, f := range k.fields {
		form.options = append(form.options, opt(kw(f.word(), f.help), arg(f.word(), f.kind, f.help)))
	}
	return &command{modes: inConfig, form: form, no: &no, do: func(ctx context.Context, c *call) error {
		var key []string
		for _, e := range k.keys {
			key = append(key, c.args[e.name])
		}
		if c.no {
			return c.sh.removeRow(ctx, k.table, strings.Join(key, "|"), k.parts)
		}
		fields, err := k.written(c.args)
		if err != nil {
			return err
		}
		return c.sh.setRow(ctx, k.table, strings.Join(key, "|"), fields, !k.update)
	}}
}

// pairsArg is the argument that is a map.
const pairsArg = "pairs"

// written are the fields that a command's arguments mean.
func (k rowKind) written(args map[string]string) (fields []string, err error) {
	if k.pairs != nil {
		for pair := range strings.SplitSeq(args[pairsArg], ",") {
			from, to, ok := strings.Cut(pair, ":")
			if !ok || from == "" || to == "" {
				return nil, fmt.Errorf("%q: want FROM:TO, with commas between", pair)
			}
			fields = append(fields, from+"="+to)
		}
	}
	for _, f := range k.fields {
		if v, ok := args[f.word()]; ok {
			fields = append(fields, f.name+"="+v)
		}
	}
	return fields, nil
}

// line is the command that writes a row with these fields; false: it cannot.
func (k rowKind) line(key string, fields []string) (string, bool) {
	var b strings.Builder
	for i, w := range k.words {
		b.WriteString(strings.Repeat(" ", btoi(i > 0)) + w.word)
	}
	parts := strings.Split(key, "|")
	if len(parts) != len(k.keys) {
		return "", false
	}
	args := map[string]string{}
	for i, e := range k.keys {
		if v, err := e.kind.read(parts[i]); err != nil || v != parts[i] {
			return "", false
		}
		b.WriteString(" " + quote(parts[i]))
	}
	if k.pairs != nil {
		args[pairsArg] = strings.ReplaceAll(strings.Join(naturally(slices.Clone(fields)), ","), "=", ":")
		b.WriteString(" " + quote(args[pairsArg]))
	}
	for _, f := range k.fields {
		i := slices.IndexFunc(fields, func(text string) bool { return strings.HasPrefix(text, f.name+"=") })
		if i < 0 {
			continue
		}
		_, text, _ := strings.Cut(fields[i], "=")
		v, err := f.kind.read(text)
		if err != nil {
			return "", false
		}
		args[f.word()] = v
		b.WriteString(" " + f.word() + " " + quote(text))
	}
	again, err := k.written(args)
	slices.Sort(again)
	return b.String(), err == nil && slices.Equal(again, slices.Sorted(slices.Values(fields)))
}

// rowCommands are those of all kinds of rows, and one for any row.
func rowCommands() []*command {
	table := &argKind{label: "<TABLE>", parse: parseName, live: liveConfigTables}
	key := &argKind{label: "<key>", parse: anything.parse}
	field := &argKind{label: "<FIELD=VALUE>", parse: func(text string) (string, error) {
		if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
			return "", fmt.Errorf("%q is not FIELD=VALUE", text)
		}
		return text, nil
	}}
	all := []element{
		kw("row", "A row of CONFIG_DB, as it is"), arg("table", table, "Its table"), arg("key", key, "Its key"),
	}
	fields := arg("field", field, "Its fields, all of them")
	fields.many = true
	out := []*command{{
		modes: inConfig, form: form{fixed: append(slices.Clone(all), fields)}, no: &form{fixed: all},
		do: func(ctx context.Context, c *call) error {
			if c.no {
				return c.sh.removeRow(ctx, c.args["table"], c.args["key"], "")
			}
			var fields []string
			if c.has("field") {
				fields = strings.Split(c.args["field"], manySeparator)
			}
			return c.sh.setRow(ctx, c.args["table"], c.args["key"], fields, true)
		},
	}}
	for _, k := range rowKinds() {
		out = append(out, k.command())
	}
	return out
}

// liveConfigTables completes from the tables that have rows.
func liveConfigTables(ctx context.Context, s *Shell) ([]string, error) {
	found, err := s.client.all(ctx, gpath(configTables, keyed{"table", "name", "*"}, "state", "name"))
	if err != nil {
		return nil, err
	}
	return naturally(found.texts()), nil
}

// setRow writes a row of CONFIG_DB. whole: it has no other fields.
func (s *Shell) setRow(ctx context.Context, table, key string, fields []string, whole bool) error {
	if key == "" {
		return errors.New("the key is empty")
	}
	config := map[string]any{}
	if len(fields) > 0 {
		config["field"] = fields
	}
	value := listed(rowsModule, map[string]any{"table": table, "key": key}, config)
	return s.client.set(ctx, change{path: rowPath(table, key), value: value, replace: whole})
}

// removeRow deletes a row, and with it those of another table that are its parts; "": there is none.
func (s *Shell) removeRow(ctx context.Context, table, key, parts string) error {
	path := rowPath(table, key)
	if parts == "" {
		return s.removeEntry(ctx, "row "+table+"|"+key, path)
	}
	if _, err := s.existing(ctx, "row "+table+"|"+key, path); err != nil {
		return err
	}
	rows, err := s.client.all(ctx, gpath(rowsRoot))
	if err != nil {
		return err
	}
	gone := []change{{path: path}}
	for _, r := range rows.items("row") {
		if of := r.plain("key"); r.plain("table") == parts && strings.HasPrefix(of, key+"|") {
			gone = append(gone, change{path: rowPath(parts, of)})
		}
	}
	return s.client.set(ctx, gone...)
}
