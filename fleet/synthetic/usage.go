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
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has computed, for itself and in the kernel.
func cpuTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// memoryPeak is what this process had in memory at most, in bytes.
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

// diskUsed is what the files in a folder take on the disk, in bytes.
func diskUsed(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has gone meanwhile
		}
		bytes += st.Blocks * 512
		return err
	})
	return bytes, err
}

// A diskWatch looks every second what a folder takes.
type diskWatch struct {
	stop func()
	most chan int64
	err  error
}

func watchDisk(ctx context.Context, dir string) *diskWatch {
	ctx, stop := context.WithCancel(ctx)
	w := &diskWatch{stop: stop, most: make(chan int64, 1)}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		most := int64(0)
		for {
			used, err := diskUsed(dir)
			if err != nil {
				w.err = err
				break
			}
			most = max(most, used)
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
			}
			break
		}
		w.most <- most
	}()
	return w
}

// peak ends the watch.
func (w *diskWatch) peak() (int64, error) {
	w.stop()
	most := <-w.most
	return most, w.err
}
