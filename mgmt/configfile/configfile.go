// Package configfile handles CONFIG_DB as a file: a config_db.json as SONiC writes it. It reports every error in a
// file, and writes files atomically. It also archives a bounded number of configurations that were in force, with their
// time and user ([Archive]). The content of rows belongs to schema, and the requests for configurations to mgmt.
package configfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/redis/go-redis/v9"
)

// Rows is the content of a config_db.json: table, key, field, value.
type Rows map[string]map[string]swss.FieldValues

// MaxFile bounds the size of a configuration file, so that a wrong file cannot fill the memory: 256 MiB, over a million
// flow groups.
const MaxFile = 256 << 20

// Read reads a config_db.json as SONiC writes it: tables of rows of fields. A list becomes a field whose name ends in
// "@" and whose value is the items joined by commas. Every error is reported, not only the first. Rows too large for
// the daemons are errors (see [Rows.Check]).
func Read(path string) (Rows, error) {
	text, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse parses a text as [Read] does. The names that [Scalars] lists are omitted.
func Parse(text []byte) (Rows, error) {
	var tables map[string]json.RawMessage
	if err := json.Unmarshal(text, &tables); err != nil {
		return nil, JSONError(text, err)
	}
	c := Rows{}
	errs := Doubled(text)
	for _, table := range sortedKeys(tables) {
		if isScalar(table, tables[table]) {
			continue
		}
		if err := checkName("table", table); err != nil {
			errs = append(errs, err)
			continue
		}
		var rows map[string]map[string]any
		d := json.NewDecoder(bytes.NewReader(tables[table]))
		d.UseNumber() // a number stays as it is written: 1000000, not 1e+06
		if err := d.Decode(&rows); err != nil {
			errs = append(errs, fmt.Errorf("table %q: want rows of fields: %w", table, err))
			continue
		}
		c[table] = map[string]swss.FieldValues{}
		for _, key := range sortedKeys(rows) {
			row, err := parseRow(table, key, rows[key])
			if err != nil {
				errs = append(errs, err)
			}
			c[table][key] = row
		}
	}
	return c, errors.Join(errors.Join(errs...), c.Check())
}

// Scalars returns the names at the top of a config_db.json that have a value instead of rows. For example, SONiC's
// installer noted the platform in older files. SONiC does not load them. A table's name, in capitals, is not among
// them.
func Scalars(text []byte) (names []string) {
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil {
		return nil
	}
	for _, name := range sortedKeys(top) {
		if isScalar(name, top[name]) {
			names = append(names, name)
		}
	}
	return names
}

func isScalar(name string, value json.RawMessage) bool {
	return strings.ContainsFunc(name, unicode.IsLower) && !strings.ContainsAny(string(value[:1]), "{[")
}

// Doubled returns an error for every table, row and field that occurs twice; encoding/json would silently use the last.
// text is valid JSON.
func Doubled(text []byte) (errs []error) {
	d := json.NewDecoder(bytes.NewReader(text))
	type level struct {
		seen  map[string]bool // nil for an array
		name  string          // the name of the last member
		value bool            // true if the value of this member follows
	}
	var at []level
	ended := func() {
		if n := len(at) - 1; n >= 0 {
			at[n].value = false
		}
	}
	for {
		t, err := d.Token()
		if err != nil {
			return errs
		}
		switch t {
		case json.Delim('{'):
			at = append(at, level{seen: map[string]bool{}})
			continue
		case json.Delim('['):
			at = append(at, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			at = at[:len(at)-1]
			ended()
			continue
		}
		n := len(at) - 1
		if n < 0 || at[n].seen == nil || at[n].value {
			ended()
			continue
		}
		at[n].name, at[n].value = t.(string), true
		if at[n].seen[at[n].name] {
			var path []string
			for _, l := range at {
				path = append(path, strconv.Quote(l.name))
			}
			line := 1 + bytes.Count(text[:d.InputOffset()], []byte{'\n'})
			errs = append(errs, fmt.Errorf("line %d: %s is there twice", line, strings.Join(path, ": ")))
		}
		at[n].seen[at[n].name] = true
	}
}

// JSONError adds the line to a syntax error of encoding/json.
func JSONError(text []byte, err error) error {
	var syn *json.SyntaxError
	if errors.As(err, &syn) {
		return fmt.Errorf("line %d: %w", 1+strings.Count(string(text[:min(int(syn.Offset), len(text))]), "\n"), err)
	}
	return fmt.Errorf("not a config_db.json (want {table: {key: {field: value}}}): %w", err)
}

func checkName(what, name string) error {
	if name == "" || strings.ContainsAny(name, "|\x00") {
		return fmt.Errorf("%s %q: want a name without %q", what, name, "|")
	}
	return nil
}

func parseRow(table, key string, fields map[string]any) (swss.FieldValues, error) {
	row := swss.FieldValues{}
	if key == "" {
		return row, fmt.Errorf("table %q: a row has an empty key", table)
	}
	var errs []error
	for _, name := range sortedKeys(fields) {
		if fields[name] == nil && !reads(table, name) {
			row[name] = "None" // as SONiC loads it
			continue
		}
		field, value, err := parseField(name, fields[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s|%s: field %q: %w", table, key, name, err))
			continue
		}
		row[field] = value
	}
	if len(row) == 0 {
		row["NULL"] = "NULL"
	}
	return row, errors.Join(errs...)
}

// reads reports whether the switch may read a field of a table of CONFIG_DB.
func reads(table, field string) bool {
	return slices.ContainsFunc(schema.Tables(), func(t schema.Table) bool {
		return t.Config == table && (!t.Open || slices.ContainsFunc(t.FieldNames(), func(name string) bool {
			return strings.EqualFold(name, strings.TrimSuffix(field, "@"))
		}))
	})
}

func parseField(name string, v any) (field, value string, err error) {
	switch v := v.(type) {
	case []any:
		items := make([]string, len(v))
		for i, x := range v {
			if items[i], err = scalar(x); err != nil {
				return "", "", err
			}
		}
		return strings.TrimSuffix(name, "@") + "@", strings.Join(items, ","), nil
	default:
		value, err = scalar(v)
		return name, value, err
	}
}

func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, json.Number:
		return fmt.Sprint(v), nil
	default:
		return "", fmt.Errorf("want a string or a list of strings, have %T", v)
	}
}

// Check returns an error for every row that is too large for the daemons, and for every table with too many rows.
func (c Rows) Check() error {
	var errs []error
	for _, table := range sortedKeys(c) {
		for _, key := range sortedKeys(c[table]) {
			errs = append(errs, schema.CheckSize(table, key, c[table][key], swss.MaxRow))
		}
		if n := len(c[table]); n > schema.MaxRows && schema.Limited(table) {
			errs = append(errs, tooMany(table, n))
		}
	}
	return errors.Join(errs...)
}

func tooMany(table string, n int) error {
	return fmt.Errorf("%s: %d rows: want at most %d, more are not taken", table, n, schema.MaxRows)
}

// Load writes all of the rows into CONFIG_DB, or none. Existing rows that are not in c stay. The error reports the
// outcome as far as it is known.
func (c Rows) Load(ctx context.Context, r *swss.Redis) error {
	db := r.DB(swss.ConfigDB)
	errs := []error{c.Check()}
	for _, table := range sortedKeys(c) {
		if schema.Limited(table) {
			errs = append(errs, c.fits(ctx, db, table))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nothing was loaded: %w", err)
	}
	if len(c) == 0 {
		return nil
	}
	if err := db.SetAll(ctx, c); err != nil {
		return fmt.Errorf("load: %s", swss.Why(err))
	}
	return nil
}

// LoadOver loads the rows as Load does, and marks CONFIG_DB as initialized. It counts the rows that were replaced by
// different ones, and the rows that stay although c lacks them.
func (c Rows) LoadOver(ctx context.Context, r *swss.Redis) (replaced, stay int, err error) {
	found, err := Stored(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	if err := c.Load(ctx, r); err != nil {
		return 0, 0, err
	}
	if err := r.DB(swss.ConfigDB).SetInitialized(ctx, true); err != nil {
		return 0, 0, err
	}
	for _, d := range Diff(found, c) {
		switch d.Kind {
		case Changed:
			replaced++
		case Removed:
			stay++
		}
	}
	return replaced, stay, nil
}

// fits returns an error if a table would have too many rows, including the existing ones.
func (c Rows) fits(ctx context.Context, db *swss.DB, table string) error {
	rows := swss.NewTable(db, table)
	if many, err := rows.AtLeast(ctx, schema.MaxRows-len(c[table])+1); err != nil || !many {
		return err
	}
	keys, err := rows.Keys(ctx)
	if err != nil {
		return err
	}
	n := len(c[table])
	for _, key := range keys {
		if _, same := c[table][key]; !same {
			n++
		}
	}
	if n > schema.MaxRows {
		return tooMany(table, n)
	}
	return nil
}

// Stored reads all rows of CONFIG_DB. Each row is of one instant.
func Stored(ctx context.Context, r *swss.Redis) (Rows, error) {
	db := r.DB(swss.ConfigDB)
	keys, err := db.Client().Keys(ctx, "*"+db.Separator()+"*").Result()
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	rows := Rows{}
	for chunk := range slices.Chunk(keys, readAtOnce) {
		found := make([]*redis.MapStringStringCmd, len(chunk))
		_, err := db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, k := range chunk {
				found[i] = p.HGetAll(ctx, k)
			}
			return nil
		})
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, err
		}
		for i, k := range chunk {
			table, key, _ := strings.Cut(k, db.Separator())
			if fields := found[i].Val(); len(fields) > 0 { // it still exists, and is a row
				rows.put(table, key, fields)
			}
		}
	}
	return rows, nil
}

// readAtOnce is how many rows are read per round trip.
const readAtOnce = 1000

func (c Rows) put(table, key string, fields map[string]string) {
	if c[table] == nil {
		c[table] = map[string]swss.FieldValues{}
	}
	c[table][key] = fields
}

// JSON returns the content of a file.
func (c Rows) JSON() ([]byte, error) {
	out := make(map[string]map[string]map[string]any, len(c))
	for table, rows := range c {
		out[table] = make(map[string]map[string]any, len(rows))
		for key, row := range rows {
			out[table][key] = fileRow(row)
		}
	}
	return json.MarshalIndent(out, "", "    ")
}

// Save returns CONFIG_DB in the form of a config_db.json.
func Save(ctx context.Context, r *swss.Redis) ([]byte, error) {
	rows, err := Stored(ctx, r)
	if err != nil {
		return nil, err
	}
	return rows.JSON()
}

func fileRow(row map[string]string) map[string]any {
	m := map[string]any{}
	for f, v := range row {
		switch {
		case f == "NULL":
		case strings.HasSuffix(f, "@"):
			m[strings.TrimSuffix(f, "@")] = strings.Split(v, ",")
		default:
			m[f] = v
		}
	}
	return m
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// ReadText reads a configuration file of at most [MaxFile] bytes.
func ReadText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s: larger than %d MiB, which is the limit", path, MaxFile>>20)
	}
	return text, nil
}

// Write writes a file to disk as a whole, or not at all. A concurrent reader, or a reader after a power failure, gets
// the old text or the new.
func Write(name string, text io.Reader, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".new*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, text)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(name))
}

// Replace writes as [Write] does, but keeps the mode of an existing file, and follows a symbolic link. A new file has
// the given mode.
func Replace(name string, text io.Reader, mode os.FileMode) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return Write(name, text, mode)
}

// syncDir writes the entries of a directory to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// RuleNames returns the names of the ACL rules, by their labels. Several rules with one label are joined by "or".
func (c Rows) RuleNames() map[string]string {
	names := map[string]string{}
	for _, key := range sortedKeys(c[schema.CfgACLRule]) {
		k, ok := schema.ParseACLRuleKey(key)
		if label := k.Label(); ok && names[label] != "" {
			names[label] += " or " + key
		} else if ok {
			names[label] = key
		}
	}
	return names
}
