package record

import "fmt"

// MaxReach is the maximum number of nodes of a graph for a Reach, which needs the square of that number of bits of
// memory.
const MaxReach = 16_384

// A Reach holds the order of a graph's nodes and their mutual exclusion. Nodes are numbered as in [Index].
type Reach struct {
	x     *Index
	after [][]uint64 // for each reachable node, the set of nodes after it
}

// NewReach indexes g and visits all its edges once. It refuses a graph of more than [MaxReach] nodes, and the graphs
// that [NewIndex] refuses.
func NewReach(g *Graph) (*Reach, error) {
	if len(g.Nodes) > MaxReach {
		return nil, fmt.Errorf("a graph of %d nodes, want at most %d to tell which exclude each other",
			len(g.Nodes), MaxReach)
	}
	x, err := NewIndex(g)
	if err != nil {
		return nil, err
	}
	r := &Reach{x, make([][]uint64, len(g.Nodes)+1)}
	for i := len(x.Order) - 1; i >= 0; i-- {
		a := x.Order[i]
		set := make([]uint64, (len(g.Nodes)+63)/64)
		for _, b := range x.Next[a] {
			if b == len(g.Nodes) {
				continue
			}
			set[b/64] |= 1 << (b % 64)
			for w, bits := range r.after[b] {
				set[w] |= bits
			}
		}
		r.after[a] = set
	}
	return r, nil
}

// Index returns the number of a node. It returns false if the graph has no node of this id.
func (r *Reach) Index(id string) (int, bool) {
	i, ok := r.x.Of[id]
	return i, ok && i < len(r.x.Next)
}

// Before reports whether a packet can run node a and later node b.
func (r *Reach) Before(a, b int) bool {
	return r.after[a] != nil && r.after[a][b/64]>>(b%64)&1 != 0
}

// Exclusive reports whether no packet runs both node a and node b. An unreachable node excludes every other node.
func (r *Reach) Exclusive(a, b int) bool {
	return a != b && !r.Before(a, b) && !r.Before(b, a)
}

// Cuts returns the nodes that are on every path, in path order.
func (r *Reach) Cuts() []int {
	// A node can be bypassed if an edge leads from a node before it to a node after it, in topological order.
	place := make([]int, len(r.x.Next)+1)
	for i, a := range r.x.Order {
		place[a] = i
	}
	place[len(r.x.Next)] = len(r.x.Order)
	var cuts []int
	far := 0
	for i, a := range r.x.Order {
		if far <= i {
			cuts = append(cuts, a)
		}
		for _, b := range r.x.Next[a] {
			far = max(far, place[b])
		}
	}
	return cuts
}
