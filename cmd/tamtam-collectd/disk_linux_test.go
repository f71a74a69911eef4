package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/internal/disktest"
	"tamtam/internal/randtest"
)

// A disk is a disk for a test, which is sometimes full.
type disk struct {
	t     *testing.T
	dir   string
	fills int
	free  func()
}

func newDisk(t *testing.T, dir string, mib int) *disk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	disktest.Mount(t, dir, mib<<10)
	return &disk{t: t, dir: dir}
}

func (d *disk) fill() {
	d.fills++
	d.free = disktest.Fill(d.t, d.dir, 0)
}

// A fleet sends to a collector whose disks, one for the log and one for the store, are full at random times. This lasts
// TAMTAM_COLLECTD_DISK minutes. In the end the store equals, row for row, that of a run whose disks were never full. No
// process ended, and each full disk was reported once.
func TestDisksWithoutRoom(t *testing.T) {
	minutes, _ := strconv.ParseFloat(os.Getenv("TAMTAM_COLLECTD_DISK"), 64)
	if minutes <= 0 {
		t.Skip("TAMTAM_COLLECTD_DISK is not set: want the number of minutes")
	}
	randtest.Run(t, randtest.Cases{Seed: 916200000, Count: 1}, func(t *testing.T, seed uint64) {
		c := newChaos(t, seed, time.Duration(minutes*float64(time.Minute)))
		disks := [2]*disk{newDisk(t, filepath.Join(c.dir, "log"), 256), newDisk(t, filepath.Join(c.dir, "store"), 256)}
		collector := c.start("run", "--role=log,join", "--http=none", "--log="+disks[0].dir, "--listen="+c.listen[0],
			"--store="+disks[1].dir, "--silence=10h", fmt.Sprint("--partitions=", chaosPartitions), "--sync=1m",
			"--expect="+c.expected())
		sent := c.start(append(c.fleetArgs(), "--nats=nats://"+c.listen[0], "--joined-elsewhere", "--dir="+c.dir,
			"--pace="+fmt.Sprint(chaosPace))...)
		c.fill(sent, disks[:])
		if !strings.Contains(sent.out.String(), "store equals what was sent   yes") {
			t.Fatalf("the fleet says\n%s\n%s", sent.out.String(), sent.err.String())
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", collector.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		peak, _, _ = strings.Cut(peak, "\n")
		if err := collector.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := <-collector.ended; err != nil {
			t.Errorf("the collector: %v", err)
		}
		t.Logf("no room %d times for the log and %d for the store; %s of memory at most", disks[0].fills, disks[1].fills,
			strings.TrimSpace(peak))
		t.Logf("the collector says\n%s", collector.err.String())
		calm := t.TempDir()
		quiet := c.start(append(c.fleetArgs(), "--dir="+calm)...)
		if err := <-quiet.ended; err != nil {
			t.Fatalf("with room: %v\n%s", err, quiet.err.String())
		}
		compareStores(t, disks[1].dir, filepath.Join(calm, "store"))
		for i, words := range []string{"the log cannot be written", "results wait for the store"} {
			if n := strings.Count(collector.err.String(), words); n == 0 || n > disks[i].fills {
				t.Errorf("%q is told %d times, and there was no room %d times", words, n, disks[i].fills)
			}
		}
	})
}

// fill fills one disk or both for a while, and frees them again, until the fleet has sent everything.
func (c *chaos) fill(sent *process, disks []*disk) {
	for turn := c.r.IntN(3); ; turn = c.r.IntN(3) {
		var full []*disk
		for i, d := range disks {
			if turn == 2 || turn == i {
				full = append(full, d)
			}
		}
		for _, full := range [][]*disk{nil, full} {
			for _, d := range full {
				d.fill()
			}
			wait := time.Second + time.Duration(c.r.Int64N(int64(15*time.Second)))
			select {
			case err := <-sent.ended:
				if err != nil {
					c.t.Fatalf("the fleet: %v\n%s", err, sent.err.String())
				}
				for _, d := range full {
					d.free()
				}
				return
			case <-time.After(wait):
			}
			for _, d := range full {
				d.free()
			}
		}
	}
}
