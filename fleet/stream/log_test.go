package stream_test

import (
	"testing"

	"tamtam/fleet/stream"
	"tamtam/fleet/stream/streamtest"
)

// The log inside a process passes the tests of every log.
func TestMemory(t *testing.T) {
	streamtest.Test(t, func(_ *testing.T, most int64) stream.Log { return stream.NewMemory(most) })
}
