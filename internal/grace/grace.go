// Package grace lets what was finished or received get where it was promised, although the context of the work has
// ended.
//
// The rule of the tree: an ended context stops waiting and begins nothing new. A frame, message or result that is there
// already is handed on, under a context of [After], whose limit keeps an end from taking long.
package grace

import (
	"context"
	"time"
)

// After returns a context with the values of ctx that ends limit behind it. The function releases it, and is called in
// any case.
func After(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	out, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(limit, end)
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); end() }
}
