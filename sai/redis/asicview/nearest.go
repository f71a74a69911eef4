package asicview

import (
	"cmp"
	"fmt"
	"slices"

	"tamtam/sai"
)

// A value of an attribute is rare if at most this number of candidates have it, otherwise common. Candidates that share
// only common values with an object are compared by kind, not one by one.
const rarely = 16

// maxKinds bounds the number of kinds of candidates that an object is compared with. If there are more, its match is
// the nearest candidate of the most frequent kinds and of those that share a rare value with it. Then more attributes
// may have to be set.
const maxKinds = 256

// A candidates holds, in order, the candidates that setting attributes can turn into an object of a group. It is
// indexed so that the nearest candidate is found without comparing all of them.
type candidates struct {
	nodes []*Node
	said  []map[sai.AttrID]string // texts of the attributes of each candidate
	is    []*kind                 // the kind of each candidate
	rare  map[said][]int          // the candidates that have a rare value
	kinds []*kind                 // the kinds that have candidates left
}

// said is an attribute with its value as text.
type said struct {
	id   sai.AttrID
	text string
}

// A kind is a group of candidates with the same common values, and the same attributes that cannot be reset.
type kind struct {
	common map[sai.AttrID]string
	stays  []sai.AttrID
	nodes  []int // indexes of candidates; those before index first are matched
	first  int
}

// newCandidates indexes candidates.
func newCandidates(nodes []*Node) *candidates {
	s := &candidates{nodes: nodes, rare: map[said][]int{}}
	for i, c := range nodes {
		texts := texts(c, func(v sai.Value) sai.Value { return v })
		s.said = append(s.said, texts)
		for id, text := range texts {
			s.rare[said{id, text}] = append(s.rare[said{id, text}], i)
		}
	}
	common := map[said]bool{}
	for x, who := range s.rare {
		if len(who) > rarely {
			common[x] = true
			delete(s.rare, x)
		}
	}
	byKey := map[string]*kind{}
	for i, c := range nodes {
		k := kindOf(c, s.said[i], common)
		key := fmt.Sprint(k.common, k.stays)
		if byKey[key] == nil {
			byKey[key] = k
			s.kinds = append(s.kinds, k)
		}
		byKey[key].nodes = append(byKey[key].nodes, i)
		s.is = append(s.is, byKey[key])
	}
	if len(s.kinds) > maxKinds {
		slices.SortStableFunc(s.kinds, func(a, b *kind) int { return cmp.Compare(len(b.nodes), len(a.nodes)) })
	}
	return s
}

// texts returns the values of a node as texts. EqualValues compares these texts, too.
func texts(n *Node, as func(sai.Value) sai.Value) map[sai.AttrID]string {
	list := make(map[sai.AttrID]string, len(n.Attrs))
	for id, v := range n.Attrs {
		if text, err := sai.FormatValue(id, as(v)); err == nil {
			list[id] = text
		}
	}
	return list
}

func kindOf(c *Node, texts map[sai.AttrID]string, common map[said]bool) *kind {
	k := &kind{common: map[sai.AttrID]string{}}
	for id, text := range texts {
		if common[said{id, text}] {
			k.common[id] = text
		}
	}
	for id := range c.Attrs {
		if cannotBeUndone(id) {
			k.stays = append(k.stays, id)
		}
	}
	slices.Sort(k.stays)
	return k
}

// cannotBeUndone reports whether an attribute, once set, has no value that equals not being set.
func cannotBeUndone(id sai.AttrID) bool {
	return sai.Meta(id).Default == nil && sai.Meta(id).Has(sai.CreateAndSet)
}

// nearest returns the unmatched candidate that shares the most values with an object, the first if several do. It
// returns nil if sets can turn none into it. as translates the object's values.
func (s *candidates) nearest(n *Node, as func(sai.Value) sai.Value) *Node {
	want := texts(n, as)
	best, score := -1, -1
	offer := func(i, common int) {
		if common > score || common == score && i < best {
			best, score = i, common
		}
	}
	for id, text := range want {
		for _, i := range s.left(said{id, text}) {
			if possible(n, s.is[i]) {
				offer(i, inCommon(s.said[i], want))
			}
		}
	}
	for i := 0; i < min(len(s.kinds), maxKinds); i++ {
		k := s.kinds[i]
		for k.first < len(k.nodes) && s.nodes[k.nodes[k.first]].Match != nil {
			k.first++
		}
		if k.first == len(k.nodes) {
			s.kinds = slices.Delete(s.kinds, i, i+1)
			i--
		} else if possible(n, k) {
			offer(k.nodes[k.first], inCommon(k.common, want))
		}
	}
	if best < 0 {
		return nil
	}
	return s.nodes[best]
}

// left returns the unmatched candidates with a rare value.
func (s *candidates) left(x said) []int {
	who := slices.DeleteFunc(s.rare[x], func(i int) bool { return s.nodes[i].Match != nil })
	if len(who) > 0 {
		s.rare[x] = who
	}
	return who
}

// possible reports whether sets can turn a candidate of a kind into an object.
func possible(n *Node, k *kind) bool {
	for _, id := range k.stays {
		if _, given := n.Attrs[id]; !given {
			return false
		}
	}
	return true
}

func inCommon(a, b map[sai.AttrID]string) (same int) {
	for id, text := range a {
		if other, ok := b[id]; ok && other == text {
			same++
		}
	}
	return same
}
