package wire

import (
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/saisim"
)

// put writes a frame with its arrival time into the next slot of a ring, as the kernel does.
func (s *socket) put(slot int, at time.Time, frame []byte) {
	const mac = 64
	b, n := s.ring[slot*slotBytes:][:slotBytes], binary.NativeEndian
	n.PutUint32(b[slotLen:], uint32(len(frame)))
	n.PutUint32(b[slotSnapLen:], uint32(len(frame)))
	n.PutUint16(b[slotMAC:], mac)
	n.PutUint32(b[slotSec:], uint32(at.Unix()))
	n.PutUint32(b[slotNsec:], uint32(at.Nanosecond()))
	clear(b[mac-offloadBytes : mac])
	copy(b[mac:], frame)
	*s.status(slot) = unix.TP_STATUS_USER
}

// If the kernel delivers a frame after the chip's time has passed the frame's arrival, the frame enters with its
// lateness.
func TestLateness(t *testing.T) {
	chip, _ := newChip(t, nil)
	var got []saisim.Moment
	chip.SetObserver(func(m saisim.Moment) {
		if m.What == saisim.MomentReceived {
			got = append(got, m)
		}
	})
	start := time.Now()
	p := &pump{Config: Config{Chip: chip, Start: start, Log: slog.New(slog.DiscardHandler)}}
	s := &socket{ring: make([]byte, blockSize), slots: blockSize / slotBytes}
	l := &line{Port: Port{Name: "Ethernet0", Interface: "eth0"}, socket: s}
	p.lines = []*line{l}
	chip.Advance(chip.CycleAt(time.Second))
	p.now = start.Add(2 * time.Second)
	frame := make([]byte, 60)
	const late = 300 * time.Millisecond
	s.put(0, start.Add(time.Second-late), frame)
	s.put(1, start.Add(time.Second+time.Millisecond), frame)
	p.collect(l)
	p.deliver()
	if len(got) != 2 || l.Received != 2 {
		t.Fatalf("%d frames came in, %d received, want 2", len(got), l.Received)
	}
	if by := chip.TrueTime(got[0].Late).Sub(chip.TrueTime(0)); by != late || l.Late != late ||
		got[0].At != chip.CycleAt(time.Second) {
		t.Errorf("the first at cycle %d, late by %v, late-ns %v, want cycle %d and %v", got[0].At, by, l.Late,
			chip.CycleAt(time.Second), late)
	}
	if got[1].Late != 0 || got[1].At != chip.CycleAt(time.Second+time.Millisecond) {
		t.Errorf("the second at cycle %d, late by %d cycles, want not late", got[1].At, got[1].Late)
	}
}
