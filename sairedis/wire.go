package sairedis

import (
	"encoding/json"
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

// body returns the fields as JSON array, {} for a remove.
func (m *message) body() string {
	if m.op == opRemove {
		return "{}"
	}
	n := 2
	for _, f := range m.fields {
		n += len(f.Field) + len(f.Value) + 6
	}
	b := append(make([]byte, 0, n), '[')
	for i, f := range m.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, f.Field)
		b = append(b, ',')
		b = appendJSON(b, f.Value)
	}
	return string(append(b, ']'))
}

// opcode returns the op with its letter.
func (m *message) opcode() string {
	if m.op == opRemove {
		return "D" + m.op
	}
	return "S" + m.op
}

// appendJSON adds a JSON string; only what JSON demands is escaped.
func appendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// decode reads one entry of a queue.
func decode(key, body, opcode string) (message, error) {
	m := message{key: key}
	if len(opcode) < 2 || opcode[0] != 'S' && opcode[0] != 'D' {
		return m, fmt.Errorf("operation %.40q: want S or D and a word", opcode)
	}
	m.op = opcode[1:]
	if len(body) > maxBody {
		return m, fmt.Errorf("%s: %d bytes, at most %d are read", m.op, len(body), maxBody)
	}
	if body == "{}" {
		return m, nil
	}
	var words []string
	if err := json.Unmarshal([]byte(body), &words); err != nil {
		return m, fmt.Errorf("%s %.80q: want a JSON array of strings: %w", m.op, body, err)
	}
	if len(words)%2 != 0 {
		return m, fmt.Errorf("%s: %d strings, want pairs", m.op, len(words))
	}
	m.fields = make([]swss.Pair, 0, len(words)/2)
	for i := 0; i < len(words); i += 2 {
		m.fields = append(m.fields, swss.Pair{Field: words[i], Value: words[i+1]})
	}
	return m, nil
}

// nullPair stands for no attributes.
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

// joinAttrs returns attributes as one bulk value: a=v|a=v. It says false when
// a value has a | and so cannot travel this way.
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
