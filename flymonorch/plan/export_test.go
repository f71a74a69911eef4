package plan

// Put places a task where another pool has placed it.
func (p *Pool) Put(t *Placed) { p.put(t) }
