package sairedis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/swss/tick"
)

// ErrUnknown is wrapped by every error after which the state of the ASIC is unknown: syncd did not answer, or its
// answer was lost.
var ErrUnknown = errors.New("the state of the ASIC is unknown, a restart is needed")

// lose records why the state of the ASIC is unknown from now on.
func (c *channel) lose(why error) error {
	c.broken = fmt.Errorf("%w: %w", why, ErrUnknown)
	c.despair(why.Error())
	close(c.lost)
	go c.Close() // no further call waits for an answer; Redis may block Close
	return c.broken
}

// lookPeriod is how often a client checks for a syncd, and for requests of other clients.
const lookPeriod = 500 * time.Millisecond

// Lost returns the reason when the state of the ASIC becomes unknown. It also returns when ctx ends.
func (c *channel) Lost(ctx context.Context) error {
	for {
		select {
		case <-c.lost:
			return c.broken
		case <-tick.After(lookPeriod):
			_ = c.look(ctx) // its findings appear in lost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
