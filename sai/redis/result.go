package sairedis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// A result is the outcome of a request: what to write, and the answer.
type result struct {
	status sai.Status
	op     string // of the answer
	fields []swss.Pair
	writes []func(redis.Pipeliner)
	mapped []any // virtual id, real id, ...: new entries of VIDTORID
}

func (r *result) write(f func(redis.Pipeliner)) { r.writes = append(r.writes, f) }

// writeMaps adds the new ids to VIDTORID and RIDTOVID.
func (r *result) writeMaps(ctx context.Context, p redis.Pipeliner) {
	if len(r.mapped) == 0 {
		return
	}
	back := make([]any, len(r.mapped))
	for i := 0; i < len(back); i += 2 {
		back[i], back[i+1] = r.mapped[i+1], r.mapped[i]
	}
	p.HSet(ctx, vidToRID, r.mapped...)
	p.HSet(ctx, ridToVID, back...)
}
