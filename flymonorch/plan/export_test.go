package plan

// Put gives a task a place that another pool has given it.
func (p *Pool) Put(t *Placed) { p.put(t) }
