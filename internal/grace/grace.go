// Package grace lets finished or received data reach its destination although the context of the work has ended.
//
// The rule of the tree: an ended context stops waiting and begins nothing new. An existing frame, message or result is
// passed on, under a context of [After]. Its limit prevents that the end takes long.
package grace

import (
	"context"
	"time"
)

// After returns a context with the values of ctx that ends limit after ctx. The returned function releases it, and must
// be called in any case.
func After(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	out, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(limit, end)
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); end() }
}
