package fetch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A RawPath is a path of origin sonic-db.
type RawPath struct {
	Elems             []*gpb.PathElem
	DB                *swss.DB
	Table, Key, Field string // empty if not given
	Hash              bool   // true if the read has found that the table is one hash
}

// ParseRaw parses a path of origin sonic-db; the error has a code.
func (r Reader) ParseRaw(prefix, path *gpb.Path) (p RawPath, err error) {
	p.Elems = append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	bad := func(format string, args ...any) (RawPath, error) {
		return p, status.Errorf(codes.InvalidArgument, "sonic-db: %s: "+format,
			append([]any{tree.PathText(&gpb.Path{Elem: p.Elems})}, args...)...)
	}
	if a, b := prefix.GetOrigin(), path.GetOrigin(); a != "" && b != "" && a != b {
		return bad("prefix has origin %q, path has origin %q", a, b)
	}
	if len(p.Elems) < 3 || len(p.Elems) > 5 {
		return bad("want DATABASE/localhost/TABLE, and a KEY and a FIELD after it if not all is wanted")
	}
	var names [5]string
	for i, el := range p.Elems {
		if names[i] = el.GetName(); names[i] == "" || len(el.GetKey()) > 0 {
			return bad("element %d is no name alone", i+1)
		}
	}
	if i := slices.Index(tree.RawDatabases, swss.DBName(names[0])); i < 0 {
		return bad("there is no database %s, there are %v", tree.Quoted(names[0]), tree.RawDatabases)
	}
	if names[1] != "localhost" {
		return bad("there is no namespace %s, there is localhost", tree.Quoted(names[1]))
	}
	p.DB, p.Table, p.Key, p.Field = r.Redis.DB(swss.DBName(names[0])), names[2], names[3], names[4]
	if p.Key == tree.Wildcard {
		p.Key = ""
		if p.Field != "" {
			return bad("a field is that of one row")
		}
	}
	return p, nil
}

// ReadRaw reads the rows that a path names, by key, and returns the resolved path. A table that is one hash, such as
// COUNTERS_PORT_NAME_MAP, is a row without key. The path element after the table is then a field.
func (r Reader) ReadRaw(ctx context.Context, p RawPath) (map[string]map[string]string, RawPath, error) {
	whole, err := p.DB.Client().HGetAll(ctx, p.Table).Result()
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, p, tree.Unavailable(err)
	}
	if len(whole) > 0 {
		if p.Hash = true; p.Field == "" {
			p.Key, p.Field = "", p.Key
		}
		return map[string]map[string]string{"": whole}, p, nil
	}
	rows, err := r.rawTable(ctx, p)
	return rows, p, err
}

// rawTable reads one row of a table, or all rows.
func (r Reader) rawTable(ctx context.Context, p RawPath) (rows map[string]map[string]string, err error) {
	prefix := p.Table + p.DB.Separator()
	keys := []string{p.Key}
	if p.Key == "" {
		if keys, err = tableKeys(ctx, p.DB, prefix, "*"); err != nil {
			return nil, err
		}
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = prefix + k
	}
	read, err := Hashes(ctx, p.DB, names)
	rows = map[string]map[string]string{}
	for i, fields := range read {
		if len(fields) > 0 {
			rows[keys[i]] = fields
		}
	}
	return rows, err
}

// Value returns a field, a row or rows in an encoding, or nil if there is nothing.
func (p RawPath) Value(rows map[string]map[string]string, enc gpb.Encoding) (*gpb.TypedValue, error) {
	var v any = rows
	row, one := rows[p.Key]
	switch {
	case len(rows) == 0:
		return nil, nil
	case p.Field != "":
		text, ok := row[p.Field]
		if !ok {
			return nil, nil
		}
		v = text
	case one && (p.Key != "" || len(rows) == 1):
		v = row
	}
	return RawTyped(v, enc)
}

// RawTyped returns a field, a row or rows in an encoding.
func RawTyped(v any, enc gpb.Encoding) (*gpb.TypedValue, error) {
	if text, ok := v.(string); ok && enc == gpb.Encoding_PROTO {
		return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: strings.ToValidUTF8(text, "\ufffd")}}, nil
	}
	raw, err := json.Marshal(v)
	switch {
	case err != nil:
		return nil, err
	case enc == gpb.Encoding_JSON:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: raw}}, nil
	case enc == gpb.Encoding_JSON_IETF:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: raw}}, nil
	}
	return nil, status.Error(codes.Unimplemented, "sonic-db: rows are JSON or JSON_IETF; a field is PROTO too")
}

// Shown returns the rows that the role may read, without secrets. It returns an error if the role may not read any of
// them.
func (p RawPath) Shown(
	ctx context.Context, v *rights.View, r *swss.Redis, rows map[string]map[string]string,
) (map[string]map[string]string, error) {
	if v == nil || len(rows) == 0 {
		return rows, nil
	}
	var texts rights.Censor
	out := map[string]map[string]string{}
	for k, fields := range rows {
		name := p.Table
		if !p.Hash {
			name += p.DB.Separator() + k
		}
		table, key := name, ""
		if i := strings.IndexAny(name, ":|"); i >= 0 {
			table, key = name[:i], name[i+1:]
		}
		if v.MayReadRow(nil, p.DB.Name(), table, key) {
			if out[k] = tree.Masked(table, fields); p.DB.Name() == swss.StateDB {
				out[k] = texts.Fields(ctx, v, r, out[k])
			}
			if key == "" && p.DB.Name() == swss.StateDB {
				texts.Names(ctx, v, r, out[k])
			}
		}
	}
	if len(out) == 0 {
		return nil, v.Refusal(access.SonicDB+": "+tree.PathText(&gpb.Path{Elem: p.Elems}), "read")
	}
	return out, nil
}

// Row returns the path of a row that the path p covers, or of a field of that row.
func (p RawPath) Row(key string) *gpb.Path {
	if p.Key != "" || key == "" {
		return &gpb.Path{Elem: p.Elems}
	}
	return &gpb.Path{Elem: append(slices.Clone(p.Elems[:3]), &gpb.PathElem{Name: key})}
}
