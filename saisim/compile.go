package saisim

import "tamtam/saisim/config"

// apply compiles a change. What is compiled of a row is changed in place, so that packets that hold
// it see the change, and what it has counted stays.
func (c *engine) apply(ch config.Change) {
	for _, x := range ch {
		switch r := x.Row.(type) {
		case config.Mirror:
			c.applyMirror(r, x.Gone)
		}
	}
}

// at returns what is compiled of the row with an id, nil if there is none or it is something else.
func at[T any](c *engine, id config.ID) (x T) {
	x, _ = c.ids[id].(T)
	return x
}
