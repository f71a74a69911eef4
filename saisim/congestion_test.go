package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A port of 10 Gb/s is offered 11 Gb/s. With the clock of the small profile, 1.25 GHz, a byte at 10 Gb/s takes one
// cycle. Frames are 1230 bytes with FCS, 1250 with preamble and gap:
//
//	A, port 0: one every 1250 cycles, from cycle 0 on: 10 Gb/s
//	B, port 2: one every 12500 cycles, from cycle 600 on: 1 Gb/s
//	out, port 1: one every 1250 cycles
//
// From the timestamp point to the queue it takes 1230 cycles on the wire and 17 in the pipe: A(i) is queued at 1247 +
// 1250 i, B(k) at 1847 + 12500 k. From the queue to the timestamp point it takes 11 cycles in the egress pipe and 8 of
// preamble, 19. A(0) goes immediately, at 1266, and the port sends without a pause from then on: its n-th frame at 1266
// + 1250 n. Its scheduler dequeues the n-th at 1247 + 1250 n, exactly when A(n) is queued, and before that.
//
// Frames are queued in the order A(0) B(0) A(1) ... A(10) B(1) A(11) ... Before A(i), i frames number of frames A and
// floor((i+9)/10) of B are queued (B(k) comes between A(10k) and A(10k+1)). So, while nothing is dropped,
//
//	A(i) is sent at 1266 + 1250 (i + ceil(i/10)): it is in the chip for 1266 + 1250 ceil(i/10)
//	B(k) is the frame number 10k + 1 + k: sent at 1266 + 1250 (11k + 1), 1916 + 1250 k after it came
//	after B(k) is queued, k + 1 frames wait
//
// With a threshold of 5 frames (of 20 cells of 64 bytes, 100 cells) the queue is full after B(4). A(41) finds 5 frames,
// because one has just been dequeued and A(41) makes it 5 again. B(5), behind A(50), finds 5 and is dropped, and so is
// every later B. A is never dropped and waits for 5 frames.
func TestElevenIntoTen(t *testing.T) {
	const (
		frames = 1000 // number of frames of A
		wire   = 1250
		full   = 5
	)
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(9, 8, 60)) // a known destination: no floods after it is learned
	r.send(1, udpFrame(2, 1, 60))
	pool := r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress, sai.BufferPoolAttrSize,
		sai.Uint(64*200))
	profile := r.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic, sai.BufferProfileAttrSharedStaticTh,
		sai.Uint(64*20*full))
	r.set(sai.ObjectTypeQueue, r.queue(1, 0), sai.QueueAttrBufferProfileID, profile)

	start := r.Now() + 10_000
	frame := udpFrame(1, 2, 1226)
	type sample struct{ at, depth uint64 }
	var depths []sample
	look := func(at saisim.Cycle) {
		r.Advance(start + at)
		q, _ := r.QueueState(1, 0)
		depths = append(depths, sample{uint64(at), q.Packets})
	}
	// Frames are given as they arrive. The depth is read after each frame is queued.
	for i := range frames {
		at := saisim.Cycle(i) * wire
		r.Advance(start + at)
		noError(t, r.Receive(0, start+at, saisim.Frame{Data: frame, ID: uint64(i)}))
		if i%10 == 0 {
			noError(t, r.Receive(2, start+at+600, saisim.Frame{Data: frame, ID: 1_000_000 + uint64(i/10)}))
		}
		look(at + 620) // B(k) of the frame time before is queued at 597 in this one
	}
	outs := r.drain()

	for i, d := range depths {
		// The B frames queued so far: B(k) at 1847 + 12500 k.
		b := 0
		if d.at >= 1847 {
			b = min(full, int(d.at-1847)/12500+1)
		}
		if want := uint64(b); d.depth != want {
			t.Fatalf("frame time %d, cycle %d: %d frames wait, want %d", i, d.at, d.depth, want)
		}
	}
	sentA, sentB := 0, 0
	for _, o := range outs {
		if o.port != 1 {
			continue
		}
		at := uint64(o.at - start)
		if k := int(o.id) - 1_000_000; k >= 0 {
			sentB++
			if want := uint64(1266 + wire*(11*k+1)); at != want || k >= full {
				t.Errorf("B(%d) is sent at %d, want %d, and none behind B(%d)", k, at, want, full-1)
			}
			continue
		}
		sentA++
		i := int(o.id)
		if want := uint64(1266 + wire*(i+min(full, (i+9)/10))); at != want {
			t.Fatalf("A(%d) is sent at %d, want %d", i, at, want)
		}
	}
	q, _ := r.QueueState(1, 0)
	if sentA != frames || sentB != full || q.DroppedTail != frames/10-full || q.MaxCells != 20*full {
		t.Errorf("sent %d of A and %d of B, dropped %d, at most %d cells; want %d, %d, %d, %d",
			sentA, sentB, q.DroppedTail, q.MaxCells, frames, full, frames/10-full, 20*full)
	}
	r.balanced()
}
