package mgmt

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// streamPatience is how long a subscriber may stay without updates. After that its RPC ends with the reason. If the
// databases become readable earlier, the values that the subscriber holds are corrected.
const streamPatience = 5 * time.Second

// A gate admits RPCs while the databases are readable and claimed by this server.
type gate struct {
	patience time.Duration // how long streams stay open after the gate is shut

	mu     sync.Mutex
	why    string // why the gate is shut; empty means that it is open
	inside map[*visit]struct{}
	late   *time.Timer // ends the open streams when patience is over
}

// A visit is an open RPC.
type visit struct {
	end    context.CancelCauseFunc
	stream bool
}

// enter returns the context of an RPC that reads the databases, and the function that ends the visit. A stream is ended
// only if the gate stays shut for longer than patience.
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

// set shuts the gate for the reason why; an empty reason opens it.
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

// end ends all open RPCs that are streams, or all that are not. The caller holds mu.
func (g *gate) end(streams bool) {
	for v := range g.inside {
		if v.stream == streams {
			v.end(g.refusal())
		}
	}
}
