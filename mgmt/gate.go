package mgmt

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// streamPatience is how long a subscriber may be left without news: then its RPC ends with the reason. Until then what
// it was told is corrected when the databases can be read again.
const streamPatience = 5 * time.Second

// A gate lets RPCs in while the databases can be read and are this server's.
type gate struct {
	patience time.Duration // how long streams stay inside when it is shut

	mu     sync.Mutex
	why    string // it is shut; "": it is open
	inside map[*visit]struct{}
	late   *time.Timer // ends the streams that are inside
}

// A visit is an RPC inside.
type visit struct {
	end    context.CancelCauseFunc
	stream bool
}

// enter returns the context of an RPC that reads the databases, and what ends it. A stream is ended only if the gate
// stays shut.
func (g *gate) enter(ctx context.Context, stream bool) (context.Context, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why != "" {
		return nil, nil, g.refusal()
	}
	ctx, end := context.WithCancelCause(ctx)
	v := &visit{end, stream}
	if g.inside == nil {
		g.inside = map[*visit]struct{}{}
	}
	g.inside[v] = struct{}{}
	return ctx, func() {
		g.mu.Lock()
		delete(g.inside, v)
		g.mu.Unlock()
		end(nil)
	}, nil
}

func (g *gate) refusal() error { return status.Errorf(codes.Unavailable, "not ready: %s", g.why) }

// set shuts the gate for the reason why, "" opens it.
func (g *gate) set(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.why
	g.why = why
	switch {
	case why == "" && g.late != nil:
		g.late.Stop()
		g.late = nil
	case why != "" && was == "":
		g.end(false)
		var late *time.Timer
		late = time.AfterFunc(g.patience, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.late == late {
				g.end(true)
			}
		})
		g.late = late
	}
}

// end ends the RPCs inside, of one kind. The caller holds mu.
func (g *gate) end(streams bool) {
	for v := range g.inside {
		if v.stream == streams {
			v.end(g.refusal())
		}
	}
}
