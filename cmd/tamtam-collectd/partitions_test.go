package main

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"tamtam/collector/stream"
)

// Who begins a log says how many partitions it has; whoever wants others is refused, with both numbers.
func TestPartitionsOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stream.NewMemory(0)
		var began sync.WaitGroup
		for range 4 {
			began.Go(func() {
				if err := agree(t.Context(), log, 8); err != nil {
					t.Error(err)
				}
			})
		}
		began.Wait()
		for range 2 {
			err := agree(t.Context(), log, 4)
			if err == nil || !strings.Contains(err.Error(), "--partitions 4: the log was begun with 8") {
				t.Errorf("4 of a log of 8: %v", err)
			}
		}
		if err := agree(t.Context(), log, 8); err != nil {
			t.Error(err)
		}
	})
}
