package device

import "syscall"

// spaceOf returns the bytes of the file system that is mounted at a path, or false if they are unknown.
func spaceOf(path string) (space, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil || s.Blocks == 0 || s.Bsize <= 0 || s.Bfree > s.Blocks {
		return space{}, false
	}
	size := uint64(s.Bsize)
	return space{size: s.Blocks * size, available: s.Bavail * size, utilized: (s.Blocks - s.Bfree) * size}, true
}
