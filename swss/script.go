package swss

import (
	"context"
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
	"errors"

	"github.com/redis/go-redis/v9"
)

// The scripts that move rows and operations. Their effects and arguments are those of SONiC's
// library; the text is ours.
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
type Script struct {
	text, digest string
	native       Native // nil means that the embedded server runs it in Lua too
}

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

// RunMany calls a script many times, in order, in a small number of round trips. It returns the result of each call,
// nil for a failed one. It makes all calls even if some fail, and then returns the first error. If Redis has lost the
// script in a restart, the calls are repeated with its text; each takes effect once.
func (d *DB) RunMany(ctx context.Context, s Script, calls []Call) ([]any, error) {
	if d.redis.embedded != nil {
		d.redis.embedded.learn(s)
	}
	results := make([]any, len(calls))
	var first error
	for from := 0; from < len(calls); from += pipelineSize {
		batch := calls[from:min(from+pipelineSize, len(calls))]
		cmds := d.eval(ctx, batch, func(p redis.Cmdable, c Call) *redis.Cmd {
			return p.EvalSha(ctx, s.digest, c.Keys, c.Args...)
		})
		d.evalMissed(ctx, s, batch, cmds)
		for i, cmd := range cmds {
			results[from+i] = cmd.Val()
			if first == nil && cmd.Err() != nil && !errors.Is(cmd.Err(), redis.Nil) {
				first = cmd.Err()
			}
		}
		if unavailable(first) {
			break
		}
	}
	return results, first
}

// evalMissed repeats the calls that failed because the script was not loaded.
func (d *DB) evalMissed(ctx context.Context, s Script, calls []Call, cmds []*redis.Cmd) {
	var missed []int
	var again []Call
	for i, cmd := range cmds {
		if IsNoScript(cmd.Err()) {
			missed, again = append(missed, i), append(again, calls[i])
		}
	}
	if len(missed) == 0 {
		return
	}
	got := d.eval(ctx, again, func(p redis.Cmdable, c Call) *redis.Cmd {
		return p.Eval(ctx, s.text, c.Keys, c.Args...)
	})
	for i, cmd := range got {
		cmds[missed[i]] = cmd
	}
}

// eval makes calls in one round trip.
func (d *DB) eval(ctx context.Context, calls []Call, call func(redis.Cmdable, Call) *redis.Cmd) []*redis.Cmd {
	if len(calls) == 1 {
		return []*redis.Cmd{call(d.client, calls[0])}
	}
	cmds := make([]*redis.Cmd, len(calls))
	// The commands hold their errors.
	_, _ = d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			cmds[i] = call(p, c)
		}
		return nil
	})
	return cmds
}

// IsNoScript reports whether a command failed because Redis has not loaded the script. It then did nothing.
func IsNoScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }
