package asicview

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
)

// Match finds for each object of the new view the object of the current one that can become it. Objects that came with
// the switch are identified by their virtual id. Others must be equal in their unchangeable attributes. Objects that
// are equal in all attributes are preferred, above all if the same objects refer to them.
func Match(cur, next *Graph) {
	name := func(n *Node) string {
		if n.Own || IsSwitch(n.Key) {
			return n.Key.OID.String()
		}
		return ""
	}
	for _, n := range next.Nodes {
		if c := cur.Nodes[n.Key]; c != nil && (IsSwitch(n.Key) || n.Own && c.Own) {
			n.Match, c.Match = c, n
		}
	}
	free := map[sai.ObjectType][]*Node{}
	for _, c := range cur.Sorted() {
		if c.Match == nil && !c.Own && !c.Unknown {
			free[protocol.KeyType(c.Key)] = append(free[protocol.KeyType(c.Key)], c)
		}
	}
	m := &matcher{next: next, free: free}
	// Most objects are unique. Choosing between similar ones costs more.
	for _, l := range m.levels() {
		m.onlyEquals(l)
	}
	levels := m.levels()
	if len(levels) == 0 {
		return
	}
	cur.Paint(name)
	next.Paint(name)
	for _, l := range levels {
		m.equals(l)
	}
	// An object that must be changed must not get the match of an object that is already equal. But once the changed
	// object is matched, its users may be equal again.
	for _, l := range levels {
		m.equals(l)
		m.similar(l)
	}
}

// levels returns the objects of the new view that may still be matched, grouped by depth and type, referents first. It
// omits types that the current view lacks. If a fresh chip is brought to an old view, these are all types.
func (m *matcher) levels() [][]*Node {
	var levels [][]*Node
	for _, n := range m.next.Sorted() {
		if n.Match != nil || n.Own || len(m.free[protocol.KeyType(n.Key)]) == 0 {
			continue
		}
		if l := len(levels) - 1; l >= 0 && levels[l][0].depth == n.depth &&
			protocol.KeyType(levels[l][0].Key) == protocol.KeyType(n.Key) {
			levels[l] = append(levels[l], n)
			continue
		}
		levels = append(levels, []*Node{n})
	}
	return levels
}

type matcher struct {
	next *Graph
	free map[sai.ObjectType][]*Node // unmatched objects of the current view, sorted
}

// onlyEquals matches each new object with the current one that is equal in all attributes, if either is unique.
func (m *matcher) onlyEquals(nodes []*Node) {
	t := protocol.KeyType(nodes[0].Key)
	byText := make(map[string][2]*Node, len(nodes))
	more := map[string]bool{}
	for side, list := range [2][]*Node{m.free[t], nodes} {
		for _, n := range list {
			s := m.text(n, side == 0, true)
			pair := byText[s]
			more[s] = more[s] || pair[side] != nil
			pair[side] = n
			byText[s] = pair
		}
	}
	for s, pair := range byText {
		if c, n := pair[0], pair[1]; c != nil && n != nil && !more[s] {
			n.Match, c.Match = c, n
		}
	}
	m.free[t] = slices.DeleteFunc(m.free[t], func(c *Node) bool { return c.Match != nil })
}

// equals matches new objects with current ones that are equal in all attributes. If there are several, it chooses the
// one with the more similar neighbourhood, or the one that the same port or switch names.
func (m *matcher) equals(nodes []*Node) {
	t := protocol.KeyType(nodes[0].Key)
	for round := colorRounds; round > 0; round-- {
		m.equal(t, nodes, func(n *Node, cur bool) string {
			return fmt.Sprintf("%x %s", n.colors[round], m.text(n, cur, true))
		})
	}
	m.vote(t, nodes)
	m.free[t] = slices.DeleteFunc(m.free[t], func(c *Node) bool { return c.Match != nil })
}

// maxVotes bounds the pairs of equal objects that are compared more closely.
const maxVotes = 1 << 12

// vote matches new objects with current ones of equal text. Those with the most common neighbours are matched first.
func (m *matcher) vote(t sai.ObjectType, nodes []*Node) {
	byText := map[string][]*Node{}
	for _, c := range m.free[t] {
		if c.Match == nil {
			s := m.text(c, true, true)
			byText[s] = append(byText[s], c)
		}
	}
	var texts []string
	wanted := map[string][]*Node{}
	for _, n := range nodes {
		if s := m.text(n, false, true); n.Match == nil && len(byText[s]) > 0 {
			if wanted[s] == nil {
				texts = append(texts, s)
			}
			wanted[s] = append(wanted[s], n)
		}
	}
	for _, s := range texts {
		elect(wanted[s], byText[s])
	}
}

// elect matches nodes with candidates of equal text.
func elect(nodes, candidates []*Node) {
	if len(nodes)*len(candidates) > maxVotes {
		for i := range min(len(nodes), len(candidates)) {
			nodes[i].Match, candidates[i].Match = candidates[i], nodes[i]
		}
		return
	}
	type pair struct {
		n, c  *Node
		votes int
	}
	around := make([][]uint64, len(candidates))
	for j, c := range candidates {
		around[j] = c.around()
	}
	var pairs []pair
	for _, n := range nodes {
		mine := n.around()
		for j, c := range candidates {
			pairs = append(pairs, pair{n, c, shared(mine, around[j])})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.votes - a.votes })
	for _, p := range pairs {
		if p.n.Match == nil && p.c.Match == nil {
			p.n.Match, p.c.Match = p.c, p.n
		}
	}
}

// around returns digests of a node's neighbours that are comparable between views, sorted.
func (n *Node) around() []uint64 {
	list := make([]uint64, len(n.refs))
	for i, e := range n.refs {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d,%t,%x", e.attr, e.back, e.to.colors[0])
		list[i] = h.Sum64()
	}
	slices.Sort(list)
	return list
}

// shared returns the number of common elements of two sorted lists.
func shared(a, b []uint64) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0], b[0]) {
		case 0:
			n, a, b = n+1, a[1:], b[1:]
		case -1:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return n
}

// similar matches each new object with a current one that setting attributes can turn into it. It skips extension
// objects: a new object may need a resource that another extension object still holds. So all surplus ones are removed
// before any is created.
func (m *matcher) similar(nodes []*Node) {
	t := protocol.KeyType(nodes[0].Key)
	if t == sai.ObjectTypeGenericProgrammable {
		return
	}
	if !slices.ContainsFunc(nodes, func(n *Node) bool { return n.Match == nil }) {
		return
	}
	groups, shelves := map[string][]*Node{}, map[string]*candidates{}
	for _, c := range m.free[t] {
		s := m.text(c, true, false)
		groups[s] = append(groups[s], c)
	}
	for _, n := range nodes {
		if n.Match != nil {
			continue
		}
		s := m.text(n, false, false)
		if groups[s] == nil {
			continue
		}
		if shelves[s] == nil {
			shelves[s] = newCandidates(groups[s])
		}
		if best := shelves[s].nearest(n, func(v sai.Value) sai.Value { return m.value(v, false) }); best != nil {
			n.Match, best.Match = best, n
		}
	}
	m.free[t] = slices.DeleteFunc(m.free[t], func(c *Node) bool { return c.Match != nil })
}

// equal matches objects with equal signs, in order.
func (m *matcher) equal(t sai.ObjectType, nodes []*Node, sign func(*Node, bool) string) {
	if !slices.ContainsFunc(nodes, func(n *Node) bool { return n.Match == nil }) {
		return
	}
	bySign := map[string][]*Node{}
	for _, c := range m.free[t] {
		if c.Match == nil {
			s := sign(c, true)
			bySign[s] = append(bySign[s], c)
		}
	}
	for _, n := range nodes {
		if n.Match != nil {
			continue
		}
		s := sign(n, false)
		if l := bySign[s]; len(l) > 0 {
			n.Match, l[0].Match = l[0], n
			bySign[s] = l[1:]
		}
	}
}

// text returns key and attributes of a node in terms of the current view. Without all, it omits changeable
// attributes.
func (m *matcher) text(n *Node, cur, all bool) string {
	var b strings.Builder
	if n.Key.Entry != nil {
		b.WriteString(sai.FormatEntry(sai.MapEntry(n.Key.Entry, func(o sai.OID) sai.OID { return m.current(o, cur) })))
	}
	for _, a := range n.SortedAttrs() {
		if IsDefault(a) || !all && sai.Meta(a.ID).Has(sai.CreateAndSet) {
			continue
		}
		s, _ := sai.FormatValue(a.ID, m.value(a.Value, cur))
		fmt.Fprintf(&b, "|%d=%s", a.ID, s)
	}
	return b.String()
}

func (m *matcher) value(v sai.Value, cur bool) sai.Value {
	return sai.MapOIDs(v, func(o sai.OID) sai.OID { return m.current(o, cur) })
}

// current returns the virtual id of a referenced object in the current view. An object without one keeps its new id,
// which differs from all others.
func (m *matcher) current(o sai.OID, cur bool) sai.OID {
	if cur {
		return o
	}
	if n := m.next.ByOID[o]; n != nil && n.Match != nil {
		return n.Match.Key.OID
	}
	return o
}

// EqualValues reports whether two values are the same.
func EqualValues(id sai.AttrID, a, b sai.Value) bool {
	x, err := sai.FormatValue(id, a)
	y, err2 := sai.FormatValue(id, b)
	return err == nil && err2 == nil && x == y
}
