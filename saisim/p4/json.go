package p4

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// Limits of a program. They bound the memory that a hostile file can claim.
const (
	maxFile   = 64 << 20 // bytes of the file
	maxDepth  = 200      // of nested expressions
	maxWidth  = 1 << 16  // bits of a field or constant
	maxFields = 1 << 20  // fields of all headers together
	maxBits   = 1 << 24  // bits of all headers together, and of all inputs of hashes together
)

// An Error is a program that cannot be read, with the place in the file.
type Error struct {
	File   string
	Object string // such as: pipeline "ingress": table "acl": key 2
	Source Source // the nearest position in the P4 source, if the file has one
	Reason string
}

// Error returns the file, the object, its source line and the reason.
func (e *Error) Error() string {
	text := e.File
	if e.Object != "" {
		text += ": " + e.Object
	}
	if at := e.Source.String(); at != "" {
		text += " (" + at + ")"
	}
	return text + ": " + e.Reason
}

// A node is a value of the file with its place. Its methods end the reading with an [Error] if the value is not what
// they require.
type node struct {
	value any
	up    *node
	label string
}

// failure carries an Error from any depth of the file to Read.
type failure struct{ err *Error }

// parse decodes a file to its root node.
func parse(in io.Reader, file string) (*node, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(text) > maxFile {
		return nil, &Error{File: file, Reason: fmt.Sprintf("more than %d bytes, want a smaller program", maxFile)}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, &Error{File: file, Reason: fmt.Sprintf("not JSON: %v (near byte %d)", err, d.InputOffset())}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &Error{File: file, Reason: fmt.Sprintf("text after the JSON object, at byte %d", d.InputOffset())}
	}
	return &node{value: root, label: file}, nil
}

// fail ends the reading.
func (n *node) fail(format string, args ...any) {
	e := &Error{Reason: fmt.Sprintf(format, args...)}
	var labels []string
	for at := n; at != nil; at = at.up {
		if at.up == nil {
			e.File = at.label
		} else if at.label != "" {
			labels = append(labels, at.label)
		}
		if e.Source == (Source{}) {
			e.Source = at.source()
		}
	}
	for i := len(labels) - 1; i >= 0; i-- {
		if e.Object != "" {
			e.Object += ": "
		}
		e.Object += labels[i]
	}
	panic(failure{e})
}

// source returns the position in the P4 source that an object contains, or the zero Source.
func (n *node) source() Source {
	m, _ := n.value.(map[string]any)
	info, _ := m["source_info"].(map[string]any)
	if info == nil {
		return Source{}
	}
	var s Source
	s.File, _ = info["filename"].(string)
	s.Fragment, _ = info["source_fragment"].(string)
	line, _ := info["line"].(json.Number)
	s.Line, _ = strconv.Atoi(line.String())
	return s
}

// object requires a JSON object.
func (n *node) object() map[string]any {
	m, ok := n.value.(map[string]any)
	if !ok {
		n.fail("is %s, want an object", describe(n.value))
	}
	return m
}

// has returns a member of an object, or nil if it is absent or null.
func (n *node) has(key string) *node {
	v, ok := n.object()[key]
	if !ok || v == nil {
		return nil
	}
	return &node{v, n, key}
}

// get returns a member of an object that must be there and not null.
func (n *node) get(key string) *node {
	c := n.has(key)
	if c == nil {
		n.fail("has no %q", key)
	}
	return c
}

// list returns the elements of an array.
func (n *node) list() []*node {
	l, ok := n.value.([]any)
	if !ok {
		n.fail("is %s, want an array", describe(n.value))
	}
	nodes := make([]*node, len(l))
	for i, v := range l {
		nodes[i] = &node{v, n, strconv.Itoa(i)}
	}
	return nodes
}

// each returns the elements of the array under key, labelled with the kind of object and the name of each. An absent
// array is empty, because old files lack some.
func (n *node) each(key, kind string) []*node {
	l := n.has(key)
	if l == nil {
		return nil
	}
	nodes := l.list()
	for i, c := range nodes {
		c.up = n
		c.label = fmt.Sprintf("%s %d", kind, i)
		if name, ok := c.object()["name"].(string); ok {
			c.label = fmt.Sprintf("%s %q", kind, name)
		}
	}
	return nodes
}

// text requires a string.
func (n *node) text() string {
	s, ok := n.value.(string)
	if !ok {
		n.fail("is %s, want a string", describe(n.value))
	}
	return s
}

// flag requires true or false.
func (n *node) flag() bool {
	b, ok := n.value.(bool)
	if !ok {
		n.fail("is %s, want true or false", describe(n.value))
	}
	return b
}

// flagOf returns the boolean under key, or the given value if it is absent.
func (n *node) flagOf(key string, absent bool) bool {
	if c := n.has(key); c != nil {
		return c.flag()
	}
	return absent
}

// integer requires an integer within limits.
func (n *node) integer(low, high int) int {
	number, ok := n.value.(json.Number)
	if !ok {
		n.fail("is %s, want a number", describe(n.value))
	}
	v, err := strconv.Atoi(number.String())
	if err != nil || v < low || v > high {
		n.fail("is %s, want an integer from %d to %d", number, low, high)
	}
	return v
}

// hex requires a number in hexadecimal digits, optionally with a sign and with 0x.
func (n *node) hex() *big.Int {
	text := n.text()
	digits, negative := strings.CutPrefix(text, "-")
	digits = strings.TrimPrefix(digits, "0x")
	valid := digits != "" && len(digits) <= maxWidth/4 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
	if !valid {
		n.fail("is %.80q, want at most %d hexadecimal digits after 0x", text, maxWidth/4)
	}
	v, _ := new(big.Int).SetString(digits, 16)
	if negative {
		v.Neg(v)
	}
	return v
}

// pair requires an array of two elements.
func (n *node) pair() (*node, *node) {
	l := n.list()
	if len(l) != 2 {
		n.fail("has %d elements, want 2", len(l))
	}
	return l[0], l[1]
}

// describe names a JSON value for a message.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case string:
		return fmt.Sprintf("%.80q", v)
	case []any:
		return "an array"
	}
	return "an object"
}
