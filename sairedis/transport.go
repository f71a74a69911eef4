package sairedis

import (
	"context"
	"errors"
	"fmt"

	"tamtam/sai"
	"tamtam/swss"
)

// An unsent error says that no request has been sent: the ASIC is as it was.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// A reply is the answer to a request.
type reply struct {
	status sai.Status
	fields []swss.Pair
}

// do sends one request and waits for its answer. The answer's key, a status,
// is returned apart. Any error means that the ASIC's state is unknown, except
// one that says that nothing was sent.
func (c *Client) do(ctx context.Context, req message, answer string) (sai.Status, []swss.Pair, error) {
	if c.broken != nil {
		return 0, nil, c.broken
	}
	r, err := interruptible(ctx, func() (reply, error) { return c.exchange(ctx, req, answer) })
	if err != nil {
		err = fmt.Errorf("sairedis: %s %s: %w", req.op, req.key, err)
		var u unsent
		if !errors.As(err, &u) {
			err = c.lose(err)
		}
	}
	return r.status, r.fields, err
}

// interruptible calls f and returns what it does, or that ctx has ended: then f
// may go on. Redis need not answer, and go-redis heeds deadlines alone.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, unsent{err}
	}
	if ctx.Done() == nil {
		return f()
	}
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// exchange pushes the request and takes its answer.
func (c *Client) exchange(ctx context.Context, req message, answer string) (reply, error) {
	stale, err := c.answers.Open(ctx)
	if err != nil {
		return reply{}, unsent{err}
	}
	c.skip(stale)
	if err := c.requests.Push(ctx, req.entry()); err != nil {
		if swss.NothingSent(err) {
			err = unsent{err}
		}
		return reply{}, err
	}
	wait, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for {
		entries, err := c.answers.Wait(wait)
		switch {
		case err != nil && wait.Err() != nil && ctx.Err() == nil:
			return reply{}, fmt.Errorf("no answer from syncd within %s", c.timeout)
		case err != nil:
			return reply{}, err
		}
		for i, e := range entries {
			if e.Op == "S"+answer {
				c.skip(entries[i+1:])
				return answered(e)
			}
			c.skip(entries[i : i+1])
		}
	}
}

// skip passes over answers to what this client has not asked.
func (c *Client) skip(entries []swss.Entry) {
	for _, e := range entries {
		c.log.Warn("skipped an answer that nobody waits for", "key", e.Key, "op", e.Op)
	}
}

func answered(e swss.Entry) (reply, error) {
	m, err := decode(e)
	if err != nil {
		return reply{}, err
	}
	status, ok := sai.LookupStatus(m.key)
	if !ok {
		return reply{}, fmt.Errorf("answer has the unknown status %.80q", m.key)
	}
	return reply{status, m.fields}, nil
}
