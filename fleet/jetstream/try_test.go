package jetstream

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// An operation is tried again after an error that may pass, and not after one that lasts.
func TestPasses(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nats.ErrTimeout, true},
		{errors.New("no responders"), true},
		{&jetstream.APIError{Code: 400, ErrorCode: noPeers}, true},
		{&jetstream.APIError{Code: 503, ErrorCode: 10008}, true},
		// After a timeout the first try of a message may still be under way when the second arrives.
		{&jetstream.APIError{Code: 409, ErrorCode: inProcess}, true},
		{&jetstream.APIError{Code: 404, ErrorCode: jetstream.JSErrCodeStreamNotFound}, false},
		{&jetstream.APIError{Code: 500, ErrorCode: notClustered}, false},
		{nats.ErrAuthorization, false},
		{&stream.Gone{}, false},
	} {
		if got := passes(fmt.Errorf("append: %w", tt.err)); got != tt.want {
			t.Errorf("passes(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
