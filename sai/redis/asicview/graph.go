package asicview

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// A Node is an object of a view.
type Node struct {
	Key     sai.Key // the key with virtual ids
	text    string  // sort key of an entry; "" for an object with an id
	Attrs   map[sai.AttrID]sai.Value
	Own     bool // true if the object came with the switch or a port
	Unknown bool // true if the attributes are unknown: the object equals no other
	depth   int  // length of the longest path along references that ends at an object without references

	refs   []edge                  // references to objects of the view
	colors [colorRounds + 1]uint64 // digests of the content, then of growing neighbourhoods
	Match  *Node                   // the same object in the other view
}

type edge struct {
	attr sai.AttrID // 0 for a reference in the key of an entry
	to   *Node
	back bool // true if the reference goes from the other node to this one
}

// A Graph is a view: its objects and their references.
type Graph struct {
	Nodes map[sai.Key]*Node
	ByOID map[sai.OID]*Node
}

// NewGraph returns a view without objects.
func NewGraph() *Graph { return &Graph{Nodes: map[sai.Key]*Node{}, ByOID: map[sai.OID]*Node{}} }

// Add returns the object with a key. It adds the object if it is missing. own marks an object that came with the
// switch or a port.
func (g *Graph) Add(k sai.Key, own bool) *Node {
	n := g.Nodes[k]
	if n == nil {
		n = &Node{Key: k, Attrs: map[sai.AttrID]sai.Value{}}
		g.Nodes[k] = n
		if k.Entry == nil {
			g.ByOID[k.OID] = n
		} else {
			n.text = sai.FormatEntry(k.Entry)
		}
	}
	n.Own = n.Own || own
	return n
}

// Sorted returns the nodes by depth, type and key.
func (g *Graph) Sorted() []*Node {
	list := make([]*Node, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), compareNodes(a, b))
	})
	return list
}

func compareNodes(a, b *Node) int {
	return cmp.Or(cmp.Compare(protocol.KeyType(a.Key), protocol.KeyType(b.Key)),
		cmp.Compare(a.Key.OID, b.Key.OID), strings.Compare(a.text, b.text))
}

// SortedAttrs returns the attributes of a node, sorted by id.
func (n *Node) SortedAttrs() []sai.Attr {
	list := make([]sai.Attr, 0, len(n.Attrs))
	for id, v := range n.Attrs {
		list = append(list, sai.Attr{ID: id, Value: v})
	}
	slices.SortFunc(list, func(a, b sai.Attr) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// ReadView returns the objects of ASIC_STATE. It passes rows that cannot be parsed to bad and skips them; other
// clients must have written them. An object that came with the switch may be of an unknown type: it is added without
// attributes. ReadView ignores attributes that only the ASIC changes. SONiC's syncd stores them when a client reads
// them, but they are not configuration.
func ReadView(ctx context.Context, db *swss.DB, own func(sai.OID) bool, bad func(error)) (*Graph, error) {
	g := NewGraph()
	rows, err := protocol.ReadRows(ctx, db, protocol.ASICState)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		k, err := sai.ParseKey(r.Key)
		var attrs []sai.Attr
		switch {
		case err != nil:
		case sai.ObjectMeta(protocol.KeyType(k)) != nil:
			attrs, err = protocol.ParseAttrs(protocol.KeyType(k), r.Fields)
		case k.Entry != nil || !own(k.OID):
			err = NoMetadata(k)
		}
		if err != nil {
			bad(fmt.Errorf("%s:%s: %w", protocol.ASICState, r.Key, err))
			continue
		}
		n := g.Add(k, k.Entry == nil && own(k.OID))
		for _, a := range attrs {
			if !sai.Meta(a.ID).Has(sai.ReadOnly) {
				n.Attrs[a.ID] = a.Value
			}
		}
	}
	g.Link()
	return g, nil
}

// Link computes the references and depths.
func (g *Graph) Link() {
	for _, n := range g.Nodes {
		n.refs = n.refs[:0]
	}
	for _, n := range g.Sorted() {
		to := func(attr sai.AttrID) func(sai.OID) {
			return func(o sai.OID) {
				if t := g.ByOID[o]; t != nil && t != n {
					n.refs = append(n.refs, edge{attr, t, false})
					t.refs = append(t.refs, edge{attr, n, true})
				}
			}
		}
		for _, a := range n.SortedAttrs() {
			sai.References(a.Value, to(a.ID))
		}
		if n.Key.Entry != nil {
			sai.MapEntry(n.Key.Entry, func(o sai.OID) sai.OID { to(0)(o); return o })
		}
	}
	seen := map[*Node]bool{}
	for _, n := range g.Nodes {
		n.measure(seen)
	}
}

// measure computes the depth. Objects that came with the switch always exist, so they have depth 0 and end the path.
// The second visit of a cycle ends it too.
func (n *Node) measure(seen map[*Node]bool) int {
	if n.Own || IsSwitch(n.Key) || seen[n] {
		return n.depth
	}
	seen[n] = true
	depth := 0
	for _, e := range n.refs {
		if !e.back {
			depth = max(depth, e.to.measure(seen)+1)
		}
	}
	n.depth = depth
	return depth
}

// IsSwitch reports whether a key is that of a switch.
func IsSwitch(k sai.Key) bool { return k.Entry == nil && k.Type == sai.ObjectTypeSwitch }

// colorRounds is the maximum distance, in references, that a colour covers.
const colorRounds = 5

// Paint gives each node a colour: a digest of its content and of its neighbourhood that does not depend on object
// ids. name returns a text for nodes that have an identity of their own, which becomes part of the colour.
func (g *Graph) Paint(name func(*Node) string) {
	nodes := g.Sorted()
	for _, n := range nodes {
		h := fnv.New64a()
		if fmt.Fprintf(h, "%d|%s|", protocol.KeyType(n.Key), name(n)); name(n) == "" {
			for _, a := range n.SortedAttrs() {
				if !IsDefault(a) {
					fmt.Fprintf(h, "%d=%s|", a.ID, withoutOIDs(a))
				}
			}
			if n.Key.Entry != nil {
				h.Write([]byte(sai.FormatEntry(sai.MapEntry(n.Key.Entry, func(sai.OID) sai.OID { return 0 }))))
			}
		}
		n.colors[0] = h.Sum64()
	}
	var around []string
	for round := range colorRounds {
		for _, n := range nodes {
			if name(n) != "" {
				n.colors[round+1] = n.colors[0]
				continue
			}
			around = around[:0]
			for _, e := range n.refs {
				around = append(around, fmt.Sprintf("%d,%t,%x", e.attr, e.back, e.to.colors[round]))
			}
			slices.Sort(around)
			h := fnv.New64a()
			fmt.Fprintf(h, "%x%v", n.colors[round], around)
			n.colors[round+1] = h.Sum64()
		}
	}
}

// Color returns the digest of the largest neighbourhood.
func (n *Node) Color() uint64 { return n.colors[colorRounds] }

// IsDefault reports whether the attribute has its default value.
func IsDefault(a sai.Attr) bool {
	d := sai.Meta(a.ID).Default
	if d == nil {
		return false
	}
	x, err := sai.FormatValue(a.ID, a.Value)
	y, err2 := sai.FormatValue(a.ID, d)
	return err == nil && err2 == nil && x == y
}

// withoutOIDs returns the text of a value in which all objects except the null object look the same.
func withoutOIDs(a sai.Attr) string {
	s, _ := sai.FormatValue(a.ID, sai.MapOIDs(a.Value, func(o sai.OID) sai.OID { return min(o, 1) }))
	return s
}

// ParseKey decodes the key of an object of a type that has metadata.
func ParseKey(text string) (sai.Key, error) {
	k, err := sai.ParseKey(text)
	if err == nil && sai.ObjectMeta(protocol.KeyType(k)) == nil {
		err = NoMetadata(k)
	}
	return k, err
}

// NoMetadata returns the error for an object of an unknown type.
func NoMetadata(k sai.Key) error { return fmt.Errorf("%s: no metadata: %w", k, sai.StatusNotSupported) }

// RemoveLearned removes the learned FDB entries from a view, because they are not configuration, and returns them.
func RemoveLearned(g *Graph) []*Node {
	var list []*Node
	for k, n := range g.Nodes {
		if _, ok := k.Entry.(sai.FDBEntry); ok && n.Attrs[sai.FDBEntryAttrType] == sai.FDBEntryTypeDynamic {
			list = append(list, n)
			delete(g.Nodes, k)
		}
	}
	slices.SortFunc(list, func(a, b *Node) int { return compareNodes(a, b) })
	return list
}

// NamesObjects reports whether a value refers to objects.
func NamesObjects(v sai.Value) bool {
	found := false
	sai.References(v, func(sai.OID) { found = true })
	return found
}
