package packettrace

import (
	"context"
	"strings"
	"testing"
)

// A filter that is not done within the time for an answer is ended with an error that reports this.
func TestSlowFilterIsEnded(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		seen uint64
		want string
	}{
		{t.Context(), 0, ""}, {t.Context(), 512, ""}, {late, 513, ""},
		{late, 512, "where: the filter is too slow: 512 of 9000 drops were compared within 5s: want "},
	} {
		err := tooSlow(tt.ctx, tt.seen, 9000)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%d drops: %v, want %q", tt.seen, err, tt.want)
		}
	}
}
