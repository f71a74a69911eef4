package wire

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
)

// asSwitch makes the test binary another switch at eth0, which prints "up" when it has the interface.
const asSwitch = "TAMTAM_TEST_SWITCH"

func TestMain(m *testing.M) {
	if os.Getenv(asSwitch) == "" {
		os.Exit(m.Run())
	}
	chip, _ := newChip(&testing.B{}, func(sai.Notification) {})
	err := Run(context.Background(), Config{
		Chip: chip, Start: time.Now(), Wires: map[string]string{"Ethernet0": "eth0"}, Log: slog.New(slog.DiscardHandler),
		Look: func(p []Port) {
			if p[0].Up {
				fmt.Println("up")
			}
		},
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// If two switches use one interface, the second reports the holder, has a link that is down and receives no frame. It
// gets the interface when the first ends.
func TestTakenInterface(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := *r
	first.chip, first.oids = newChip(t, func(sai.Notification) {})
	first.ports = make(chan []Port)
	end := first.start(t)
	both := func(p Port) bool { return p.Up }
	first.wait(t, 0, both)
	first.wait(t, 1, both)
	r.start(t)
	p := r.wait(t, 0, func(p Port) bool { return p.Taken })
	host, _ := os.Hostname()
	want := fmt.Sprintf("interface eth0 is taken by process %d of %s, for its port Ethernet0", os.Getpid(), host)
	if p.Up || p.Reason != want {
		t.Errorf("%+v, want %q", p, want)
	}
	r.sendTo(t, 0, testFrame(1, 46), 3)
	first.wait(t, 0, func(p Port) bool { return p.Received == 3 })
	end()
	p = r.wait(t, 0, both)
	if p.Taken || p.Reason != "" || p.Received != 0 {
		t.Errorf("after the first has ended: %+v", p)
	}
	r.sendTo(t, 0, testFrame(2, 46), 1)
	r.wait(t, 0, func(p Port) bool { return p.Received == 1 })
}

// After a process is killed, the next process can claim the interface.
func TestTakenByAKilledProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), asSwitch+"=1")
	other.Stderr = os.Stderr
	said, err := other.StdoutPipe()
	if err == nil {
		err = r.place.Do(other.Start)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "up\n" {
		t.Fatalf("the first switch says %q, %v", line, err)
	}
	r.start(t)
	p := r.wait(t, 0, func(p Port) bool { return p.Taken })
	if want := fmt.Sprintf("taken by process %d of ", other.Process.Pid); !strings.Contains(p.Reason, want) {
		t.Errorf("%q, want %q", p.Reason, want)
	}
	r.wait(t, 1, func(p Port) bool { return p.Up && !p.Taken }) // no switch has claimed it
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0, func(p Port) bool { return p.Up && !p.Taken })
}

// The claim of a removed interface ends. Another interface that later gets its index can be claimed.
func TestClaimGoesWithTheInterface(t *testing.T) {
	r := newRig(t)
	end := r.start(t)
	r.wait(t, 0, func(p Port) bool { return p.Up })
	var index int
	place := func(lines ...string) {
		t.Helper()
		if err := r.place.IP(lines...); err != nil {
			t.Fatal(err)
		}
	}
	claimed := func() (by string) {
		err := r.place.Do(func() error {
			c, err := claimInterface("eth0", index, "Ethernet9")
			if err == nil {
				c.release()
				return nil
			}
			by = err.Error()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return by
	}
	index = r.index(t, "eth0")
	if by := claimed(); !strings.Contains(by, "for its port Ethernet0") {
		t.Fatalf("while the switch has it: %q", by)
	}
	place("link del eth0")
	r.wait(t, 0, func(p Port) bool { return !p.There })
	if by := claimed(); by != "" {
		t.Errorf("the interface is gone: %q", by)
	}
	index = r.index(t, "eth1")
	end()
	if by := claimed(); by != "" {
		t.Errorf("the switch has ended: %q", by)
	}
}

// A switch closes everything at its interfaces when it ends.
func TestNothingStaysOpen(t *testing.T) {
	r := newRig(t)
	open := func() int {
		t.Helper()
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	files, routines := open(), runtime.NumGoroutine()
	for range 3 {
		end := r.start(t)
		r.wait(t, 0, func(p Port) bool { return p.Up })
		end()
	}
	if now := open(); now != files {
		t.Errorf("%d files are open, %d were", now, files)
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > routines; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), routines)
		}
	}
}
