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
	proc, etc := t.TempDir(), t.TempDir()
	write := func(file, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(proc, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &machine{proc: proc, etc: etc, version: "v1", zone: "Europe/Oslo",
		now: func() time.Time { return time.Unix(1, 5).In(time.FixedZone("", 3600)) },
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
	wants(models.HostState, "switch", map[string]string{"current-datetime": "1970-01-01T00:00:01.000000005Z",
		"timezone-name": "Europe/Oslo"})
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
		"timezone-name": "Europe/Oslo",
		"up-time":       "12500000000",
		"physical":      "1024000", "free": "102400", "available": "409600", "used": "614400"})
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

// The share of a process follows from two readings that are at least three seconds apart, or else from the time since
// its start. A process with the number of an earlier one is another. Before its start there is no share.
func TestMachineUtilization(t *testing.T) {
	proc, now := t.TempDir(), time.Unix(1032, 0)
	m := &machine{proc: proc, now: func() time.Time { return now }}
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(proc, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := func(user, system, started int) {
		t.Helper()
		const line = "7 (a) S 1 7 7 0 -1 4194304 1 2 3 4 %d %d 0 0 20 0 1 0 %d 1000000 25 18 1\n"
		write("7/stat", fmt.Sprintf(line, user, system, started))
	}
	wants := func(want string) {
		t.Helper()
		if got := m.table(models.HostProcesses)["7"]["cpu-utilization"]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	write("stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8\nbtime 1000\n")
	process(100, 50, 3000) // 1.5 of 2 seconds, of two processors
	wants("38")
	now = now.Add(2 * time.Second)
	process(200, 50, 3000) // 2.5 of 4 seconds
	wants("31")
	now = now.Add(2 * time.Second)
	process(250, 100, 3000) // 2 of 4 seconds, of two processors
	wants("25")
	now = now.Add(time.Second)
	wants("20") // since the same reading
	now = now.Add(2 * time.Second)
	wants("0")
	now = now.Add(3 * time.Second)
	process(100, 0, 4000) // 1 of 2 seconds
	wants("25")
	process(100, 0, 4300) // the clock is behind
	wants("")
}

// The time zone is that of the environment, or else that of /etc. A resolver looks in the domains of its last line.
func TestMachineZoneAndDomains(t *testing.T) {
	etc := t.TempDir()
	m := &machine{proc: t.TempDir(), etc: etc, now: time.Now}
	wants := func(field, want string) {
		t.Helper()
		if got := m.table(models.HostState)["switch"][field]; got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	wants("timezone-name", "UTC")
	wants("search", "")
	wants("domain-name", "")
	if err := os.Symlink("/usr/share/zoneinfo/Asia/Tokyo", filepath.Join(etc, "localtime")); err != nil {
		t.Fatal(err)
	}
	wants("timezone-name", "Asia/Tokyo")
	m.zone = ":Europe/Oslo"
	wants("timezone-name", "Europe/Oslo")
	resolver := "nameserver 192.0.2.1\ndomain one.example\nsearch a.example b.example\n"
	if err := os.WriteFile(filepath.Join(etc, "resolv.conf"), []byte(resolver), 0o600); err != nil {
		t.Fatal(err)
	}
	wants("search", "a.example b.example")
	wants("domain-name", "a.example")
}

// The use of processors is measured over at least three seconds, and its mean over at least a minute. Waiting for a
// disk is idling.
func TestMachineProcessors(t *testing.T) {
	proc, now := t.TempDir(), time.Unix(100, 0)
	m := &machine{proc: proc, now: func() time.Time { return now }}
	read := func(seconds int, all, first string) map[string]map[string]string {
		t.Helper()
		now = now.Add(time.Duration(seconds) * time.Second)
		text := "cpu " + all + "\ncpu0 " + first + "\ncpu1 broken\nintr 7\n"
		if err := os.WriteFile(filepath.Join(proc, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return m.table(models.HostCPUs)
	}
	for _, c := range []struct {
		seconds    int
		all, first string
		want       map[string]map[string]string
	}{
		{0, "100 0 100 800 0 0 0 0 0 0", "0 0 0 100 0 0 0 0", map[string]map[string]string{"ALL": {}, "0": {}}},
		{2, "150 0 100 850 0 0 0 0 0 0", "0 0 0 100 0 0 0 0", map[string]map[string]string{"ALL": {}, "0": {}}},
		{2, "150 0 100 900 50 0 0 0 0 0", "0 0 0 120 0 0 30 50",
			map[string]map[string]string{"ALL": {"instant": "25"}, "0": {"instant": "80"}}},
		{60, "150 50 200 1600 50 0 0 0 0 0", "0 0 0 120 0 0 30 50", map[string]map[string]string{
			"ALL": {"instant": "18", "avg": "19", "interval": "64000000000"}, "0": {"avg": "80", "interval": "64000000000"}}},
	} {
		if diff := cmp.Diff(c.want, read(c.seconds, c.all, c.first)); diff != "" {
			t.Errorf("after %d s (-want +got):\n%s", c.seconds, diff)
		}
	}
}
