package wire

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/internal/netns"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A rig is a chip with ports Ethernet0 and Ethernet1 in one VLAN, up, and wired to the interfaces eth0 and eth1 of a
// namespace. Their peers are the interfaces "host" of two hosts.
type rig struct {
	chip  *saisim.Chip
	place *netns.Namespace
	hosts [2]*netns.Namespace
	ports chan []Port // states of the ports, one entry for each look
	oids  sai.OIDs
	links chan sai.PortState // link states that the chip reports

	follow *Links // nil means that interfaces do not follow ports
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{ports: make(chan []Port), links: make(chan sai.PortState, 1000)}
	var err error
	if r.place, err = netns.New(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(r.place.Close)
	for i := range r.hosts {
		if r.hosts[i], err = netns.New(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(r.hosts[i].Close)
		name := []string{"eth0", "eth1"}[i]
		quiet := func() error { return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0) }
		_, _ = r.hosts[i].Do(quiet), r.place.Do(quiet) // an error means no IPv6, and then the host is quiet anyway
		if err := r.place.IP("link add "+name+" type veth peer name host netns "+r.hosts[i].Path(),
			"link set "+name+" up"); err != nil {
			t.Skip(err)
		}
		if err := r.hosts[i].IP("link set host up"); err != nil {
			t.Fatal(err)
		}
	}
	r.chip, r.oids = newChip(t, func(n sai.Notification) {
		if link, is := n.(sai.PortState); is {
			r.links <- link
		}
	})
	return r
}

// setMTU sets the longest frame of a port, with FCS.
func (r *rig) setMTU(t testing.TB, port, mtu int) {
	t.Helper()
	a := sai.Attr{ID: sai.PortAttrMTU, Value: sai.Uint(mtu)}
	if err := r.chip.Set(context.Background(), sai.Obj(sai.ObjectTypePort, r.oids[port]), a); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) stat(t testing.TB, port int, id sai.StatID) uint64 {
	t.Helper()
	n, err := r.chip.Stats(context.Background(), sai.Obj(sai.ObjectTypePort, r.oids[port]), []sai.StatID{id})
	if err != nil {
		t.Fatal(err)
	}
	return n[0]
}

func newChip(t testing.TB, notify func(sai.Notification)) (*saisim.Chip, sai.OIDs) {
	t.Helper()
	ctx := context.Background()
	chip, err := saisim.New(saisim.Config{
		Profile: profile.Default(), Start: time.Now().UTC(), Wired: map[string]bool{"Ethernet0": true, "Ethernet1": true},
		Notify: notify,
	})
	if err != nil {
		t.Fatal(err)
	}
	create := func(of sai.ObjectType, attrs ...sai.Attr) sai.OID {
		oid, err := chip.Create(ctx, of, attrs)
		if err != nil {
			t.Fatal(err)
		}
		return oid
	}
	sw := create(sai.ObjectTypeSwitch, sai.Attr{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)},
		sai.Attr{ID: sai.SwitchAttrPortStateChangeNotify, Value: sai.Pointer(1)})
	got, err := chip.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(sai.SwitchAttrPortList, 64)})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"Ethernet0", "Ethernet1"} {
		port := got[0].Value.(sai.OIDs)[i]
		create(sai.ObjectTypeHostif, sai.Attr{ID: sai.HostifAttrType, Value: sai.HostifTypeNetdev},
			sai.Attr{ID: sai.HostifAttrObjID, Value: port}, sai.Attr{ID: sai.HostifAttrName, Value: sai.Text(name)})
		err := chip.Set(ctx, sai.Obj(sai.ObjectTypePort, port), sai.Attr{ID: sai.PortAttrAdminState, Value: sai.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
	}
	return chip, got[0].Value.(sai.OIDs)
}

// run wires the chip until the test ends, and returns when both links are up.
func (r *rig) run(t testing.TB) {
	t.Helper()
	r.start(t)
	for p := range r.ports {
		if p[0].Up && p[1].Up {
			return
		}
	}
}

// start wires the chip until the test ends, or end is called.
func (r *rig) start(t testing.TB) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	started := time.Now()
	go func() {
		ended <- r.place.Do(func() error {
			return Run(ctx, Config{
				Chip: r.chip, Start: started, Wires: map[string]string{"Ethernet0": "eth0", "Ethernet1": "eth1"},
				Log: slog.New(slog.DiscardHandler), Links: r.follow,
				Look: func(p []Port) {
					select {
					case r.ports <- p:
					default:
					}
				},
			})
		})
	}()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// sendTo sends frames from a host as fast as possible.
func (r *rig) sendTo(t testing.TB, host int, frame []byte, count int) {
	t.Helper()
	fd, err := r.hosts[host].Socket("host", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for i := 0; i < count; {
		switch _, err := unix.Write(fd, frame); err {
		case nil:
			i++
		case unix.ENOBUFS, unix.EINTR: // the host has not sent it
		default:
			t.Fatal(err)
		}
	}
}

// BenchmarkWires measures frames of 64 bytes from one host to the other, including the sending. It reports how many
// arrived.
func BenchmarkWires(b *testing.B) {
	r := newRig(b)
	r.run(b)
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 46)...)
	before, _, err := r.hosts[1].Counts("host")
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	r.sendTo(b, 0, frame, b.N)
	b.StopTimer()
	after, _, err := r.hosts[1].Counts("host")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(after-before)/float64(b.N), "arrived/op")
}

// wait returns the state of a port once it fulfils a condition.
func (r *rig) wait(t testing.TB, port int, ok func(Port) bool) Port {
	t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case p := <-r.ports:
			if ok(p[port]) {
				return p[port]
			}
		case <-end:
			t.Fatal("not within a minute")
		}
	}
}

// A frame longer than a slot of the ring is received whole. If the egress interface has a smaller MTU, the frame is
// lost there, and the reason is counted. The chip's port counts an output error.
func TestLongFrames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.place.IP("link set eth0 mtu 9000"); err != nil {
		t.Fatal(err)
	}
	if err := r.hosts[0].IP("link set host mtu 9000"); err != nil {
		t.Fatal(err)
	}
	r.setMTU(t, 0, 9122)
	r.setMTU(t, 1, 9122)
	r.run(t)
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 8000)...)
	r.sendTo(t, 0, frame, 3)
	in := r.wait(t, 0, func(p Port) bool { return p.Received == 3 })
	out := r.wait(t, 1, func(p Port) bool { return p.Lost[ExceedsMTU] == 3 })
	if in.Lost != [NumLosses]uint64{} || out.Sent != 0 {
		t.Errorf("in %+v, out %+v", in, out)
	}
	if n, _ := r.chip.PortCounters(r.chip.Ports()[1]); n.Sent != 3 {
		t.Errorf("the chip sent %d", n.Sent)
	}
	if n := r.stat(t, 1, sai.PortStatIfOutErrors); n != 3 {
		t.Errorf("IF_OUT_ERRORS is %d", n)
	}
}

// TCP segments longer than the MTU are not joined. The kernel would accept the joined frame, although it rejects each
// segment.
func TestSegmentsBeyondMTU(t *testing.T) {
	const payload = 8000
	for _, c := range []struct{ tags, mtu, messages int }{
		{0, payload + 40, 1}, {0, payload + 39, 2}, {1, payload + 40, 1}, {1, payload + 39, 2}, {2, payload + 44, 1},
		{2, payload + 43, 2}, {0, 0, 2}, // unknown MTU
	} {
		uncutFrame := sample{tags: c.tags, payload: make([]byte, 2*payload)}.frame(t)
		s := sender{mtu: c.mtu}
		for _, piece := range split(t, uncut(t, uncutFrame, payload), uncutFrame) {
			s.queue(piece)
		}
		if len(s.frames) != c.messages {
			t.Errorf("%+v: %d messages", c, len(s.frames))
		}
	}
}

// If joined segments are not sent, each segment counts as lost, and nothing else does.
func TestJoinedAndLost(t *testing.T) {
	s, err := openSocket("Ethernet0", "none", leastRing)
	if err != nil {
		t.Skip(err)
	}
	defer s.close()
	s.send.mtu = 1500
	l := &line{socket: s}
	whole := sample{payload: make([]byte, 3000)}.frame(t)
	for _, piece := range split(t, uncut(t, whole, 1000), whole) {
		s.send.queue(piece)
	}
	p := pump{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	p.flush(l)
	want := Counters{}
	want.Lost[LinkDown] = 3
	if l.Counters != want {
		t.Errorf("%+v", l.Counters)
	}
}

// Linux reports frames as sent for an interface that has lost its carrier. They count as lost, and the link is
// checked immediately.
func TestNoCarrier(t *testing.T) {
	r := newRig(t)
	l := &line{}
	err := r.place.Do(func() (err error) {
		if l.socket, err = openSocket("Ethernet1", "eth1", leastRing); err == nil {
			t.Cleanup(l.close)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	untilCarrier(t, l, true)
	if err := r.place.Do(func() error { _, err := l.look(); return err }); err != nil {
		t.Fatal(err)
	}
	p := &pump{Config: Config{Log: slog.New(slog.DiscardHandler)}, looked: time.Now()}
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 50)...)
	l.send.queue(frame)
	p.flush(l)
	if l.Sent != 1 || l.Lost != [NumLosses]uint64{} || p.looked.IsZero() {
		t.Fatalf("while the link is up: %+v", l.Counters)
	}
	if err := r.hosts[1].IP("link set host down"); err != nil {
		t.Fatal(err)
	}
	untilCarrier(t, l, false)
	for range 3 {
		l.send.queue(frame)
	}
	p.flush(l)
	if l.Sent != 1 || l.Lost[LinkDown] != 3 || l.unsent != 3 || !p.looked.IsZero() {
		t.Errorf("%+v, of which the chip is told %d", l.Counters, l.unsent)
	}
}

// untilCarrier waits until the interface of a line has a carrier, or has none if want is false. The kernel notices a
// change with a delay.
func untilCarrier(t *testing.T, l *line, want bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); running(l.fd, l.ask) != want; {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("carrier: %v after a minute, want %v", !want, want)
		}
	}
}

// BenchmarkTCP measures 64 KiB of TCP from one host to the other, uncut as Linux sends them.
func BenchmarkTCP(b *testing.B) {
	r := newRig(b)
	r.setMTU(b, 0, 9122)
	r.setMTU(b, 1, 9122)
	r.run(b)
	for i, host := range r.hosts {
		if err := host.IP("addr add 10.9.0." + strconv.Itoa(i+1) + "/24 dev host"); err != nil {
			b.Fatal(err)
		}
	}
	var l net.Listener
	var c net.Conn
	if err := r.hosts[1].Do(func() (err error) { l, err = net.Listen("tcp4", "10.9.0.2:0"); return err }); err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 1<<20))
		}
		done <- err
	}()
	err := r.hosts[0].Do(func() (err error) { c, err = net.Dial("tcp4", l.Addr().String()); return err })
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 1<<16)
	b.SetBytes(1 << 16)
	used := processorTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := c.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(processorTime(b)-used)/float64(b.N), "cpu-ns/op")
}

// processorTime returns the processor time that this process has used, on all cores together.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
