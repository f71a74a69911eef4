package protocol

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/swss"

	"github.com/redis/go-redis/v9"
)

// maxBody bounds a request or response, in bytes.
const maxBody = 64 << 20

// A Message is one entry of a queue: a request or a response.
type Message struct {
	Key    string
	Op     string // without its letter
	Fields []swss.Pair
}

// Entry returns the message as a queue entry.
func (m *Message) Entry() swss.Entry {
	if m.Op == OpRemove {
		return swss.Entry{Key: m.Key, Body: "{}", Op: "D" + m.Op}
	}
	return swss.Entry{Key: m.Key, Body: swss.EncodeFields(m.Fields), Op: "S" + m.Op}
}

// Decode decodes one entry of a queue.
func Decode(e swss.Entry) (Message, error) {
	m := Message{Key: e.Key}
	if len(e.Op) < 2 || e.Op[0] != 'S' && e.Op[0] != 'D' {
		return m, fmt.Errorf("operation %.40q: want S or D and a word", e.Op)
	}
	m.Op = e.Op[1:]
	if len(e.Body) > maxBody {
		return m, fmt.Errorf("%s: %d bytes, at most %d are read", m.Op, len(e.Body), maxBody)
	}
	var err error
	if m.Fields, err = swss.DecodeFields(e.Body); err != nil {
		return m, fmt.Errorf("%s: %w", m.Op, err)
	}
	return m, nil
}

// NullPair stands for an empty list of attributes.
var NullPair = []swss.Pair{{Field: "NULL", Value: "NULL"}}

// FormatAttrs returns attributes as pairs.
func FormatAttrs(attrs []sai.Attr) ([]swss.Pair, error) {
	pairs := make([]swss.Pair, 0, len(attrs))
	for _, a := range attrs {
		text, err := sai.FormatValue(a.ID, a.Value)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, swss.Pair{Field: a.ID.String(), Value: text})
	}
	return pairs, nil
}

// ParseAttrs decodes the attributes of an object of type t.
func ParseAttrs(t sai.ObjectType, pairs []swss.Pair) ([]sai.Attr, error) {
	attrs := make([]sai.Attr, 0, len(pairs))
	for i, p := range pairs {
		if p.Field == "NULL" {
			continue
		}
		if _, ok := sai.LookupAttr(p.Field); !ok && IsAttrName(t, p.Field) {
			return nil, fmt.Errorf("%.80q: %w", p.Field, sai.StatusAttrNotSupported0-sai.Status(i))
		}
		a, err := ParseAttr(t, p, sai.ParseValue)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, a)
	}
	return attrs, nil
}

// IsAttrName reports whether a name, known or not, has the form of an attribute of type t. A newer SAI, or a type of
// which only a part is known here, has more names of that form.
func IsAttrName(t sai.ObjectType, name string) bool { return isNameOf(t, name, "_ATTR_") }

// IsStatName reports whether a name, known or not, has the form of a statistic of type t.
func IsStatName(t sai.ObjectType, name string) bool { return isNameOf(t, name, "_STAT_") }

func isNameOf(t sai.ObjectType, name, infix string) bool {
	rest, ok := strings.CutPrefix(name, "SAI_"+strings.TrimPrefix(t.String(), typePrefix)+infix)
	return ok && rest != ""
}

// typePrefix begins the name of each object type.
const typePrefix = "SAI_OBJECT_TYPE_"

// ParseType decodes an object type whose attributes are known. The status of the error distinguishes a type that is not
// supported from a word that is no type.
func ParseType(name string) (sai.ObjectType, error) {
	t, ok := sai.LookupObjectType(name)
	switch {
	case ok && sai.ObjectMeta(t) != nil:
		return t, nil
	case ok || strings.HasPrefix(name, typePrefix):
		return 0, fmt.Errorf("object type %.80q: %w", name, sai.StatusNotSupported)
	}
	return 0, fmt.Errorf("%.80q is no object type: %w", name, sai.StatusInvalidParameter)
}

// ParseStat decodes the name of a statistic of objects of type t.
func ParseStat(t sai.ObjectType, name string) (sai.StatID, error) {
	id, ok := sai.LookupStat(name)
	switch {
	case ok && id.ObjectType() == t:
		return id, nil
	case !ok && IsStatName(t, name):
		return 0, fmt.Errorf("statistic %.80q: %w", name, sai.StatusNotSupported)
	}
	return 0, fmt.Errorf("%.80q is no statistic of %s: %w", name, t, sai.StatusInvalidParameter)
}

// ParseAttr decodes one attribute of an object of type t. parse decodes its value.
func ParseAttr(t sai.ObjectType, p swss.Pair, parse func(sai.AttrID, string) (sai.Value, error)) (sai.Attr, error) {
	id, ok := sai.LookupAttr(p.Field)
	if !ok || id.ObjectType() != t {
		return sai.Attr{}, fmt.Errorf("%.80q is no attribute of %s: %w", p.Field, t, sai.StatusFailure)
	}
	v, err := parse(id, p.Value)
	return sai.Attr{ID: id, Value: v}, err
}

// JoinAttrs returns attributes as one bulk value: a=v|a=v. It returns false if a value contains a |
// and so cannot be sent this way.
func JoinAttrs(pairs []swss.Pair) (string, bool) {
	n := 0
	for _, p := range pairs {
		n += len(p.Field) + len(p.Value) + 2
	}
	var b strings.Builder
	b.Grow(n)
	for i, p := range pairs {
		if strings.Contains(p.Value, "|") {
			return "", false
		}
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(p.Field)
		b.WriteByte('=')
		b.WriteString(p.Value)
	}
	return b.String(), true
}

// SplitAttrs parses the output of JoinAttrs.
func SplitAttrs(text string) ([]swss.Pair, error) {
	var pairs []swss.Pair
	if text == "" {
		return nil, nil
	}
	for item := range strings.SplitSeq(text, "|") {
		f, v, ok := strings.Cut(item, "=")
		if !ok {
			return nil, fmt.Errorf("%.80q: want attribute=value: %w", item, sai.StatusInvalidParameter)
		}
		pairs = append(pairs, swss.Pair{Field: f, Value: v})
	}
	return pairs, nil
}

// PutRow returns a write of attributes into the row of an object.
func PutRow(ctx context.Context, view string, k sai.Key, pairs []swss.Pair) func(redis.Pipeliner) {
	if len(pairs) == 0 {
		pairs = NullPair
	}
	args := make([]any, 0, 2*len(pairs))
	for _, p := range pairs {
		args = append(args, p.Field, p.Value)
	}
	row := view + ":" + sai.FormatKey(k)
	return func(to redis.Pipeliner) { to.HSet(ctx, row, args...) }
}

// AnswerOp returns the op of the answer to a request.
func AnswerOp(op string) string {
	switch op {
	case OpNotify:
		return OpNotify
	case OpFlush:
		return "flushresponse"
	case OpAttrQuery, OpEnumQuery, OpStatsQuery, OpStatsStQuery, OpAvailQuery:
		return strings.TrimSuffix(op, "query") + "response"
	}
	return OpResponse
}

// IsChange reports whether an operation only changes something. A client in the mode redis_async waits for no answer to
// it, and takes any for that of its next request.
func IsChange(op string) bool {
	switch op {
	case OpCreate, OpRemove, OpSet, OpBulkCreate, OpBulkRemove, OpBulkSet,
		OpStartPoll, OpStopPoll, OpSetGroup, OpDelGroup:
		return true
	}
	return false
}

// KeyType returns the type of the object with a key.
func KeyType(k sai.Key) sai.ObjectType {
	if k.Entry != nil {
		return k.Entry.EntryType()
	}
	return k.Type
}

// ReadRows returns all rows of a view, sorted by key.
func ReadRows(ctx context.Context, db *swss.DB, view string) ([]swss.Row, error) {
	keys, err := db.Client().Keys(ctx, view+":*").Result()
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	rows := make([]swss.Row, 0, len(keys))
	for chunk := range slices.Chunk(keys, 1000) {
		cmds := make([]*redis.MapStringStringCmd, len(chunk))
		_, err := db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, k := range chunk {
				cmds[i] = p.HGetAll(ctx, k)
			}
			return nil
		})
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, err
		}
		for i, k := range chunk {
			rows = append(rows, swss.Row{Key: strings.TrimPrefix(k, view+":"), Fields: swss.Pairs(cmds[i].Val())})
		}
	}
	return rows, nil
}
