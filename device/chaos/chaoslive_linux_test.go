package chaos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/device/devicetest"
	"tamtam/device/wire"
	"tamtam/internal/netns"
	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/altmark"
)

// A liveTraffic is two hosts behind live interfaces of a switch. One sends frames of both sessions, one per
// millisecond for each, and the other reports their fates.
type liveTraffic struct {
	*testing.T
	dir   string
	wires map[string]string
	hosts [2]*netns.Namespace

	mu   sync.Mutex
	sent uint64 // number of frames sent for both sessions
	traffic
}

// liveMark begins the payload of frames; the time of sending follows.
const liveMark = "tamtam live "

func newLiveTraffic(t *testing.T, dir string) *liveTraffic {
	t.Helper()
	l := &liveTraffic{T: t, dir: dir, wires: map[string]string{}, traffic: traffic{Marked: map[uint64]uint64{}}}
	for i, port := range []string{"Ethernet4", "Ethernet5"} {
		var err error
		if l.hosts[i], err = netns.New(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(l.hosts[i].Close)
		name := fmt.Sprintf("tt%d-%d", os.Getpid()%1_000_000, i)
		_ = l.hosts[i].Do(func() error { // an error means no IPv6, and then the host is quiet anyway
			return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
		})
		ip := func(args string) {
			if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %s", args, out)
			}
		}
		// The largest frame of a port fits the wire, so the ASIC is the same as without a wire.
		ip("link add " + name + " mtu 9216 type veth peer name host mtu 9216 netns " + l.hosts[i].Path())
		// The namespace would remove the interface only later, and the next case uses the same name.
		t.Cleanup(func() { ip("link delete " + name) })
		ip("link set " + name + " up")
		devicetest.NoError(t, l.hosts[i].IP("link set host up"))
		l.wires[port] = name
	}
	return l
}

// socket opens a raw socket on a host's interface.
func (l *liveTraffic) socket(host int, protocol uint16) (fd int) {
	l.Helper()
	fd, err := l.hosts[host].Socket("host", protocol)
	if err != nil {
		l.Fatal(err)
	}
	for _, err := range []error{
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}),
	} {
		if err != nil {
			l.Fatal(err)
		}
	}
	return fd
}

// start sends and receives until the test ends.
func (l *liveTraffic) start() {
	out, in := l.socket(0, 0), l.socket(1, unix.ETH_P_ALL)
	stop, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() { l.send(out, stop) })
	ended.Go(func() { l.receive(in, stop) })
	l.Cleanup(func() {
		close(stop)
		ended.Wait()
		unix.Close(out)
		unix.Close(in)
	})
}

func (l *liveTraffic) send(fd int, stop chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	frames := [][]byte{trafficFrame(172, 16), trafficFrame(172, 17)}
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if _, err := os.Stat(filepath.Join(l.dir, quietFile)); err == nil {
			continue
		}
		for _, f := range frames {
			at := len(f) - 40
			copy(f[at:], liveMark)
			binary.BigEndian.PutUint64(f[at+len(liveMark):], uint64(time.Now().UnixNano()))
			copy(f[14+20+6:], []byte{0, 0}) // zero means no UDP checksum
			l.mu.Lock()
			_, err := unix.Write(fd, f)
			if err == nil {
				l.sent++
			}
			l.mu.Unlock()
			if err != nil && err != unix.ENOBUFS && err != unix.EINTR {
				l.Errorf("a host cannot send: %v", err)
				return
			}
		}
	}
}

func (l *liveTraffic) receive(fd int, stop chan struct{}) {
	buf := make([]byte, 2048)
	for {
		n, err := unix.Read(fd, buf)
		if err == nil {
			l.came(buf[:n])
			continue
		}
		if err != unix.EAGAIN && err != unix.EINTR {
			l.Errorf("a host cannot receive: %v", err)
			return
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// came counts a received frame of the test.
func (l *liveTraffic) came(frame []byte) {
	at := bytes.Index(frame, []byte(liveMark))
	if at < 0 || len(frame) < at+len(liveMark)+8 {
		return // a frame of the kernel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if frame[14+13] == 17 { // source 172.17.0.1: session "marked"
		l.Marked[l.period(frame, int64(binary.BigEndian.Uint64(frame[at+len(liveMark):])))]++
		return
	}
	l.Kept++
	records, _ := tailstamp.Decode(frame)
	switch now := time.Now().UTC().Format("15:04:05.000"); {
	case len(records) > 0:
		l.Stamped++
	case l.Stamped > 0:
		if l.Bare == 0 {
			l.BareAt = now
		}
		l.Bare++
		l.BareAt = l.BareAt[:12] + " to " + now
	}
}

// period returns the period in which a frame was marked. It is the period near the time of sending that has the frame's
// colour.
func (l *liveTraffic) period(frame []byte, sent int64) uint64 {
	at := altmark.At(time.Unix(0, sent))
	k, colour := keptInterval.Period(at), uint64(frame[14+6]>>7)
	if k&1 == colour {
		return k
	}
	return k + 1 // it crossed the end of a period in flight
}

func (l *liveTraffic) now() traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.traffic
	t.Marked = map[uint64]uint64{}
	for k, n := range l.Marked {
		t.Marked[k] = n
	}
	return t
}

// account waits until the switch has counted every sent frame as received or lost.
func (l *liveTraffic) account(c trafficChaos) {
	c.Helper()
	l.mu.Lock()
	sent := l.sent
	l.mu.Unlock()
	c.until("the switch has all frames that were sent", func() bool {
		received, lost := cameIn(c.liveSwitch.row(swss.StateDB, schema.StateWire, "Ethernet4"))
		if received+lost > sent {
			c.Fatalf("of %d frames that were sent the switch has %d, and lost %d", sent, received, lost)
		}
		return received+lost == sent
	})
}

// cameIn returns the number of frames that arrived at a wire, including lost ones, and the number of lost ones.
func cameIn(row swss.FieldValues) (n, lost uint64) {
	n, _ = strconv.ParseUint(row[schema.WireReceived], 10, 64)
	for why := range wire.ExceedsMTU {
		v, _ := strconv.ParseUint(row[schema.WireLost+why.String()], 10, 64)
		lost += v
	}
	return n, lost
}

// TestChaosUnderLiveTraffic extends [TestChaosUnderTraffic] to frames that live interfaces carry between two hosts.
// In addition, the switch has received each frame that a host has sent, or has counted it as lost.
func TestChaosUnderLiveTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("processes: nothing for the race detector")
	}
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		dir := t.ArtifactDir()
		l := newLiveTraffic(t, dir)
		server := swsstest.StartServer(t, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
		wires := fmt.Sprintf("%s=Ethernet4=%s Ethernet5=%s", wiresVariable, l.wires["Ethernet4"], l.wires["Ethernet5"])
		c := trafficChaos{startChaos(t, server, rand.New(rand.NewPCG(seed, 8)), wires), l}
		for key, row := range keptRows() {
			c.want[key] = row
		}
		c.mend()
		c.steady()
		up := func() bool {
			a, b := c.liveSwitch.row(swss.StateDB, schema.StateWire, "Ethernet4"),
				c.liveSwitch.row(swss.StateDB, schema.StateWire, "Ethernet5")
			return a[schema.WireStatus] == schema.WireUp && b[schema.WireStatus] == schema.WireUp
		}
		c.until("the wires are up", up)
		l.start()
		c.goThrough(2)
	})
}
