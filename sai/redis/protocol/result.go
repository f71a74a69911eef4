package protocol

import (
	"context"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// A Result is the outcome of a request: the writes and the answer.
type Result struct {
	Status     sai.Status
	Op         string // the op of the answer
	Fields     []swss.Pair
	Writes     []func(redis.Pipeliner)
	Unanswered bool  // true if the client expects no answer
	Mapped     []any // new entries of VIDTORID, alternating virtual id and real id
}

func (r *Result) Write(f func(redis.Pipeliner)) { r.Writes = append(r.Writes, f) }

// WriteMaps adds the new ids to VIDTORID and RIDTOVID.
func (r *Result) WriteMaps(ctx context.Context, p redis.Pipeliner) {
	if len(r.Mapped) == 0 {
		return
	}
	back := make([]any, len(r.Mapped))
	for i := 0; i < len(back); i += 2 {
		back[i], back[i+1] = r.Mapped[i+1], r.Mapped[i]
	}
	p.HSet(ctx, KeyVIDToRID, r.Mapped...)
	p.HSet(ctx, KeyRIDToVID, back...)
}
