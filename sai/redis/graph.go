package sairedis

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// A node is an object of a view.
type node struct {
	key     sai.Key // with virtual ids
	text    string  // of an entry, to sort by; "" where there is an id
	attrs   map[sai.AttrID]sai.Value
	own     bool // nobody created it
	unknown bool // what it is like is not known: it equals nothing
	depth   int  // longest path along references to an object without any

	refs   []edge                  // to objects of the view
	colors [colorRounds + 1]uint64 // digests of the content and of ever more of the neighbourhood
	match  *node                   // the same object in the other view
}

type edge struct {
	attr sai.AttrID // 0: the key of an entry
	to   *node
	back bool // to refers to this node
}

// A graph is a view: objects and their references.
type graph struct {
	nodes map[sai.Key]*node
	byOID map[sai.OID]*node
}

func newGraph() *graph { return &graph{nodes: map[sai.Key]*node{}, byOID: map[sai.OID]*node{}} }

func (g *graph) add(k sai.Key, own bool) *node {
	n := g.nodes[k]
	if n == nil {
		n = &node{key: k, attrs: map[sai.AttrID]sai.Value{}}
		g.nodes[k] = n
		if k.Entry == nil {
			g.byOID[k.OID] = n
		} else {
			n.text = sai.FormatEntry(k.Entry)
		}
	}
	n.own = n.own || own
	return n
}

// sorted returns the nodes by depth, type and key.
func (g *graph) sorted() []*node {
	list := make([]*node, 0, len(g.nodes))
	for _, n := range g.nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), compareNodes(a, b))
	})
	return list
}

func compareNodes(a, b *node) int {
	return cmp.Or(cmp.Compare(keyType(a.key), keyType(b.key)),
		cmp.Compare(a.key.OID, b.key.OID), strings.Compare(a.text, b.text))
}

// sortedAttrs returns the attributes of a node by id.
func (n *node) sortedAttrs() []sai.Attr {
	list := make([]sai.Attr, 0, len(n.attrs))
	for id, v := range n.attrs {
		list = append(list, sai.Attr{ID: id, Value: v})
	}
	slices.SortFunc(list, func(a, b sai.Attr) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// readView returns the objects of ASIC_STATE. Rows that cannot be parsed, which somebody else must
// have written, are passed to bad and left out. An object that nobody created may be of a type that we know nothing of:
// it is there, without attributes. What only the ASIC changes is in a row of SONiC's syncd if somebody asked for it;
// it is no part of what an object was made to be.
func readView(ctx context.Context, db *swss.DB, own func(sai.OID) bool, bad func(error)) (*graph, error) {
	g := newGraph()
	rows, err := readRows(ctx, db, asicState)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		k, err := sai.ParseKey(r.Key)
		var attrs []sai.Attr
		switch {
		case err != nil:
		case sai.ObjectMeta(keyType(k)) != nil:
			attrs, err = parseAttrs(keyType(k), r.Fields)
		case k.Entry != nil || !own(k.OID):
			err = noMetadata(k)
		}
		if err != nil {
			bad(fmt.Errorf("%s:%s: %w", asicState, r.Key, err))
			continue
		}
		n := g.add(k, k.Entry == nil && own(k.OID))
		for _, a := range attrs {
			if !sai.Meta(a.ID).Has(sai.ReadOnly) {
				n.attrs[a.ID] = a.Value
			}
		}
	}
	g.link()
	return g, nil
}

// readRows returns all rows of a view, sorted by key.
func readRows(ctx context.Context, db *swss.DB, view string) ([]swss.Row, error) {
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

// link finds the references and depths.
func (g *graph) link() {
	for _, n := range g.nodes {
		n.refs = n.refs[:0]
	}
	for _, n := range g.sorted() {
		to := func(attr sai.AttrID) func(sai.OID) {
			return func(o sai.OID) {
				if t := g.byOID[o]; t != nil && t != n {
					n.refs = append(n.refs, edge{attr, t, false})
					t.refs = append(t.refs, edge{attr, n, true})
				}
			}
		}
		for _, a := range n.sortedAttrs() {
			sai.References(a.Value, to(a.ID))
		}
		if n.key.Entry != nil {
			sai.MapEntry(n.key.Entry, func(o sai.OID) sai.OID { to(0)(o); return o })
		}
	}
	seen := map[*node]bool{}
	for _, n := range g.nodes {
		n.measure(seen)
	}
}

// measure sets the depth. Objects that nobody created always exist, so they have depth 0 and end
// the path; so does the second visit of a cycle.
func (n *node) measure(seen map[*node]bool) int {
	if n.own || isSwitch(n.key) || seen[n] {
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

func isSwitch(k sai.Key) bool { return k.Entry == nil && k.Type == sai.ObjectTypeSwitch }

// colorRounds is how far, in references, colours look.
const colorRounds = 5

// paint gives each node a colour: a digest of its content and of its neighbourhood, in which object
// ids do not appear. name gives nodes that can be identified by themselves a colour of their own.
func (g *graph) paint(name func(*node) string) {
	nodes := g.sorted()
	for _, n := range nodes {
		h := fnv.New64a()
		if fmt.Fprintf(h, "%d|%s|", keyType(n.key), name(n)); name(n) == "" {
			for _, a := range n.sortedAttrs() {
				if !isDefault(a) {
					fmt.Fprintf(h, "%d=%s|", a.ID, withoutOIDs(a))
				}
			}
			if n.key.Entry != nil {
				h.Write([]byte(sai.FormatEntry(sai.MapEntry(n.key.Entry, func(sai.OID) sai.OID { return 0 }))))
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

// color returns the digest that takes the most into account.
func (n *node) color() uint64 { return n.colors[colorRounds] }

// isDefault reports whether giving the attribute is the same as not giving it.
func isDefault(a sai.Attr) bool {
	d := sai.Meta(a.ID).Default
	if d == nil {
		return false
	}
	x, err := sai.FormatValue(a.ID, a.Value)
	y, err2 := sai.FormatValue(a.ID, d)
	return err == nil && err2 == nil && x == y
}

// withoutOIDs returns the text of a value in which every object but the null
// object is the same.
func withoutOIDs(a sai.Attr) string {
	s, _ := sai.FormatValue(a.ID, sai.MapOIDs(a.Value, func(o sai.OID) sai.OID { return min(o, 1) }))
	return s
}
