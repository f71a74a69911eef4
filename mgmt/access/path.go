package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A Path is the path of a rule: names, and some keys of lists. A missing key, or *, matches any.
type Path struct {
	Origin string // empty for the tree of YANG
	Elems  []Elem
}

// An Elem is one name of a path, with the keys that follow it.
type Elem struct {
	Name string
	Keys map[string]string // values of the keys that the path contains, by key name
}

// keys returns how many keys are given.
func (p Path) keys() (n int) {
	for _, e := range p.Elems {
		n += len(e.Keys)
	}
	return n
}

// Bounds of a path.
const (
	maxPath  = 2000 // in bytes
	maxElems = 64
)

// ParsePath parses a path as gNMI writes it, /a/b[key=value]/c, prefixed by an origin and a colon if it is outside the
// tree of YANG modules. In values, \ quotes the next character.
func ParsePath(text string) (p Path, err error) {
	if len(text) > maxPath {
		return p, fmt.Errorf("the path has %d bytes, want at most %d", len(text), maxPath)
	}
	head, _, _ := strings.Cut(text, "/")
	if origin, ok := strings.CutSuffix(head, ":"); ok && origin != "" && !strings.ContainsAny(origin, ":[]\\ ") {
		p.Origin, text = origin, text[len(head):]
	}
	if !strings.HasPrefix(text, "/") {
		return p, fmt.Errorf("path %.80q: want it to begin with /, or with ORIGIN:/", text)
	}
	if text == "/" {
		return p, nil
	}
	for text != "" {
		var e Elem
		if e, text, err = parseElem(text); err != nil {
			return p, err
		}
		if p.Elems = append(p.Elems, e); len(p.Elems) > maxElems {
			return p, fmt.Errorf("the path has more than %d names", maxElems)
		}
	}
	return p, nil
}

// parseElem parses /name[key=value]... at the beginning of a text.
func parseElem(text string) (e Elem, rest string, err error) {
	end := strings.IndexAny(text[1:], "/[]\\")
	if end < 0 {
		end = len(text) - 1
	}
	e.Name, rest = text[1:1+end], text[1+end:]
	switch {
	case text[0] != '/':
		return e, "", fmt.Errorf("path: %.80q: want / here", text)
	case e.Name == "" || strings.TrimSpace(e.Name) != e.Name:
		return e, "", fmt.Errorf("path: %.80q: a name is missing", text)
	}
	for strings.HasPrefix(rest, "[") {
		name, value, after, err := parseKey(rest)
		if err != nil {
			return e, "", err
		}
		rest = after
		if e.Keys[name] != "" {
			return e, "", fmt.Errorf("path: key %.80q is there twice", name)
		}
		if value == "*" {
			continue
		}
		if e.Keys == nil {
			e.Keys = map[string]string{}
		}
		e.Keys[name] = value
	}
	if rest != "" && rest[0] != '/' {
		return e, "", fmt.Errorf("path: %.80q: want / or [ here", rest)
	}
	return e, rest, nil
}

// parseKey parses [name=value].
func parseKey(text string) (name, value, rest string, err error) {
	name, rest, ok := strings.Cut(text[1:], "=")
	if !ok || name == "" || strings.ContainsAny(name, "[]/\\") || strings.TrimSpace(name) != name {
		return "", "", "", fmt.Errorf("path: %.80q: want [key=value]", text)
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			if i++; i == len(rest) {
				return "", "", "", errors.New(`path: it ends behind \`)
			}
			b.WriteByte(rest[i])
		case ']':
			if b.Len() == 0 {
				return "", "", "", fmt.Errorf("path: key %.80q is empty", name)
			}
			return name, b.String(), rest[i+1:], nil
		default:
			b.WriteByte(rest[i])
		}
	}
	return "", "", "", fmt.Errorf("path: %.80q: ] is missing", text)
}

// GNMI returns the path as a message of gNMI.
func (p Path) GNMI() *gpb.Path {
	out := &gpb.Path{Origin: p.Origin}
	for _, e := range p.Elems {
		out.Elem = append(out.Elem, &gpb.PathElem{Name: e.Name, Key: e.Keys})
	}
	return out
}

func (p Path) equal(o Path) bool {
	return p.Origin == o.Origin && slices.EqualFunc(p.Elems, o.Elems, func(a, b Elem) bool {
		return a.Name == b.Name && maps.Equal(a.Keys, b.Keys)
	})
}

// String returns the path in the format of [ParsePath], keys sorted.
func (p Path) String() string {
	var b strings.Builder
	if p.Origin != "" {
		b.WriteString(p.Origin + ":")
	}
	if len(p.Elems) == 0 {
		b.WriteByte('/')
	}
	for _, e := range p.Elems {
		b.WriteString("/" + e.Name)
		for _, k := range slices.Sorted(maps.Keys(e.Keys)) {
			b.WriteString("[" + k + "=" + strings.NewReplacer(`\`, `\\`, `]`, `\]`).Replace(e.Keys[k]) + "]")
		}
	}
	return b.String()
}
