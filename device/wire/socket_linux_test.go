package wire

import (
	"bytes"
	"log/slog"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/internal/netns"
)

// testFrame returns a frame of the experimental EtherType, with mark in each byte of the payload.
func testFrame(mark byte, payload int) []byte {
	return append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, bytes.Repeat([]byte{mark}, payload)...)
}

// waitReady returns when the ring has a frame.
func waitReady(t *testing.T, s *socket) {
	t.Helper()
	for !s.ready() {
		polls := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(polls, 60_000); n == 0 || err != nil && err != unix.EINTR {
			t.Fatalf("no frame within a minute: %v", err)
		}
	}
}

// An interface that moves to another network namespace and back has its old index, and its frames are received.
func TestInterfaceComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	elsewhere, err := netns.New() // without interfaces, so the index stays free
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	if err := r.place.IP("link set eth0 netns " + elsewhere.Path()); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0, func(p Port) bool { return !p.There })
	if err := elsewhere.IP("link set eth0 netns " + r.place.Path()); err != nil {
		t.Fatal(err)
	}
	if err := r.place.IP("link set eth0 up"); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0, func(p Port) bool { return p.Up })
	r.sendTo(t, 0, testFrame(1, 46), 3)
	in := r.wait(t, 0, func(p Port) bool { return p.Received == 3 })
	if in.Lost != [NumLosses]uint64{} {
		t.Errorf("in %+v", in)
	}
}

// A long frame that is read after its link is down belongs to its slot, and so do the frames after it.
func TestLongFrameBeforeLinkDown(t *testing.T) {
	r := newRig(t)
	var s *socket
	err := r.place.Do(func() (err error) { s, err = openSocket("Ethernet0", "eth0", leastRing); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if is, err := s.look(); err != nil || !is.up {
		t.Fatalf("%+v, %v", is, err)
	}
	if err := r.place.IP("link set eth0 mtu 9000"); err != nil {
		t.Fatal(err)
	}
	if err := r.hosts[0].IP("link set host mtu 9000"); err != nil {
		t.Fatal(err)
	}
	receive := func(mark byte) {
		t.Helper()
		waitReady(t, s)
		var f received
		if err := s.receive(&f); err != nil || !bytes.Equal(f.data, testFrame(mark, 8000)) {
			t.Errorf("frame %d: %v, %d bytes, the last is %d", mark, err, len(f.data), f.data[max(0, len(f.data)-1)])
		}
		s.release()
	}
	r.sendTo(t, 0, testFrame(1, 8000), 1)
	r.sendTo(t, 0, testFrame(2, 8000), 1)
	if err := r.place.IP("link set eth0 down", "link set eth0 up"); err != nil {
		t.Fatal(err)
	}
	receive(1)
	receive(2)
	r.sendTo(t, 0, testFrame(3, 8000), 1)
	receive(3)
}

// A frame for which the kernel has no offload header, such as UDP to be fragmented, from a virtual machine, stops
// Linux' ring permanently. The switch detects that, counts the losses and continues.
func TestStuckRing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var tap *os.File
	err := r.place.Do(func() (err error) { tap, err = openTap("eth9"); return err })
	if err != nil {
		t.Skip(err)
	}
	defer tap.Close()
	if err := r.place.IP("link del eth0", "link set eth9 name eth0", "link set eth0 up"); err != nil {
		t.Fatal(err)
	}
	r.run(t)
	write := func(o offload, frame []byte) {
		t.Helper()
		b := make([]byte, offloadBytes)
		o.put(b)
		if _, err := tap.Write(append(b, frame...)); err != nil {
			t.Fatal(err)
		}
	}
	const gsoFragments = 3
	long := sample{udp: true, payload: make([]byte, 3000)}.frame(t)
	write(offload{flags: needsSum, gso: gsoFragments, size: 1480, sumStart: 34, sumOffset: udpSum}, long)
	r.wait(t, 0, func(p Port) bool { return p.Lost[Malformed] == 1 })
	write(offload{}, testFrame(1, 46))
	in := r.wait(t, 0, func(p Port) bool { return p.Received == 1 })
	if in.Lost[RingFull] != 0 {
		t.Errorf("in %+v", in)
	}
}

// If a host requests very small pieces, its turn is not longer than other turns.
func TestTinyPieces(t *testing.T) {
	const frames, payload = 8, 32_000
	r := newRig(t)
	var tap *os.File
	var s *socket
	err := r.place.Do(func() (err error) {
		if tap, err = openTap("eth9"); err == nil {
			s, err = openSocket("Ethernet9", "eth9", leastRing)
		}
		return err
	})
	if err != nil {
		t.Skip(err)
	}
	defer tap.Close()
	defer s.close()
	if err := r.place.IP("link set eth9 up"); err != nil {
		t.Fatal(err)
	}
	if is, err := s.look(); err != nil || !is.up {
		t.Fatalf("%+v, %v", is, err)
	}
	whole := sample{payload: make([]byte, payload)}.frame(t)
	load := make([]byte, offloadBytes)
	uncut(t, whole, 8).put(load)
	for range frames {
		if _, err := tap.Write(append(load, whole...)); err != nil {
			t.Fatal(err)
		}
	}
	l := &line{Port: Port{Name: "Ethernet0"}, socket: s}
	p := pump{Config: Config{Chip: r.chip, Start: time.Now(), Log: slog.New(slog.DiscardHandler)}, lines: []*line{l}}
	for l.Cut < frames {
		waitReady(t, s)
		before := l.Received + l.Lost[Refused]
		p.pieces, p.lengths = nil, nil
		p.now = time.Now()
		p.collect(l)
		p.deliver()
		l.release()
		if n := l.Received + l.Lost[Refused] - before; n == 0 || n > mostPieces/60+maxPieces {
			t.Fatalf("%d frames in a turn", n)
		}
	}
	if n := l.Received + l.Lost[Refused]; n != frames*payload/8 {
		t.Errorf("%+v", l.Counters)
	}
}

// A frame that arrives during a turn enters at the kernel's time. The start of the turn would be before the frame was
// sent.
func TestArrivesWhenItCame(t *testing.T) {
	r := newRig(t)
	l := &line{Port: Port{Name: "Ethernet0"}}
	err := r.place.Do(func() (err error) {
		if l.socket, err = openSocket("Ethernet0", "eth0", leastRing); err == nil {
			t.Cleanup(l.close)
			_, err = l.look()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p := pump{Config: Config{Chip: r.chip, Start: start}, lines: []*line{l}, now: start}
	before := time.Now()
	r.sendTo(t, 0, testFrame(1, 46), 1)
	waitReady(t, l.socket)
	p.collect(l)
	after := time.Now()
	at := r.chip.TrueTime(l.frames[0].At).Sub(r.chip.TrueTime(0))
	if at < before.Sub(start) || at > after.Sub(start) || p.now.After(after) {
		t.Errorf("it arrived after %s, and was sent between %s and %s", at, before.Sub(start), after.Sub(start))
	}
}

// After some time without processor time, there are more frames than a turn handles, and work for the CPU port. No
// frame is delayed, because the chip's time advances only up to the waiting frames.
func TestArrivesWhenItCameInABacklog(t *testing.T) {
	r := newRig(t)
	l := &line{Port: Port{Name: "Ethernet0"}}
	err := r.place.Do(func() (err error) {
		if l.socket, err = openSocket("Ethernet0", "eth0", leastRing); err == nil {
			t.Cleanup(l.close)
			_, err = l.look()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const frames = batch + 100
	p := pump{
		Config: Config{Chip: r.chip, Start: time.Now(), Log: slog.New(slog.DiscardHandler)},
		lines:  []*line{l}, calls: make(chan func(), 1),
	}
	p.look(p.Start)
	called := 0
	p.calls <- func() { called++ }
	r.sendTo(t, 0, testFrame(1, 46), batch)
	for sent := time.Now(); time.Since(sent) < 2*time.Millisecond; { // the next frame has a different time
	}
	r.sendTo(t, 0, testFrame(1, 46), frames-batch)
	for waitReady(t, l.socket); l.Received+l.Lost[Refused]+l.Lost[NoPort] < batch; {
		p.turn(time.Now())
	}
	p.turn(time.Now())
	if n := l.Received + l.Lost[Refused] + l.Lost[NoPort]; n != frames || called != 1 || l.Late > time.Millisecond {
		t.Errorf("of %d frames %d came, the latest %v late; %d calls, want 1", frames, n, l.Late, called)
	}
}

// openTap makes an interface that receives the frames written to the file, each after an offload header.
func openTap(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	ask, err := unix.NewIfreq(name)
	if err == nil {
		ask.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ask)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
