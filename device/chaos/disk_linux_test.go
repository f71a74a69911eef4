package chaos

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/swss/swsstest"
)

// If Redis cannot write to its disk, it rejects writes. Every daemon reports that, and continues when the disk has
// space again. Meanwhile the ASIC stays as it was.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, dir string) (args []string, fill, free func() error){
		"appends": smallDisk, "snapshots": noSnapshots,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args, fill, free := start(t, dir)
			p := startPlantOn(t, swsstest.StartServer(t, append(args, "--dir", dir)...), nil)
			p.load(devicetest.TwoPorts())
			p.until("the session", func() bool { return p.active("s") })
			p.ready()
			devicetest.NoError(t, fill())
			for _, daemon := range []string{"syncd", "orchagent", "tammgrd"} {
				p.unhealthy(daemon, "Redis cannot save to disk and takes no writes")
			}
			if !p.active("s") {
				t.Error("what the ASIC does is not known any more")
			}
			devicetest.NoError(t, free())
			p.until("Redis takes the configuration", func() bool {
				return more("new").Load(p.Context(), p.redis) == nil
			})
			p.until("the new session", func() bool { return p.active("new") && p.active("s") })
			p.ready()
			p.same(devicetest.Merge(devicetest.TwoPorts(), more("new")))
			if n := p.chips.Load(); n > 1 {
				t.Errorf("syncd has had %d chips", n)
			}
		})
	}
}

// smallDisk uses a disk of 4 MB for the append-only file.
func smallDisk(t *testing.T, dir string) (args []string, fill, free func() error) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("this process may not mount a small disk: that Redis' appends fail is not tried: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	return []string{"--appendonly", "yes", "--appendfsync", "everysec", "--save", ""},
		func() error {
			if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
				return errors.Join(errors.New("the disk is not full"), err)
			}
			return nil
		},
		func() error { return os.Remove(ballast) }
}

// noSnapshots uses a disk on which no snapshot can be stored, since a directory has its name.
func noSnapshots(_ *testing.T, dir string) (args []string, fill, free func() error) {
	name := filepath.Join(dir, "dump.rdb")
	return []string{"--appendonly", "no", "--save", "1 1", "--dbfilename", filepath.Base(name)},
		func() error {
			return errors.Join(os.RemoveAll(name), os.MkdirAll(filepath.Join(name, "full"), 0o700))
		},
		func() error { return os.RemoveAll(name) }
}
