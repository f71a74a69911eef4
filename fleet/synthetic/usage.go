package synthetic

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of this process, in user and kernel mode.
func cpuTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// memoryPeak returns the peak memory use of this process in bytes.
func memoryPeak() (int64, error) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/self/status does not say VmHWM")
}

// diskUsed returns the disk usage of the files in a folder in bytes.
func diskUsed(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was removed meanwhile
		}
		bytes += st.Blocks * 512
		return err
	})
	return bytes, err
}

// watchDisk measures the disk usage of a folder every second. peak stops it and returns the maximum.
func watchDisk(ctx context.Context, dir string) (peak func() (int64, error)) {
	ctx, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	var most int64
	var failed error
	ended.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for failed == nil {
			var used int64
			used, failed = diskUsed(dir)
			most = max(most, used)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() (int64, error) {
		stop()
		ended.Wait()
		return most, failed
	}
}
