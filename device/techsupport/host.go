package techsupport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// mostTail is how many bytes of the end of a file are packed.
const mostTail = 1 << 20

// hostFiles lists files in which the kernel and the system describe themselves.
var hostFiles = []string{
	"/proc/version", "/proc/uptime", "/proc/loadavg", "/proc/meminfo", "/proc/self/limits", "/proc/self/cgroup",
	"/proc/net/dev", "/etc/os-release",
}

func hostItems() []Item {
	list := []Item{{"version.txt", func(context.Context) ([]byte, string, error) {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return nil, "", fmt.Errorf("the build has recorded nothing")
		}
		return fmt.Appendf(nil, "%s/%s, %d CPUs\n%s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), info), "", nil
	}}}
	for _, name := range hostFiles {
		list = append(list, tail("host/"+filepath.Base(name)+".txt", name))
	}
	return list
}

// tailItems returns the ends of files; a number distinguishes files of the same name.
func tailItems(names []string) []Item {
	var list []Item
	for i, name := range names {
		list = append(list, tail(fmt.Sprintf("tail/%d-%s", i+1, filepath.Base(name)), name))
	}
	return list
}

func tail(name, path string) Item {
	return Item{name, func(context.Context) ([]byte, string, error) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, "", err
		}
		if !info.Mode().IsRegular() {
			return nil, "", fmt.Errorf("%s is no file", path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, "", err
		}
		defer f.Close()
		note := ""
		if info.Size() > mostTail {
			note = fmt.Sprintf("the last %d of %d bytes", mostTail, info.Size())
			if _, err := f.Seek(-mostTail, io.SeekEnd); err != nil {
				return nil, "", err
			}
		}
		text, err := io.ReadAll(io.LimitReader(f, mostTail))
		if note != "" { // the first line is truncated and may be a secret whose name is cut off
			_, text, _ = bytes.Cut(text, []byte("\n"))
		}
		return text, note, err
	}}
}
