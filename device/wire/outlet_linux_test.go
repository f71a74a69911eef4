package wire

import (
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"tamtam/internal/randtest"
)

// Whether frames are sent by the pump or in parallel, they arrive in order, and each is counted as sent or as lost. The
// last thousand are lost, because the receiver's end is down.
func TestOutlet(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, testOutlet)
}

func testOutlet(t *testing.T, seed uint64) {
	const frames, short = 4000, 1000
	r := newRig(t)
	l := &line{}
	err := r.place.Do(func() (err error) {
		if l.socket, err = openSocket("Ethernet1", "eth1", leastRing); err == nil {
			_, err = l.look()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	in, err := r.hosts[1].Socket("host", unix.ETH_P_802_EX1)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(in)
	if err := unix.SetsockoptInt(in, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
		t.Fatal(err)
	}
	untilCarrier(t, l, true)
	p := &pump{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	rnd, beside := rand.New(rand.NewPCG(seed, 0)), 0
	for i := range frames {
		if i == frames-short {
			l.send.out.close() // sends all queued frames
			l.send.out = newOutlet(l.fd, *l.ask)
			if err := r.hosts[1].IP("link set host down"); err != nil {
				t.Fatal(err)
			}
		}
		frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 46+rnd.IntN(1400))...)
		binary.BigEndian.PutUint32(frame[14:], uint32(i))
		l.send.queue(frame)
		if l.send.full() || rnd.IntN(100) == 0 {
			p.flush(l)
		}
		if l.send.out.busy() {
			beside++
		}
	}
	p.flush(l)
	l.close()
	p.flush(l)
	arrived := uint64(0)
	for b := make([]byte, 2048); ; arrived++ {
		if _, _, err := unix.Recvfrom(in, b, unix.MSG_DONTWAIT); err == unix.ENETDOWN { // reported once
			arrived--
			continue
		} else if err != nil {
			break
		}
		if n := binary.BigEndian.Uint32(b[14:]); n != uint32(arrived) {
			t.Fatalf("frame %d came after %d others", n, arrived)
		}
	}
	lost := uint64(0)
	for _, n := range l.Lost {
		lost += n
	}
	if arrived == 0 || l.Sent < arrived || l.Sent+lost != frames {
		t.Errorf("%d arrived; %+v", arrived, l.Counters)
	}
	t.Logf("%d arrived, %+v; %d were queued while others were on their way", arrived, l.Counters, beside)
}

// However sender and outlet take turns, the same few buffers serve all parcels.
func TestParcelsAreReused(t *testing.T) {
	ask, err := unix.NewIfreq("none")
	if err != nil {
		t.Fatal(err)
	}
	o := newOutlet(-1, *ask) // which sends nothing
	p, seen := parcel{}, map[*byte]bool{}
	for range 20_000 {
		p = parcel{append(p.buf[:0], make([]byte, 100)...), append(p.frames[:0], queued{0, 100, 1})}
		seen[&p.buf[0]] = true
		p = o.hand(p)
	}
	o.close()
	if lost := o.losses(); len(seen) > allParcels || len(lost) != 20_000 {
		t.Errorf("%d buffers, want at most %d; %d parcels were lost, want 20000", len(seen), allParcels, len(lost))
	}
}
