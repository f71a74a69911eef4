package web

import (
	"tamtam/tam/query"
)

// since returns a table whose times may be compared with durations since the start of a simulation.
func since[R any](p *Page, t *query.Table[R]) *query.Table[R] {
	if p.cfg.Zero.IsZero() {
		return t
	}
	with := *t
	with.Start = p.cfg.Zero.UnixNano()
	return &with
}
