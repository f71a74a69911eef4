package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func isRaw(prefix, path *gpb.Path) bool {
	return cmp.Or(prefix.GetOrigin(), path.GetOrigin()) == tree.RawOrigin
}

// A rawPath is such a path.
type rawPath struct {
	elems             []*gpb.PathElem
	db                *swss.DB
	table, key, field string // "": not given
	hash              bool   // the table is one hash, as was found when it was read
}

func (r reader) rawPath(prefix, path *gpb.Path) (p rawPath, err error) {
	p.elems = append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	bad := func(format string, args ...any) (rawPath, error) {
		return p, status.Errorf(codes.InvalidArgument, "sonic-db: %s: "+format,
			append([]any{tree.PathText(&gpb.Path{Elem: p.elems})}, args...)...)
	}
	if a, b := prefix.GetOrigin(), path.GetOrigin(); a != "" && b != "" && a != b {
		return bad("prefix has origin %q, path has origin %q", a, b)
	}
	if len(p.elems) < 3 || len(p.elems) > 5 {
		return bad("want DATABASE/localhost/TABLE, and a KEY and a FIELD after it if not all is wanted")
	}
	var names [5]string
	for i, el := range p.elems {
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
	p.db, p.table, p.key, p.field = r.redis.DB(swss.DBName(names[0])), names[2], names[3], names[4]
	if p.key == tree.Wildcard {
		p.key = ""
		if p.field != "" {
			return bad("a field is that of one row")
		}
	}
	return p, nil
}

// rawRows reads what a path names, by key, and returns what the path means. A table that is one hash, such as
// COUNTERS_PORT_NAME_MAP, is a row without key, and what stands behind it in the path is a field.
func (r reader) rawRows(ctx context.Context, p rawPath) (map[string]map[string]string, rawPath, error) {
	whole, err := p.db.Client().HGetAll(ctx, p.table).Result()
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, p, tree.Unavailable(err)
	}
	if len(whole) > 0 {
		if p.hash = true; p.field == "" {
			p.key, p.field = "", p.key
		}
		return map[string]map[string]string{"": whole}, p, nil
	}
	rows, err := r.rawTable(ctx, p)
	return rows, p, err
}

// rawTable reads the rows of a table, or one.
func (r reader) rawTable(ctx context.Context, p rawPath) (rows map[string]map[string]string, err error) {
	prefix := p.table + p.db.Separator()
	keys := []string{prefix + p.key}
	if p.key == "" {
		if keys, err = p.db.Client().Keys(ctx, tree.GlobEscape(prefix)+"*").Result(); err != nil {
			return nil, tree.Unavailable(err)
		}
	}
	rows = map[string]map[string]string{}
	for c := range slices.Chunk(keys, chunk) {
		read := make([]*redis.MapStringStringCmd, len(c))
		err := pipelined(ctx, p.db, func(pipe redis.Pipeliner) error {
			for i, k := range c {
				read[i] = pipe.HGetAll(ctx, k)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i, k := range c {
			if fields := read[i].Val(); len(fields) > 0 {
				rows[strings.TrimPrefix(k, prefix)] = fields
			}
		}
	}
	return rows, nil
}

// rawValue is a field, a row or rows in an encoding; nil: there is nothing.
func (p rawPath) value(rows map[string]map[string]string, enc gpb.Encoding) (*gpb.TypedValue, error) {
	var v any = rows
	row, one := rows[p.key]
	switch {
	case len(rows) == 0:
		return nil, nil
	case p.field != "":
		text, ok := row[p.field]
		if !ok {
			return nil, nil
		}
		v = text
	case one && (p.key != "" || len(rows) == 1):
		v = row
	}
	return rawTyped(v, enc)
}

func rawTyped(v any, enc gpb.Encoding) (*gpb.TypedValue, error) {
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

// getRaw is the update of a path of a Get.
func (s *Server) getRaw(ctx context.Context, prefix, path *gpb.Path, enc gpb.Encoding) (*gpb.Update, error) {
	p, err := s.reader.rawPath(prefix, path)
	if err != nil {
		return nil, err
	}
	if err := auth.ViewOf(ctx).Table(p.db.Name(), p.table); err != nil {
		return nil, err
	}
	rows, p, err := s.reader.rawRows(ctx, p)
	if err != nil {
		return nil, s.dbError(ctx, err)
	}
	if rows, err = p.shown(ctx, auth.ViewOf(ctx), s.reader.redis, rows); err != nil {
		return nil, err
	}
	val, err := p.value(rows, enc)
	if err == nil && val == nil {
		err = status.Errorf(codes.NotFound, "sonic-db: %s: there is nothing", tree.PathText(&gpb.Path{Elem: p.elems}))
	}
	return &gpb.Update{Path: &gpb.Path{Elem: p.elems}, Val: val}, err
}

// shown are those of the rows that the path means which the role may read, without secrets. An error
// says that it may read none of them.
func (p rawPath) shown(
	ctx context.Context, v *rights.View, r *swss.Redis, rows map[string]map[string]string,
) (map[string]map[string]string, error) {
	if v == nil || len(rows) == 0 {
		return rows, nil
	}
	var texts rights.Censor
	out := map[string]map[string]string{}
	for k, fields := range rows {
		name := p.table
		if !p.hash {
			name += p.db.Separator() + k
		}
		table, key := name, ""
		if i := strings.IndexAny(name, ":|"); i >= 0 {
			table, key = name[:i], name[i+1:]
		}
		if v.MayReadRow(nil, p.db.Name(), table, key) {
			if out[k] = tree.Masked(table, fields); v.Hides && p.db.Name() == swss.StateDB {
				out[k] = texts.Fields(ctx, v, r, out[k])
			}
		}
	}
	if len(out) == 0 {
		return nil, v.Refusal(access.SonicDB+": "+tree.PathText(&gpb.Path{Elem: p.elems}), "read")
	}
	return out, nil
}
