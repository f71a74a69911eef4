package jetstream

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tamtam/internal/disktest"
)

// The disks of three servers are full one after another. The other servers continue, and the full one catches up when
// it has space, so that any of them may be the next.
func TestClusterDiskWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	var disks [nodes]string
	if os.Getenv("TAMTAM_CLUSTER") != "" {
		for i := range disks {
			disks[i] = disktest.Small(t, diskSize)
			if err := os.Symlink(disks[i], filepath.Join(dir, fmt.Sprint("node-", i+1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, servers, l := startCluster(t, dir)
	defer func() {
		l.Close()
		for _, s := range servers {
			s.Close()
		}
	}()
	next := uint64(1)
	add := func(count int) {
		t.Helper()
		for range count {
			if seq, err := l.Append(t.Context(), "t", fmt.Sprint(next), message(next)); err != nil || seq != next {
				t.Fatalf("message %d: sequence %d, %v", next, seq, err)
			}
			next++
		}
	}
	add(20)
	for i, s := range servers {
		free := disktest.Fill(t, disks[i], 0)
		add(20)
		until(t, "a node has no room", func() bool { return s.Trouble() != "" })
		add(20)
		free()
		until(t, "it can write again", func() bool { return s.Trouble() == "" && s.Restarts() > 0 })
		add(20)
	}
	sameMessages(t, l, 1, next-1)
	if err := l.Acknowledge(t.Context(), "t", next-2); err != nil {
		t.Error(err)
	}
}
