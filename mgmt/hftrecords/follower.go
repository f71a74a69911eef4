package hftrecords

// A Follower gets each record of the groups once. It must be used by one goroutine, and closed.
type Follower struct {
	store *Store
	ready chan<- struct{}
	at    map[string]*position
}

// A position is where a follower is in a group.
type position struct {
	group *group
	next  uint64 // number of the next record
}

// maxTaken is the maximum number of values that Next returns, but for one record.
const maxTaken = 1 << 16

// Follow returns a follower. If last is set, it begins with the last record of each group, otherwise with the next one.
// ready, which has room for one value, receives one when there may be records, or other groups.
func (s *Store) Follow(last bool, ready chan<- struct{}) *Follower {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decode()
	f := &Follower{store: s, ready: ready, at: map[string]*position{}}
	for name, g := range s.groups {
		p := &position{g, g.counts.Received}
		f.at[name] = p
		if n := len(g.blocks); last && n > 0 {
			p.next--
			for i := n - 2; i >= 0 && len(g.blocks[i].At) > 0; i-- { // the other parts of this record
				b := &g.blocks[i]
				if b.At[len(b.At)-1] != g.blocks[n-1].At[0] || b.Layout == g.blocks[n-1].Layout {
					break
				}
				p.next--
			}
		}
	}
	s.followers[f] = struct{}{}
	return f
}

// Close ends the follower.
func (f *Follower) Close() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	delete(f.store.followers, f)
}

// wake wakes all followers.
func (s *Store) wake() {
	for f := range s.followers {
		select {
		case f.ready <- struct{}{}:
		default:
		}
	}
}

// Next returns records of a group that the follower did not get yet, and how many went before it could get them. There
// may be more: Next returns none once it has returned all.
func (f *Follower) Next(name string) (all []Block, missed uint64) {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	g, p := s.groups[name], f.at[name]
	if g == nil {
		delete(f.at, name)
		return nil, 0
	}
	if p == nil || p.group != g {
		p = &position{group: g}
		f.at[name] = p
	}
	if len(g.blocks) > 0 && p.next < g.blocks[0].First {
		missed = g.blocks[0].First - p.next
		p.next = g.blocks[0].First
		g.counts.Missed += missed
	}
	taken := 0
	for i := range g.blocks {
		b := &g.blocks[i]
		from := int(max(p.next, b.First) - b.First)
		if from >= len(b.At) {
			continue
		}
		if taken > 0 && taken+b.cost() > maxTaken {
			break
		}
		all = append(all, b.slice(from, len(b.At)))
		taken += b.cost()
		p.next = b.First + uint64(len(b.At))
	}
	return all, missed
}
