package collectd

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"tamtam/fleet/stream"
)

// The first process of a log sets its number of partitions. A process with another number gets an error with both
// numbers.
func TestPartitionsOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stream.NewMemory(0)
		var began sync.WaitGroup
		var names [4]string
		for i := range names {
			began.Go(func() {
				name, err := agree(t.Context(), log, 8)
				if err != nil {
					t.Error(err)
				}
				names[i] = name
			})
		}
		began.Wait()
		if names[0] == "" || names != [4]string{names[0], names[0], names[0], names[0]} {
			t.Errorf("the log is called %q, want one name", names)
		}
		for range 2 {
			_, err := agree(t.Context(), log, 4)
			if err == nil || !strings.Contains(err.Error(), "--partitions 4: the log was begun with 8") {
				t.Errorf("4 of a log of 8: %v", err)
			}
		}
		if name, err := agree(t.Context(), log, 8); err != nil || name != names[0] {
			t.Errorf("%q, %v: want %q again", name, err, names[0])
		}
		if name, err := agree(t.Context(), stream.NewMemory(0), 8); err != nil || name == names[0] {
			t.Errorf("another log: %q, %v: want another name", name, err)
		}
	})
}
