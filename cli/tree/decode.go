package tree

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Decoding JSON is most of the cost of a list of ten thousand entries. encoding/json copies each string, and reads the
// text twice. A decoder shares the text instead. It leaves unusual texts, and so all errors, to encoding/json.

// DecodeJSON decodes the first value of a text, with numbers as json.Number.
func DecodeJSON(text string) (any, error) {
	if utf8.ValidString(text) {
		d := decoder{text: text}
		if v, ok := d.value(0); ok && d.next() == 0 && d.at == len(text) {
			return v, nil
		}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out any
	err := dec.Decode(&out)
	return out, err
}

// A decoder decodes a text.
type decoder struct {
	text string
	at   int
}

// maxNested is the maximum nesting depth of a decoder.
const maxNested = 100

// next skips blanks and returns the next byte without consuming it, or 0 at the end.
func (d *decoder) next() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// consume skips blanks and consumes c. It returns false if the next byte is not c.
func (d *decoder) consume(c byte) bool {
	if d.next() != c {
		return false
	}
	d.at++
	return true
}

// word consumes a literal of JSON and returns its value.
func (d *decoder) word(word string, v any) (any, bool) {
	if !strings.HasPrefix(d.text[d.at:], word) {
		return nil, false
	}
	d.at += len(word)
	return v, true
}

// value decodes a value. It returns false if encoding/json must decode the text.
func (d *decoder) value(depth int) (any, bool) {
	if depth > maxNested {
		return nil, false
	}
	switch c := d.next(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		s, ok := d.string()
		return s, ok
	case 't':
		return d.word("true", true)
	case 'f':
		return d.word("false", false)
	case 'n':
		return d.word("null", nil)
	}
	return d.number()
}

func (d *decoder) object(depth int) (any, bool) {
	d.at++
	out := map[string]any{}
	if d.consume('}') {
		return out, true
	}
	for {
		if d.next() != '"' {
			return nil, false
		}
		name, ok := d.string()
		if !ok || !d.consume(':') {
			return nil, false
		}
		if out[name], ok = d.value(depth + 1); !ok {
			return nil, false
		}
		if !d.consume(',') {
			return out, d.consume('}')
		}
	}
}

func (d *decoder) array(depth int) (any, bool) {
	d.at++
	out := []any{}
	if d.consume(']') {
		return out, true
	}
	for {
		v, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if !d.consume(',') {
			return out, d.consume(']')
		}
	}
}

// string decodes a string. It returns false for one with escapes, which encoding/json decodes.
func (d *decoder) string() (s string, ok bool) {
	from, escaped := d.at, false
	for d.at++; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			if !escaped {
				return d.text[from+1 : d.at-1], true
			}
			return s, json.Unmarshal([]byte(d.text[from:d.at]), &s) == nil
		case c == '\\':
			escaped = true
			d.at++
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// number decodes a number.
func (d *decoder) number() (any, bool) {
	from := d.at
	for d.at < len(d.text) && strings.IndexByte("+-.0123456789Ee", d.text[d.at]) >= 0 {
		d.at++
	}
	text := d.text[from:d.at]
	return json.Number(text), text != "" && json.Valid([]byte(text))
}
