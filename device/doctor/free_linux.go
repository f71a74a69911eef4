package doctor

import "golang.org/x/sys/unix"

// freeBytes returns how many bytes a process without privileges may still write in a directory.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
