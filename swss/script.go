package swss

import (
	"context"
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// The scripts that move rows and operations. Their effects and their arguments
// are those of SONiC's library; the text is ours.
var (
	//go:embed scripts/state_set.lua
	stateSetText string
	//go:embed scripts/state_set_many.lua
	stateSetManyText string
	//go:embed scripts/state_del.lua
	stateDelText string
	//go:embed scripts/state_del_many.lua
	stateDelManyText string
	//go:embed scripts/state_pop.lua
	statePopText string
	//go:embed scripts/state_view.lua
	stateViewText string
	//go:embed scripts/queue_push.lua
	queuePushText string
	//go:embed scripts/queue_pop.lua
	queuePopText string
)

// A Script is a Lua script that runs in Redis. The zero Script is not usable.
type Script struct{ text, digest string }

// NewScript returns the script with that text.
func NewScript(text string) Script {
	sum := sha1.Sum([]byte(text))
	return Script{text: text, digest: hex.EncodeToString(sum[:])}
}

// Call is one call of a script.
type Call struct {
	Keys []string
	Args []any
}

// Run calls a script once.
func (d *DB) Run(ctx context.Context, s Script, keys []string, args ...any) (any, error) {
	res, err := d.RunMany(ctx, s, []Call{{keys, args}})
	if err != nil {
		return nil, err
	}
	return res[0], nil
}

// RunMany calls a script many times, in few round trips, in order. It returns
// the result of each call; a call that failed has a nil result, and the first
// failure is returned after all have been tried.
func (d *DB) RunMany(ctx context.Context, s Script, calls []Call) ([]any, error) {
	results := make([]any, len(calls))
	var first error
	for from := 0; from < len(calls); from += pipelineSize {
		to := min(from+pipelineSize, len(calls))
		cmds, err := d.evalSHA(ctx, s, calls[from:to])
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			// Redis forgot its scripts (or never knew this one); none has run.
			if err = d.client.ScriptLoad(ctx, s.text).Err(); err == nil {
				cmds, err = d.evalSHA(ctx, s, calls[from:to])
			}
		}
		for i, cmd := range cmds {
			results[from+i] = cmd.Val()
			if first == nil && cmd.Err() != nil && cmd.Err() != redis.Nil {
				first = cmd.Err()
			}
		}
		if unavailable(err) {
			return results, err
		}
	}
	return results, first
}

func (d *DB) evalSHA(ctx context.Context, s Script, calls []Call) ([]*redis.Cmd, error) {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = d.client.EvalSha(ctx, s.digest, calls[0].Keys, calls[0].Args...)
		return cmds, cmds[0].Err()
	}
	_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			cmds[i] = p.EvalSha(ctx, s.digest, c.Keys, c.Args...)
		}
		return nil
	})
	return cmds, err
}
