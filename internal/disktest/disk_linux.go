package disktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Small mounts a file system of the given size in KiB and returns its folder.
func Small(t *testing.T, kib int) string {
	t.Helper()
	dir := t.TempDir()
	Mount(t, dir, kib)
	return dir
}

// Mount mounts a file system of the given size in KiB at a folder until the test ends. Without permission to mount, it
// skips the test.
func Mount(t *testing.T, dir string, kib int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Skipf("NOT TESTED, a disk without room: a tmpfs cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Fill fills a file system, in whole pages, until the given number of bytes is free. The returned function frees the
// space.
func Fill(t *testing.T, dir string, but int64) (free func()) {
	t.Helper()
	var at syscall.Statfs_t
	if err := syscall.Statfs(dir, &at); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "filler")
	more := int64(at.Blocks+1) * at.Bsize // more pages than the file system has
	if err := os.WriteFile(path, make([]byte, more), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if info, err := os.Stat(path); err != nil || os.Truncate(path, info.Size()-but) != nil {
		t.Fatalf("%v: %s is not made shorter", err, path)
	}
	return func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
