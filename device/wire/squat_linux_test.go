package wire

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tamtam/internal/randtest"
)

// names binds names of Unix sockets in the switch's namespace; free releases them.
func (r *rig) names(t *testing.T, names ...string) (free func()) {
	t.Helper()
	var fds []int
	free = func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
		fds = nil
	}
	t.Cleanup(func() { free() })
	err := r.place.Do(func() error {
		for _, name := range names {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			fds = append(fds, fd)
			if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// A process that has an interface's name but is not a switch keeps the port down with a readable reason, whatever its
// name. The other ports work, and the port is up when the name is free.
func TestSquattedClaim(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lock := claimPrefix(r.index(t, "eth0"))
	free := r.names(t, lock, lock+"/\x1b[2J\x07process 1\x7f\xff of no host")
	r.start(t)
	p := r.wait(t, 0, func(p Port) bool { return p.Taken })
	if want := "interface eth0 is taken by [2Jprocess 1 of no host"; p.Up || p.Reason != want {
		t.Errorf("%+v, want %q", p, want)
	}
	r.wait(t, 1, func(p Port) bool { return p.Up })
	r.sendTo(t, 1, testFrame(1, 46), 3)
	r.wait(t, 1, func(p Port) bool { return p.Received == 3 })
	free()
	r.wait(t, 0, func(p Port) bool { return p.Up && !p.Taken && p.Reason == "" })
}

// A rejected claim leaves nothing open, however often it is tried, and among any number of names.
func TestClaimRefused(t *testing.T) {
	r := newRig(t)
	index := r.index(t, "eth0")
	lock := claimPrefix(index)
	all := []string{lock, lock + "/\x01"}
	for i := range 100 {
		all = append(all, fmt.Sprintf("%s%d/%s", lock, i, strings.Repeat("\x1b", 80)))
	}
	r.names(t, all...)
	err := r.place.Do(func() error {
		files := openFiles(t)
		for range 100 {
			_, err := claimInterface("eth0", index, "Ethernet0")
			if want := "interface eth0 is taken by " + unsigned(index); err == nil || err.Error() != want {
				return fmt.Errorf("%w, want %s", err, want)
			}
		}
		if now := openFiles(t); now != files {
			t.Errorf("%d files are open, %d were", now, files)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// No process can send to the sockets of a claim, or connect to them, so no data can pile up in the kernel.
func TestNothingIsSentToAClaim(t *testing.T) {
	r := newRig(t)
	index := r.index(t, "eth0")
	err := r.place.Do(func() error {
		c, err := claimInterface("eth0", index, "Ethernet0")
		if err != nil {
			return err
		}
		defer c.release()
		to := &unix.SockaddrUnix{Name: claimPrefix(index)}
		for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
			fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if kind != unix.SOCK_DGRAM {
				if err := unix.Connect(fd, to); err == nil {
					t.Errorf("somebody has connected with a socket of type %d", kind)
				}
			} else if err := unix.Sendto(fd, make([]byte, 1000), 0, to); err != unix.EPIPE {
				t.Errorf("a datagram: %v, want %v", err, unix.EPIPE)
			}
		}
		_, err = claimInterface("eth0", index, "Ethernet4")
		if want := fmt.Sprintf("process %d of ", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "Ethernet0") {
			t.Errorf("a second claim: %v, want %s...", err, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// All processes that claim to have an interface are named, up to a limit. A list of sockets may have any content.
func TestHolders(t *testing.T) {
	line := func(name string) string {
		return "0000000000000000: 00000002 00000000 00000000 0002 01 12345 " + name + "\n"
	}
	for _, tt := range []struct{ list, want string }{
		{"", unsigned(7)},
		{line("@tamtam-wire/7") + line("/run/x"), unsigned(7)},
		{line("@tamtam-wire/7/a") + line("@tamtam-wire/71/b") + line("@tamtam-wire/7/a"), "a"},
		{line("@tamtam-wire/7/a") + line("@tamtam-wire/7/b"), "a, or by b"},
		{line("@tamtam-wire/7/a") + line("@tamtam-wire/7/b") + line("@tamtam-wire/7/c") + line("@tamtam-wire/7/d"),
			"a, or by b, or by c"},
		{line("/tmp/@tamtam-wire/7/a"), unsigned(7)},
		{line(strings.Repeat("x", 1<<17)) + line("@tamtam-wire/7/a"), unsigned(7)},
	} {
		if got := holderIn(strings.NewReader(tt.list), 7); got != tt.want {
			t.Errorf("%.100q: %q, want %q", tt.list, got, tt.want)
		}
	}
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var list strings.Builder
		for range 50 {
			b := []byte(line("@tamtam-wire/7/some process"))
			for range rng.IntN(8) {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
			list.Write(b[:rng.IntN(len(b)+1)])
		}
		got := holderIn(strings.NewReader(list.String()), 7)
		if len(got) > mostHolders*(mostName+8) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q", got)
		}
	})
}
