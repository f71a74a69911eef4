package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tamtam/device"
)

// A decoder reads YAML nodes into the structs of a Topology. yaml.v3 could do that too, but its errors name Go types,
// and those that depend on context have no line. Here every error has file, line, object, field, value and what would
// be valid. All errors are reported.
type decoder struct {
	doc   *document
	errs  []error
	nodes int
}

// maxErrors is the maximum number of reported errors. A file with more is probably the wrong file.
const maxErrors = 20

func (d *decoder) errorf(n *yaml.Node, path, format string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, fmt.Errorf("%s:%d: %s: %s", d.doc.name, n.Line, path, fmt.Sprintf(format, args...)))
	}
}

// decodeRoot reads the file's fields into the topology and its studies.
func (d *decoder) decodeRoot(t *Topology) {
	known := fields(reflect.ValueOf(t).Elem())
	for _, s := range t.Studies {
		maps.Copy(known, fields(reflect.ValueOf(s).Elem()))
	}
	d.nodes++
	d.doc.lines[""] = d.doc.root.Line
	d.structure(d.doc.root, known, "", 0)
}

// A parser is a value that is written as a single word.
type parser interface{ Parse(string) error }

// A former is a value with its own YAML forms.
type former interface {
	form(d *decoder, n *yaml.Node, path string)
}

var prefixType, addrType = reflect.TypeFor[netip.Prefix](), reflect.TypeFor[netip.Addr]()

func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string, depth int) {
	if d.nodes++; d.nodes > maxNodes || depth > maxDepth {
		if d.nodes == maxNodes+1 || depth > maxDepth {
			d.errorf(n, path, "want at most %d values, aliases counted as often as they are used, and %d levels", maxNodes,
				maxDepth)
		}
		return
	}
	if n.Kind == yaml.AliasNode {
		d.decode(n.Alias, v, path, depth+1)
		return
	}
	d.doc.lines[path] = n.Line
	switch x := v.Addr().Interface().(type) {
	case former:
		x.form(d, n, path)
		return
	case parser:
		if d.scalar(n, path) {
			if err := x.Parse(n.Value); err != nil {
				d.errorf(n, path, "%q: %v", n.Value, err)
			}
		}
		return
	}
	if v.Type() == prefixType || v.Type() == addrType {
		d.basic(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, fields(v), path, depth)
	case reflect.Slice:
		d.list(n, v, path, depth)
	case reflect.Map:
		d.table(n, v, path, depth)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), path, depth+1)
	default:
		d.basic(n, v, path)
	}
}

func (d *decoder) scalar(n *yaml.Node, path string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.errorf(n, path, "have %s, want one value", kindName(n))
		return false
	}
	return true
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

func (d *decoder) basic(n *yaml.Node, v reflect.Value, path string) {
	if !d.scalar(n, path) {
		return
	}
	var err error
	switch {
	case v.Type() == prefixType:
		var p netip.Prefix
		if p, err = netip.ParsePrefix(n.Value); err != nil {
			err = fmt.Errorf("want an address with its prefix length, such as 10.0.1.2/24")
		}
		v.Set(reflect.ValueOf(p))
	case v.Type() == addrType:
		var a netip.Addr
		if a, err = netip.ParseAddr(n.Value); err != nil {
			err = fmt.Errorf("want an IPv4 or IPv6 address")
		}
		v.Set(reflect.ValueOf(a))
	case v.Kind() == reflect.String:
		v.SetString(n.Value)
	case v.Kind() == reflect.Bool:
		var b bool
		if b, err = strconv.ParseBool(n.Value); err != nil {
			err = fmt.Errorf("want true or false")
		}
		v.SetBool(b)
	case v.CanUint():
		var u uint64
		if u, err = strconv.ParseUint(n.Value, 10, v.Type().Bits()); err != nil {
			err = fmt.Errorf("want a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-v.Type().Bits()))
		}
		v.SetUint(u)
	case v.CanInt():
		var i int64
		if i, err = strconv.ParseInt(n.Value, 10, v.Type().Bits()); err != nil {
			err = fmt.Errorf("want a whole number")
		}
		v.SetInt(i)
	}
	if err != nil {
		d.errorf(n, path, "%q: %v", n.Value, err)
	}
}

// fields returns the fields of a struct by their YAML names, including those of inlined structs.
func fields(v reflect.Value) map[string]reflect.Value {
	m := map[string]reflect.Value{}
	for i := range v.NumField() {
		switch tag := v.Type().Field(i).Tag.Get("yaml"); tag {
		case "":
		case ",inline":
			for name, f := range fields(v.Field(i)) {
				m[name] = f
			}
		default:
			m[tag] = v.Field(i)
		}
	}
	return m
}

// structure reads a mapping whose fields are known by their YAML names.
func (d *decoder) structure(n *yaml.Node, known map[string]reflect.Value, path string, depth int) {
	names := slices.Collect(maps.Keys(known))
	if n.Kind != yaml.MappingNode {
		d.errorf(n, path, "have %s, want a mapping with %s", kindName(n), fieldList(names))
		return
	}
	d.pairs(n, path, depth, func(key, value *yaml.Node) {
		f, ok := known[key.Value]
		switch {
		case ok:
			d.decode(value, f, join(path, key.Value), depth+1)
		case path == "" && strings.HasPrefix(key.Value, "x-"): // a place for anchors
		default:
			d.errorf(key, join(path, key.Value), "unknown field, want one of %s", fieldList(names))
		}
	})
}

// pairs calls f for each pair of a mapping. Merged pairs (<<) come first, and the mapping itself overrides them.
func (d *decoder) pairs(n *yaml.Node, path string, depth int, f func(key, value *yaml.Node)) {
	if depth > maxDepth {
		d.errorf(n, path, "want at most %d levels", maxDepth)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			d.merge(value, path, depth, f)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			d.errorf(key, path, "have %s as a name, want a word", kindName(key))
			return
		}
		if seen[key.Value] {
			d.errorf(key, join(path, key.Value), "given twice")
		}
		seen[key.Value] = true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			f(n.Content[i], n.Content[i+1])
		}
	}
}

func (d *decoder) merge(n *yaml.Node, path string, depth int, f func(key, value *yaml.Node)) {
	if d.nodes++; d.nodes > maxNodes || depth > maxDepth {
		if len(d.errs) == 0 {
			d.errorf(n, path, "want at most %d values and %d levels", maxNodes, maxDepth)
		}
		return
	}
	switch {
	case n.Kind == yaml.AliasNode:
		d.merge(n.Alias, path, depth+1, f)
	case n.Kind == yaml.SequenceNode:
		for i := len(n.Content) - 1; i >= 0; i-- { // the first has precedence
			d.merge(n.Content[i], path, depth+1, f)
		}
	case n.Kind == yaml.MappingNode:
		d.pairs(n, path, depth+1, f)
	default:
		d.errorf(n, path, "merge (<<) of %s, want a mapping", kindName(n))
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.SequenceNode {
		d.errorf(n, path, "have %s, want a list", kindName(n))
		return
	}
	if len(n.Content) > maxNodes-d.nodes {
		d.errorf(n, path, "want at most %d values in the file", maxNodes)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		named := item
		for range maxDepth {
			if named.Kind != yaml.AliasNode {
				break
			}
			named = named.Alias
		}
		d.decode(item, v.Index(i), fmt.Sprintf("%s[%s]", path, itemName(named, i)), depth+1)
	}
}

func (d *decoder) table(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n, path, "have %s, want a mapping", kindName(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(n, path, depth, func(key, value *yaml.Node) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, item, join(path, key.Value), depth+1)
		v.SetMapIndex(reflect.ValueOf(key.Value), item)
	})
}

// A MAC is an Ethernet address.
type MAC [6]byte

// Parse reads an address such as 02:00:00:00:00:01.
func (m *MAC) Parse(s string) error {
	a, err := net.ParseMAC(s)
	if err != nil || len(a) != 6 || a[0]&1 != 0 {
		return fmt.Errorf("want a unicast address such as 02:00:00:00:00:01")
	}
	*m = MAC(a)
	return nil
}

func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

func (c *Config) form(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		c.File = n.Value
		return
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(n, path, "have %s, want the path of a config_db.json or its tables", kindName(n))
		return
	}
	value := d.plain(n, path, 0)
	if len(d.errs) > 0 {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		c.Tables, err = device.ParseConfigDB(text)
	}
	if err != nil {
		d.errorf(n, path, "%v", err)
	}
}

// plain returns a node as encoding/json would decode it, with scalars as strings.
func (d *decoder) plain(n *yaml.Node, path string, depth int) any {
	if d.nodes++; d.nodes > maxNodes || depth > maxDepth {
		if len(d.errs) == 0 {
			d.errorf(n, path, "want at most %d values and %d levels", maxNodes, maxDepth)
		}
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.plain(n.Alias, path, depth+1)
	case yaml.MappingNode:
		m := map[string]any{}
		d.pairs(n, path, depth, func(key, value *yaml.Node) {
			m[key.Value] = d.plain(value, join(path, key.Value), depth+1)
		})
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, d.plain(item, path, depth+1))
		}
		return list
	}
	return n.Value
}

// Sizes is the distribution of frame lengths, FCS included, 64 to 9416 bytes.
type Sizes struct {
	Uniform [2]uint16 // both ends included; if zero, List applies
	List    []uint16
	Weights []uint32 // weight of each length in List; nil means that all are equally likely
}

// imix is the simple Internet mix: 7 small, 4 middle, 1 large.
var imix = Sizes{List: []uint16{64, 594, 1518}, Weights: []uint32{7, 4, 1}}

func (s *Sizes) form(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode {
		size, err := strconv.ParseUint(n.Value, 10, 16)
		switch {
		case n.Value == "imix":
			*s = imix
		case err != nil:
			d.errorf(n, path, "%q: want a size such as 64, imix, {uniform: [64, 1518]} or {list: [64, 1518], weights: [3, 1]}",
				n.Value)
		default:
			s.List = []uint16{uint16(size)}
		}
		return
	}
	var m struct {
		Uniform []uint16 `yaml:"uniform"`
		List    []uint16 `yaml:"list"`
		Weights []uint32 `yaml:"weights"`
	}
	d.structure(n, fields(reflect.ValueOf(&m).Elem()), path, 1)
	if len(m.Uniform) != 0 && len(m.Uniform) != 2 {
		d.errorf(n, path+".uniform", "%v: want two sizes, the smallest and the largest", m.Uniform)
		return
	}
	s.List, s.Weights = m.List, m.Weights
	copy(s.Uniform[:], m.Uniform)
}
