package engine

// due returns the sample that x has just chosen, followed by the samples in the list behind.
func (c *core) due(x *sampling, behind *sampleDue) *sampleDue {
	d := c.spares.due.get()
	*d = sampleDue{next: behind, from: x, pool: x.seen - x.left, rate: x.rate, truncate: x.by.Truncate}
	return d
}

// chosen appends the samples that ACL entries have chosen to due.
func (c *core) chosen(due *sampleDue, h *samplingHits, stage int) *sampleDue {
	at := &due
	for *at != nil {
		at = &(*at).next
	}
	for e := h.first; e != nil; {
		hit := e.sampling
		hit.own.rebind(hit.by)
		x := hit.own.chooser(stage, ofEntries)
		if x.pause(); x.chooses() {
			d := c.due(x, nil)
			if d.entry = e.id; e.counter != nil {
				d.rule = e.counter.Label
			}
			*at, at = d, &d.next
		}
		e, hit.next = hit.next, nil
	}
	return due
}
