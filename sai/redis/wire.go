package sairedis

import (
	"fmt"
	"strings"

	"tamtam/sai"
	"tamtam/swss"
)

// maxBody bounds a request or response, in bytes.
const maxBody = 64 << 20

// A message is one entry of a queue: a request or a response.
type message struct {
	key    string
	op     string // without its letter
	fields []swss.Pair
}

// entry returns the message as a queue entry.
func (m *message) entry() swss.Entry {
	if m.op == opRemove {
		return swss.Entry{Key: m.key, Body: "{}", Op: "D" + m.op}
	}
	return swss.Entry{Key: m.key, Body: swss.EncodeFields(m.fields), Op: "S" + m.op}
}

// decode reads one entry of a queue.
func decode(e swss.Entry) (message, error) {
	m := message{key: e.Key}
	if len(e.Op) < 2 || e.Op[0] != 'S' && e.Op[0] != 'D' {
		return m, fmt.Errorf("operation %.40q: want S or D and a word", e.Op)
	}
	m.op = e.Op[1:]
	if len(e.Body) > maxBody {
		return m, fmt.Errorf("%s: %d bytes, at most %d are read", m.op, len(e.Body), maxBody)
	}
	var err error
	if m.fields, err = swss.DecodeFields(e.Body); err != nil {
		return m, fmt.Errorf("%s: %w", m.op, err)
	}
	return m, nil
}

// nullPair stands in for no attributes.
var nullPair = []swss.Pair{{Field: "NULL", Value: "NULL"}}

// formatAttrs returns attributes as pairs.
func formatAttrs(attrs []sai.Attr) ([]swss.Pair, error) {
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

// parseAttrs reads the attributes of an object of type t.
func parseAttrs(t sai.ObjectType, pairs []swss.Pair) ([]sai.Attr, error) {
	attrs := make([]sai.Attr, 0, len(pairs))
	for _, p := range pairs {
		if p.Field == "NULL" {
			continue
		}
		a, err := parseAttr(t, p, sai.ParseValue)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, a)
	}
	return attrs, nil
}

func parseAttr(t sai.ObjectType, p swss.Pair, parse func(sai.AttrID, string) (sai.Value, error)) (sai.Attr, error) {
	id, ok := sai.LookupAttr(p.Field)
	if !ok || id.ObjectType() != t {
		return sai.Attr{}, fmt.Errorf("%.80q is no attribute of %s: %w", p.Field, t, sai.StatusFailure)
	}
	v, err := parse(id, p.Value)
	return sai.Attr{ID: id, Value: v}, err
}

// joinAttrs returns attributes as one bulk value: a=v|a=v. It returns false if a value contains a |
// and so cannot be sent this way.
func joinAttrs(pairs []swss.Pair) (string, bool) {
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

// splitAttrs is the reverse of joinAttrs.
func splitAttrs(text string) ([]swss.Pair, error) {
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
