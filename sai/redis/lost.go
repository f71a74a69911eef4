package sairedis

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnknown is found in every error after which it is not known what the ASIC did: syncd did not
// answer, or its answer was lost.
var ErrUnknown = errors.New("the state of the ASIC is unknown, a restart is needed")

// lose records why the state of the ASIC is unknown from now on.
func (c *channel) lose(why error) error {
	c.broken = fmt.Errorf("%w: %w", why, ErrUnknown)
	c.despair(why.Error())
	close(c.lost)
	go c.Close() // nobody will wait for an answer again; Redis may keep this waiting
	return c.broken
}

// lookPeriod is how often a client looks what there is of syncd, and whether others make requests.
const lookPeriod = 500 * time.Millisecond

// Lost returns when the state of the ASIC is unknown, with the reason, or when
// ctx ends.
func (c *channel) Lost(ctx context.Context) error {
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	for {
		select {
		case <-c.lost:
			return c.broken
		case <-tick.C:
			_ = c.look(ctx) // what it finds is seen in lost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
