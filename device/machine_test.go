package device

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/mgmt/models"
)

// A machine has the facts of its /proc; facts that /proc lacks are missing.
func TestMachine(t *testing.T) {
	proc := t.TempDir()
	write := func(file, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(proc, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := machine{proc: proc, version: "v1", now: func() time.Time { return time.Unix(1, 5).In(time.FixedZone("", 3600)) },
		space: func(path string) (space, bool) {
			return space{size: 5e9, available: 1e9, utilized: 3_999_999_999}, path != "/unknown"
		}}
	wants := func(table, key string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, m.table(table)[key]); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", table, key, diff)
		}
	}
	wants(models.HostFacts, "switch", map[string]string{"software-version": "v1"})
	wants(models.HostState, "switch", map[string]string{"current-datetime": "1970-01-01T00:00:01.000000005Z"})
	wants(models.HostProcesses, "7", nil)
	write("stat", "cpu 1 2\nbtime 1000\n")
	write("uptime", "12.50 30.1\n")
	write("meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n")
	write("7/stat",
		"7 (a (b) c) S 1 7 7 0 -1 4194304 1 2 3 4 250 50 0 0 20 0 1 0 3000 1000000 25 18446744073709551615 1\n")
	write("mounts", "overlay / overlay rw 0 0\n/dev/sda1 /my\\040disk ext4 rw 0 0\n/dev/sdb /unknown ext4 rw 0 0\n"+
		"proc /proc proc rw 0 0\n")
	write("8/stat", "8 (broken) S 1 x\n")
	write("self/stat", "9 (self) S\n")
	wants(models.HostFacts, "switch", map[string]string{"software-version": "v1", "boot-time": "1000000000000"})
	wants(models.HostState, "switch", map[string]string{"current-datetime": "1970-01-01T00:00:01.000000005Z",
		"up-time":  "12500000000",
		"physical": "1024000", "free": "102400", "available": "409600", "used": "614400"})
	wants(models.HostProcesses, "7", map[string]string{"name": "a (b) c", "cpu-usage-user": "2500000000",
		"cpu-usage-system": "500000000",
		"memory-usage":     fmt.Sprint(25 * os.Getpagesize()), "start-time": "1030000000000",
		"memory-utilization": fmt.Sprint((25*os.Getpagesize()*100 + 512000) / 1024000)})
	disk := map[string]string{"size": "5000", "available": "1000", "utilized": "3999"}
	for path, want := range map[string]map[string]string{"/": disk, "/my disk": disk, "/unknown": nil, "/proc": nil} {
		wants(models.HostMounts, path, want)
	}
	if got := len(m.table(models.HostProcesses)); got != 1 {
		t.Errorf("%d processes, want 1", got)
	}
}

// On the machine of the test, this process is listed.
func TestMachineIsThisOne(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	row := Machine("v")(models.HostProcesses)[fmt.Sprint(os.Getpid())]
	if row["name"] == "" || row["start-time"] == "" || row["memory-usage"] == "0" {
		t.Error(row)
	}
}

func FuzzProcessRow(f *testing.F) {
	f.Add("7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 250 50 0 0 20 0 1 0 3000 1000000 25 1 1")
	f.Add("7 )(")
	f.Fuzz(func(_ *testing.T, line string) { processRow(line) })
}
