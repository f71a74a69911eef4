// Package grace lets finished or received data reach its destination although the context of the work has ended.
//
// The whole tree follows one rule. When a context ends, code stops waiting and begins nothing new. It passes on each
// existing frame, message or result under a context of [After], whose limit bounds the time of the shutdown.
package grace

import (
	"context"
	"time"
)

// After returns a context with the values of ctx. It ends when limit has passed after the end of ctx. The returned
// function releases it, and must always be called.
func After(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	out, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(limit, end)
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); end() }
}
