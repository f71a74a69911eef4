package grace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

// The context ends exactly one limit after its parent, which ends by cancellation or by its deadline.
func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "v"), time.Minute)
		defer cancel()
		ctx, done := After(of, time.Second)
		released, release := After(of, time.Second)
		if release(); released.Err() == nil || ctx.Value(key{}) != "v" {
			t.Errorf("released: %v, value %v", released.Err(), ctx.Value(key{}))
		}
		defer done()
		began := time.Now()
		<-ctx.Done()
		if d := time.Since(began); d != time.Minute+time.Second {
			t.Errorf("it ended after %v", d)
		}
	})
}
