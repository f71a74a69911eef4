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
// failure is returned after all have been tried. A script that Redis does not
// know (it has restarted) is loaded, and the calls that missed it are made then:
// each call is made once.
func (d *DB) RunMany(ctx context.Context, s Script, calls []Call) ([]any, error) {
	results := make([]any, len(calls))
	var first error
	for from := 0; from < len(calls); from += pipelineSize {
		to := min(from+pipelineSize, len(calls))
		cmds, err := d.evalSHA(ctx, s, calls[from:to])
		for range 3 { // scripts may be flushed again and again, but not for ever
			if err = d.evalMissed(ctx, s, calls[from:to], cmds, err); !IsNoScript(err) {
				break
			}
		}
		for i, cmd := range cmds {
			results[from+i] = cmd.Val()
			if first == nil && cmd.Err() != nil && cmd.Err() != redis.Nil {
				first = cmd.Err()
			}
		}
		if unavailable(first) {
			break
		}
	}
	return results, first
}

// evalMissed loads the script and makes those calls again that missed it; it
// returns the first error of these. Without such calls it returns err.
func (d *DB) evalMissed(ctx context.Context, s Script, calls []Call, cmds []*redis.Cmd, err error) error {
	var missed []int
	var again []Call
	for i, cmd := range cmds {
		if IsNoScript(cmd.Err()) {
			missed, again = append(missed, i), append(again, calls[i])
		}
	}
	if len(missed) == 0 {
		return err
	}
	if err := d.client.ScriptLoad(ctx, s.text).Err(); err != nil {
		return err
	}
	got, err := d.evalSHA(ctx, s, again)
	for i, cmd := range got {
		cmds[missed[i]] = cmd
	}
	return err
}

// IsNoScript reports whether Redis did not know a script, and so did nothing.
func IsNoScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

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
