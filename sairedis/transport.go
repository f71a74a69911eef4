package sairedis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// waitSlice is how long one blocking read of the response list lasts; between
// two of them the context is looked at.
const waitSlice = time.Second

// do sends one request and waits for its answer. The answer's key, a status,
// is returned apart. Any error means that the ASIC's state is unknown, except
// one that says that nothing was sent.
func (c *Client) do(ctx context.Context, req message, answer string) (sai.Status, []swss.Pair, error) {
	if c.broken != nil {
		return 0, nil, c.broken
	}
	status, fields, err := c.exchange(ctx, req, answer)
	if err != nil {
		err = fmt.Errorf("sairedis: %s %s: %w", req.op, req.key, err)
		var op *net.OpError
		if !(errors.As(err, &op) && op.Op == "dial") {
			err = c.lose(err)
		}
	}
	return status, fields, err
}

// exchange pushes the request and reads the response in one round trip.
func (c *Client) exchange(ctx context.Context, req message, answer string) (sai.Status, []swss.Pair, error) {
	var words []string
	var first, rest = (*redis.StringSliceCmd)(nil), (*redis.StringSliceCmd)(nil)
	_, err := c.asic.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		p.LPush(ctx, requestList, req.key, req.body(), req.opcode())
		p.Publish(ctx, requestChan, payload)
		first = p.BRPop(ctx, waitSlice, responseList)
		rest = p.RPopCount(ctx, responseList, 2)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, nil, err
	}
	for waited := time.Duration(0); ; waited += waitSlice {
		words = append(words, popped(first)...)
		words = append(words, rest.Val()...)
		if words, err = c.complete(ctx, words); err != nil {
			return 0, nil, err
		}
		for ; len(words) >= 3; words = words[3:] {
			if words[2] != "S"+answer {
				c.log.Warn("skipped an answer that nobody waits for", "key", words[0], "op", words[2])
				continue
			}
			return answered(words)
		}
		switch {
		case ctx.Err() != nil:
			return 0, nil, ctx.Err()
		case waited >= c.timeout:
			return 0, nil, fmt.Errorf("no answer from syncd within %s", c.timeout)
		}
		_, err := c.asic.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
			first = p.BRPop(ctx, waitSlice, responseList)
			rest = p.RPopCount(ctx, responseList, 2)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, nil, err
		}
	}
}

// popped returns the element that a BRPOP took.
func popped(cmd *redis.StringSliceCmd) []string {
	if v := cmd.Val(); len(v) == 2 {
		return v[1:]
	}
	return nil
}

// complete fetches the rest of an entry: its three elements were pushed as one,
// but when the blocking read ends just then, they are read in two parts.
func (c *Client) complete(ctx context.Context, words []string) ([]string, error) {
	for len(words)%3 != 0 {
		more, err := c.asic.Client().RPopCount(ctx, responseList, 3-len(words)%3).Result()
		if err != nil {
			return nil, fmt.Errorf("half an answer %q: %w", words, err)
		}
		words = append(words, more...)
	}
	return words, nil
}

func answered(words []string) (sai.Status, []swss.Pair, error) {
	m, err := decode(words[0], words[1], words[2])
	if err != nil {
		return 0, nil, err
	}
	status, ok := sai.LookupStatus(m.key)
	if !ok {
		return 0, nil, fmt.Errorf("answer has the unknown status %.80q", m.key)
	}
	return status, m.fields, nil
}
