package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/internal/netns"
)

// The traffic of the leaf-spine test: enough flows that each link carries some, and the time between packets of a flow.
const (
	spineFlows = 8
	spineGap   = 10 * time.Millisecond
	// spineLate is the time after which a packet counts as lost. spineWhole is the time without losses after which
	// traffic counts as complete.
	spineLate, spineWhole = 500 * time.Millisecond, time.Second
)

// A spineFlow is one flow of numbered packets.
type spineFlow struct {
	sent []time.Time // sending times, by packet number
	got  []bool
}

// spineTraffic sends flows from a host to others, until the test ends.
type spineTraffic struct {
	t     *testing.T
	end   chan struct{}
	ended sync.WaitGroup

	mu    sync.Mutex
	flows []*spineFlow
}

func newSpineTraffic(t *testing.T) *spineTraffic {
	tr := &spineTraffic{t: t, end: make(chan struct{})}
	t.Cleanup(func() { close(tr.end); tr.ended.Wait() })
	return tr
}

// add starts flows from one host to an address of another.
func (tr *spineTraffic) add(from, to *netns.Namespace, addr string) {
	tr.t.Helper()
	at := &net.UDPAddr{IP: net.ParseIP(addr), Port: 7000}
	var in *net.UDPConn
	out := make([]*net.UDPConn, spineFlows)
	err := to.Do(func() (err error) { in, err = net.ListenUDP("udp", at); return err })
	for i := range out {
		if err == nil {
			err = from.Do(func() (err error) { out[i], err = net.ListenUDP("udp", nil); return err })
		}
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	if raw, err := in.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) })
	}
	tr.mu.Lock()
	first := len(tr.flows)
	for range out {
		tr.flows = append(tr.flows, &spineFlow{})
	}
	tr.mu.Unlock()
	tr.ended.Go(func() { tr.receive(in) })
	tr.ended.Go(func() {
		defer in.Close()
		tick := time.NewTicker(spineGap)
		defer tick.Stop()
		for {
			select {
			case <-tr.end:
				return
			case <-tick.C:
			}
			for i, c := range out {
				_, _ = c.WriteToUDP(tr.next(first+i), at) // error ignored: without a route the packet is lost
			}
		}
	})
}

// next returns the next packet of a flow.
func (tr *spineTraffic) next(flow int) []byte {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	f := tr.flows[flow]
	b := make([]byte, 100)
	binary.BigEndian.PutUint32(b, uint32(flow))
	binary.BigEndian.PutUint64(b[4:], uint64(len(f.sent)))
	f.sent, f.got = append(f.sent, time.Now()), append(f.got, false)
	return b
}

func (tr *spineTraffic) receive(in *net.UDPConn) {
	b := make([]byte, 2048)
	for {
		n, err := in.Read(b)
		if err != nil {
			return
		}
		if n != 100 {
			tr.t.Errorf("a packet of %d bytes", n)
			continue
		}
		tr.mu.Lock()
		tr.flows[binary.BigEndian.Uint32(b)].got[binary.BigEndian.Uint64(b[4:])] = true
		tr.mu.Unlock()
	}
}

// since returns how many packets sent after a time have been lost, and the longest time for which a flow lost all
// packets. whole reports whether nothing was lost within the last spineWhole.
func (tr *spineTraffic) since(began time.Time) (lost int, longest time.Duration, whole bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	late := time.Now().Add(-spineLate)
	whole = late.Add(-spineWhole).After(began)
	for _, f := range tr.flows {
		before := began // time at which the last received packet was sent
		for i, at := range f.sent {
			switch {
			case at.Before(began) || at.After(late):
			case f.got[i]:
				before = at
			default:
				lost++
				longest = max(longest, at.Sub(before))
				whole = whole && at.Before(late.Add(-spineWhole))
			}
		}
	}
	return lost, longest, whole
}

// await lets flows send for a while.
func (tr *spineTraffic) await(d time.Duration) {
	select {
	case <-time.After(d):
	case <-tr.t.Context().Done():
	}
}

// cost describes the losses of the traffic since a time.
func (tr *spineTraffic) cost(began time.Time) string {
	lost, longest, _ := tr.since(began)
	return fmt.Sprintf("%d packets lost, a flow for at most %s", lost, longest.Round(time.Millisecond))
}
