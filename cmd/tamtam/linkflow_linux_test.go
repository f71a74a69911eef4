package main

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/tam/altmark"
)

const (
	flowGap = 2 * time.Millisecond // time between packets of a flow
	// flowPause is the time before and after the end of a period in which nothing is sent. So the period of each
	// packet, lost or not, is certain.
	flowPause = 50 * time.Millisecond
)

// A cutFlow is a flow of numbered packets, with the records of both hosts.
type cutFlow struct {
	t     *testing.T
	end   chan struct{}
	ended sync.WaitGroup

	mu        sync.Mutex
	sent      []uint64          // the period of each packet
	received  map[uint64]string // error of each packet's mark, by number; "" means that the mark is right
	twice     int
	uncertain map[uint64]bool // set of periods in which the sender was not on time
}

// startFlow sends from the first host to the second.
func (n *cutNet) startFlow() *cutFlow { return n.startFlowTo("10.2.0.2") }

func (n *cutNet) startFlowTo(addr string) *cutFlow {
	f := &cutFlow{t: n.t, end: make(chan struct{}), received: map[uint64]string{}, uncertain: map[uint64]bool{}}
	to := &net.UDPAddr{IP: net.ParseIP(addr), Port: 7000}
	var in, out *net.UDPConn
	err := n.hosts[1].Do(func() (err error) { in, err = net.ListenUDP("udp", to); return err })
	if err == nil {
		err = n.hosts[0].Do(func() (err error) { out, err = net.DialUDP("udp", nil, to); return err })
	}
	if err != nil {
		n.t.Fatal(err)
	}
	if err := prepareReceiver(in, to.IP.To4() == nil); err != nil {
		n.t.Fatal(err)
	}
	f.ended.Go(func() { f.send(out) })
	received := make(chan struct{})
	go func() { defer close(received); f.receive(in) }()
	n.t.Cleanup(func() { f.stop(); in.Close(); <-received; out.Close() })
	return f
}

// prepareReceiver enlarges the receive buffer for times when no goroutine reads. It also enables reception of the field
// with the marks.
func prepareReceiver(c *net.UDPConn, v6 bool) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20)
		level, option := unix.IPPROTO_IP, unix.IP_RECVTOS
		if v6 {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS
		}
		if failed == nil {
			failed = unix.SetsockoptInt(int(fd), level, option, 1)
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// send sends a packet every flowGap, but no packet near the end of a period.
func (f *cutFlow) send(c *net.UDPConn) {
	tick := time.NewTicker(flowGap)
	defer tick.Stop()
	b := make([]byte, 200)
	for {
		select {
		case <-f.end:
			return
		case <-tick.C:
		}
		k, ok := quiet(time.Now())
		if !ok {
			continue
		}
		f.mu.Lock()
		seq := uint64(len(f.sent))
		f.sent = append(f.sent, k)
		f.mu.Unlock()
		binary.BigEndian.PutUint64(b, seq)
		binary.BigEndian.PutUint64(b[8:], k)
		if _, err := c.Write(b); err != nil {
			f.t.Errorf("the flow's packet %d: %v", seq, err)
			return
		}
		if after := cutInterval.Period(altmark.At(time.Now())); after != k {
			f.mu.Lock()
			f.uncertain[k], f.uncertain[after] = true, true
			f.mu.Unlock()
		}
	}
}

// quiet returns the period of t, and whether t is far from both ends of the period.
func quiet(t time.Time) (uint64, bool) {
	k := cutInterval.Period(altmark.At(t))
	before, after := cutInterval.Period(altmark.At(t.Add(-flowPause))), cutInterval.Period(altmark.At(t.Add(flowPause)))
	return k, before == k && after == k
}

// receive records received packets until the socket is closed.
func (f *cutFlow) receive(c *net.UDPConn) {
	b, oob := make([]byte, 2048), make([]byte, 256)
	for {
		n, oobn, _, _, err := c.ReadMsgUDP(b, oob)
		if err != nil {
			return
		}
		if n != 200 {
			f.t.Errorf("a packet of %d bytes", n)
			continue
		}
		seq, k, wrong := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), ""
		if tos, err := tosOf(oob[:oobn]); err != nil || uint64(tos>>2&1) != k&1 {
			wrong = fmt.Sprintf("TOS %#x in period %d, %v", tos, k, err)
		}
		f.mu.Lock()
		if _, before := f.received[seq]; before {
			f.twice++
		}
		f.received[seq] = wrong
		f.mu.Unlock()
	}
}

func tosOf(oob []byte) (byte, error) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, err
	}
	for _, m := range msgs {
		if m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_TOS && len(m.Data) > 0 {
			return m.Data[0], nil
		}
		if m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_TCLASS && len(m.Data) >= 4 {
			return byte(binary.NativeEndian.Uint32(m.Data)), nil
		}
	}
	return 0, fmt.Errorf("no TOS")
}

// await waits for a number of periods.
func (f *cutFlow) await(periods int) {
	tick := time.NewTicker(cutInterval.Duration())
	defer tick.Stop()
	for range periods {
		<-tick.C
	}
}

// stop ends the sender.
func (f *cutFlow) stop() {
	select {
	case <-f.end:
	default:
		close(f.end)
	}
	f.ended.Wait()
}

// missing returns how many packets have not arrived. Some of them may still be in flight.
func (f *cutFlow) missing() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sent) - len(f.received)
}

// collect runs `tamtam collect` in the network of the first switch.
func (n *cutNet) collect() <-chan liveResult { return n.collectOf("flow") }

// collectOf does the same as collect for a given session.
func (n *cutNet) collectOf(session string) <-chan liveResult {
	file := filepath.Join(n.t.TempDir(), "paths.yaml")
	text := fmt.Sprintf(
		"paths: [{name: way, points: [{switch: s1, target: \"192.0.2.1:8080\", session: %[1]s}, {switch: s2, target: "+
			"\"192.0.2.2:8080\", session: %[1]s}]}]", session)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return readResults(n.t, exec.Command("ip", "netns", "exec", n.sides[0], os.Args[0], "collect", "--paths", file,
		"--insecure", "--format", "json"))
}

// A flowPeriod holds the hosts' counts of a period.
type flowPeriod struct{ sent, received uint64 }

// byPeriod groups the packets by period.
func (f *cutFlow) byPeriod() map[uint64]*flowPeriod {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[uint64]*flowPeriod{}
	for seq, k := range f.sent {
		p := all[k]
		if p == nil {
			p = &flowPeriod{}
			all[k] = p
		}
		p.sent++
		if wrong, ok := f.received[uint64(seq)]; ok {
			p.received++
			if wrong != "" {
				f.uncertain[k] = true
				f.t.Logf("packet %d came with a mark that is not of its period: %s", seq, wrong)
			}
		}
	}
	if f.twice > 0 {
		f.t.Errorf("%d packets came twice", f.twice)
	}
	return all
}

// compare compares the collector's periods with the numbers: an ok period must be exact. It returns the number of ok
// periods in which packets were lost.
func (f *cutFlow) compare(results <-chan liveResult) (lossy int) {
	f.t.Helper()
	truth := f.byPeriod()
	last := f.sent[len(f.sent)-1]
	said := map[uint64]liveResult{}
	deadline := time.After(30 * time.Second)
	for done := false; !done; {
		select {
		case r := <-results:
			said[r.Period] = r
			done = r.Period > last
		case <-deadline:
			f.t.Fatalf("no result of period %d", last+1)
		}
	}
	var exact, flagged, lost int
	var delays []time.Duration
	for _, k := range slices.Sorted(maps.Keys(truth)) {
		p := truth[k]
		r, ok := said[k]
		switch {
		case !ok:
			f.t.Logf("period %d: the hosts have %+v, no result: %s", k, *p, r.text)
		case r.Status != "ok":
			flagged++
			f.t.Logf("period %d: the hosts have %+v, flagged: %s", k, *p, r.text)
		case f.uncertain[k]:
			f.t.Logf("period %d cannot be checked: a packet was sent beyond its end, or came with another's mark", k)
		case r.Lost == nil || r.Sent != p.sent || r.Received != p.received || *r.Lost != int64(p.sent-p.received):
			f.t.Errorf("period %d is ok and wrong: the hosts have %+v, the switches %s", k, *p, r.text)
		default:
			exact++
			if r.Delay != nil {
				delays = append(delays, time.Duration(*r.Delay))
			}
			lost += int(p.sent - p.received)
			if p.sent != p.received {
				lossy++
			}
		}
	}
	f.t.Logf("alternate marking: %d periods are exact, %d of them with losses, %d packets; %d are flagged; %d packets "+
		"of the flow were lost in all",
		exact, lossy, lost, flagged, f.missing())
	if len(delays) == 0 || slices.Min(delays) < 0 { // both switches use this machine's clock, so none is negative
		f.t.Errorf("delays between the switches: %v", delays)
	} else {
		f.t.Logf("%d delays between the switches, %s to %s", len(delays), slices.Min(delays), slices.Max(delays))
	}
	return lossy
}
