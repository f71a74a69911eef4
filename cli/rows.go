package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Paths of the rows of CONFIG_DB in the tree.
const (
	rowsModule = "tamtam-configuration"
	rowsRoot   = rowsModule + ":config-rows"
)

func rowPath(table, key string) *gpb.Path {
	return tree.Path(rowsRoot, tree.In2("row", "table", table, "key", key))
}

// rowKind describes the rows of a table that no other node of the tree configures. One command writes a row, and its
// words are the names of the fields. rowKind defines the command and the running configuration.
type rowKind struct {
	table  string
	words  []kit.Element // words of the command before the key's parts
	keys   []kit.Element
	fields []rowField
	pairs  *rowField // set if the fields are a map, written as one list of FROM:TO
	parts  string    // table with rows KEY|... that belong to this row, and are removed with it
	update bool      // true if a command keeps the fields that it does not mention
}

// A rowField is a field and its form in the command.
type rowField struct {
	name, help string
	kind       *kit.Kind
}

// word returns the field's keyword.
func (f rowField) word() string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(f.name, "@"), "_", "-"))
}

// anything is the kind of a value that only the switch checks.
var anything = &kit.Kind{Label: "<value>", Parse: func(text string) (string, error) { return text, nil }}

// offered returns the kind of a value that only the switch checks, with some known values.
func offered(words ...string) *kit.Kind {
	k := &kit.Kind{Label: "<value>", Parse: anything.Parse}
	for _, w := range words {
		k.Choices = append(k.Choices, kit.Pick(w, ""))
	}
	return k
}

// command returns the command that writes a row of this kind. The command's "no" form deletes the row.
func (k rowKind) command() *kit.Command {
	form := kit.Form{Fixed: append(slices.Clone(k.words), k.keys...)}
	no := form
	no.Fixed = slices.Clone(form.Fixed)
	if k.pairs != nil {
		form.Fixed = append(form.Fixed, kit.Arg(pairsArg, anything, k.pairs.help))
	}
	for _, f := range k.fields {
		form.Options = append(form.Options, kit.Opt(kit.Keyword(f.word(), f.help), kit.Arg(f.word(), f.kind, f.help)))
	}
	return &kit.Command{Modes: kit.InConfig, Form: form, No: &no, Do: func(ctx context.Context, c *kit.Call) error {
		var key []string
		for _, e := range k.keys {
			key = append(key, c.Args[e.Name])
		}
		if c.No {
			return removeRow(ctx, c.Session, k.table, strings.Join(key, "|"), k.parts)
		}
		fields, err := k.written(c.Args)
		if err != nil {
			return err
		}
		return setRow(ctx, c.Session, k.table, strings.Join(key, "|"), fields, !k.update)
	}}
}

// pairsArg is the name of the argument that is a map.
const pairsArg = "pairs"

// written returns the fields for a command's arguments.
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

// line returns the command that writes a row with these fields. It returns false if there is none.
func (k rowKind) line(key string, fields []string) (string, bool) {
	var b strings.Builder
	for i, w := range k.words {
		b.WriteString(strings.Repeat(" ", kit.IntOf(i > 0)) + w.Word)
	}
	parts := strings.Split(key, "|")
	if len(parts) != len(k.keys) {
		return "", false
	}
	args := map[string]string{}
	for i, e := range k.keys {
		if v, err := e.ArgKind.Read(parts[i]); err != nil || v != parts[i] {
			return "", false
		}
		b.WriteString(" " + kit.Quote(parts[i]))
	}
	if k.pairs != nil {
		args[pairsArg] = strings.ReplaceAll(strings.Join(tree.SortNaturally(slices.Clone(fields)), ","), "=", ":")
		b.WriteString(" " + kit.Quote(args[pairsArg]))
	}
	for _, f := range k.fields {
		i := slices.IndexFunc(fields, func(text string) bool { return strings.HasPrefix(text, f.name+"=") })
		if i < 0 {
			continue
		}
		_, text, _ := strings.Cut(fields[i], "=")
		v, err := f.kind.Read(text)
		if err != nil {
			return "", false
		}
		args[f.word()] = v
		b.WriteString(" " + f.word() + " " + kit.Quote(text))
	}
	again, err := k.written(args)
	slices.Sort(again)
	return b.String(), err == nil && slices.Equal(again, slices.Sorted(slices.Values(fields)))
}

// rowCommands returns the commands of all kinds of rows, and one for any row.
func rowCommands() []*kit.Command {
	table := &kit.Kind{Label: "<TABLE>", Parse: kit.ParseName, Live: liveConfigTables}
	key := &kit.Kind{Label: "<key>", Parse: anything.Parse}
	field := &kit.Kind{Label: "<FIELD=VALUE>", Parse: func(text string) (string, error) {
		if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
			return "", fmt.Errorf("%q is not FIELD=VALUE", text)
		}
		return text, nil
	}}
	all := []kit.Element{
		kit.Keyword("row", "A row of CONFIG_DB, as it is"), kit.Arg("table", table, "Its table"),
		kit.Arg("key", key, "Its key"),
	}
	fields := kit.Arg("field", field, "Its fields, all of them")
	fields.Many = true
	out := []*kit.Command{{
		Modes: kit.InConfig, Form: kit.Form{Fixed: append(slices.Clone(all), fields)}, No: &kit.Form{Fixed: all},
		Do: func(ctx context.Context, c *kit.Call) error {
			if c.No {
				return removeRow(ctx, c.Session, c.Args["table"], c.Args["key"], "")
			}
			var fields []string
			if c.Has("field") {
				fields = strings.Split(c.Args["field"], kit.ManySeparator)
			}
			return setRow(ctx, c.Session, c.Args["table"], c.Args["key"], fields, true)
		},
	}}
	for _, k := range rowKinds() {
		out = append(out, k.command())
	}
	return append(out, persistentDropCommands()...)
}

// liveConfigTables returns the tables that have rows, for completion.
func liveConfigTables(ctx context.Context, s *kit.Session) ([]string, error) {
	found, err := s.Client.All(ctx, tree.Path(configTables, tree.In("table", "name", "*"), "state", "name"))
	if err != nil {
		return nil, err
	}
	return tree.SortNaturally(found.Texts()), nil
}

// setRow writes a row of CONFIG_DB. If whole is set, the row's fields that are not given are removed.
func setRow(ctx context.Context, s *kit.Session, table, key string, fields []string, whole bool) error {
	if key == "" {
		return errors.New("the key is empty")
	}
	return s.Client.Set(ctx, rowChange(table, key, fields, whole))
}

// rowChange returns the change that setRow makes.
func rowChange(table, key string, fields []string, whole bool) kit.Change {
	config := map[string]any{}
	if len(fields) > 0 {
		config["field"] = fields
	}
	value := tree.ListEntry(rowsModule, map[string]any{"table": table, "key": key}, config)
	return kit.Change{Path: rowPath(table, key), Value: value, Replace: whole}
}

// removeRow deletes a row, and the rows of table parts that belong to it. An empty parts means that there is no such
// table.
func removeRow(ctx context.Context, s *kit.Session, table, key, parts string) error {
	path := rowPath(table, key)
	if parts == "" {
		return s.RemoveEntry(ctx, "row "+table+"|"+key, path)
	}
	if _, err := s.Existing(ctx, "row "+table+"|"+key, path); err != nil {
		return err
	}
	rows, err := s.Client.All(ctx, tree.Path(rowsRoot))
	if err != nil {
		return err
	}
	gone := []kit.Change{{Path: path}}
	for _, r := range rows.Items("row") {
		if of := r.Plain("key"); r.Plain("table") == parts && strings.HasPrefix(of, key+"|") {
			gone = append(gone, kit.Change{Path: rowPath(parts, of)})
		}
	}
	return s.Client.Set(ctx, gone...)
}
