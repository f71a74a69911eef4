package swss

import (
	"encoding/json"
	"fmt"
)

// EncodeFields returns fields as SONiC writes them into a queue: a JSON array of strings without blanks. It escapes
// only what JSON requires.
func EncodeFields(fields []Pair) string {
	n := 2
	for _, f := range fields {
		n += len(f.Field) + len(f.Value) + 6
	}
	b := append(make([]byte, 0, n), '[')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, f.Field)
		b = append(b, ',')
		b = appendJSONString(b, f.Value)
	}
	return string(append(b, ']'))
}

// DecodeFields decodes the output of EncodeFields. "{}" has no fields.
func DecodeFields(body string) ([]Pair, error) {
	if body == "{}" {
		return nil, nil
	}
	words, err := decodeStrings(body)
	if err != nil {
		return nil, err
	}
	if len(words)%2 != 0 {
		return nil, fmt.Errorf("%.80q: %d strings, want pairs", body, len(words))
	}
	fields := make([]Pair, 0, len(words)/2)
	for i := 0; i < len(words); i += 2 {
		fields = append(fields, Pair{words[i], words[i+1]})
	}
	return fields, nil
}

// encodeStrings encodes strings as a JSON array.
func encodeStrings(list []string) string {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, s)
	}
	return string(append(b, ']'))
}

func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func decodeStrings(text string) ([]string, error) {
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%.80q: want a JSON array of strings: %w", text, err)
	}
	return list, nil
}
