package orch

import "context"

// A Topic notifies its subscribers, in the order in which they subscribed. It belongs to one daemon and must be used
// only on its goroutine. The zero Topic is ready to use.
type Topic[T any] struct{ subs []func(context.Context, T) }

// Subscribe adds a subscriber.
func (t *Topic[T]) Subscribe(f func(context.Context, T)) { t.subs = append(t.subs, f) }

// Publish calls every subscriber.
func (t *Topic[T]) Publish(ctx context.Context, v T) {
	for _, f := range t.subs {
		f(ctx, v)
	}
}
