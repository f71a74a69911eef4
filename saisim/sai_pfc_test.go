package saisim_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// lossless configures priority 3 of ports: packets with DSCP 3 are in group 3, with so many cells of headroom.
func (r *rig) lossless(p profile.Profile, ports []saisim.PortID, headroom uint64, shared bool) {
	r.Helper()
	cell := uint64(p.Buffer.CellBytes)
	with := []any{sai.BufferPoolAttrType, sai.BufferPoolTypeIngress, sai.BufferPoolAttrSize,
		sai.Uint(uint64(p.Buffer.Cells) / 2 * cell)}
	reserved := headroom
	if shared {
		with = append(with, sai.BufferPoolAttrXoffSize, sai.Uint(headroom*cell*uint64(len(ports))))
		reserved = 0
	}
	pool := r.create(sai.ObjectTypeBufferPool, with...)
	group := r.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(reserved*cell), sai.BufferProfileAttrThresholdMode,
		sai.BufferProfileThresholdModeStatic, sai.BufferProfileAttrSharedStaticTh, sai.Uint(20*cell),
		sai.BufferProfileAttrXoffTh, sai.Uint(headroom*cell), sai.BufferProfileAttrXonOffsetTh, sai.Uint(4*cell))
	pair := func(key, value sai.QoSMapParams) sai.QoSMap { return sai.QoSMap{{Key: key, Value: value}} }
	dscp := r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC, sai.QoSMapAttrMapToValueList,
		pair(sai.QoSMapParams{DSCP: 3}, sai.QoSMapParams{TC: 3}))
	tc := r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeTCToPriorityGroup,
		sai.QoSMapAttrMapToValueList, pair(sai.QoSMapParams{TC: 3}, sai.QoSMapParams{PG: 3}))
	for _, id := range ports {
		port := r.oid(id)
		r.set(sai.ObjectTypePort, port, sai.PortAttrQoSDSCPToTCMap, dscp)
		r.set(sai.ObjectTypePort, port, sai.PortAttrQoSTCToPriorityGroupMap, tc)
		r.set(sai.ObjectTypePort, port, sai.PortAttrPriorityFlowControl, sai.Uint(1<<3))
		r.set(sai.ObjectTypeIngressPriorityGroup,
			r.get(sai.ObjectTypePort, port, sai.PortAttrIngressPriorityGroupList).(sai.OIDs)[3],
			sai.IngressPriorityGroupAttrBufferProfile, group)
	}
}

// A sender sends frames to a port of the chip, and obeys its flow control. Its cable delays both directions.
type sender struct {
	free   saisim.Cycle // when its wire is free
	paused saisim.Cycle
	heard  []sent // frames of flow control on their way
	asked  pausing
}

// A pausing is for how long frames of flow control asked for a pause.
type pausing struct {
	since saisim.Cycle // of the last frame, 0 if it ended the pause
	sum   uint64
}

func (p *pausing) add(at saisim.Cycle, quanta uint16) {
	if p.since > 0 {
		p.sum += uint64(at - p.since)
	}
	if p.since = 0; quanta > 0 {
		p.since = at
	}
}

// lossyCells runs senders at random loads to one port of a chip with some headroom per sender, of which the cells that
// are needed are those of factor 1. It returns the packets that were dropped, and the frames that paused senders.
func lossyCells(t *testing.T, seed uint64, factor float64) (dropped, pauses uint64) {
	g := rand.New(rand.NewPCG(seed, 1))
	p := profile.Small()
	p.Buffer = profile.Buffer{CellBytes: 64 << g.IntN(3), Cells: 20_000}
	r := newRig(t, p)
	r.send(5, udpFrame(2, 1, 60)) // host 1 is at port 5
	delay, most := saisim.Cycle(g.IntN(3000)), 64+g.IntN(1400)
	perByte := float64(p.ClockHz*8) / float64(uint64(p.Default[0].Mbps)*1_000_000)
	wire := func(n int) float64 { return float64(max(n+4, 64)+20) * perByte }
	// From the packet that fills the shared part to the last packet after it: the frame of flow control leaves and
	// arrives, the frame that was begun ends and arrives, and passes the ingress pipe.
	const step = 8
	window := float64(p.EgressCycles()) + 2*wire(60) + 2*float64(delay) + 3*wire(most) +
		float64(p.IngressCycles()) + 2*step
	cells := 0
	for n := 60; n <= most; n++ {
		size := int(p.Buffer.CellBytes)
		cells = max(cells, (int(window/wire(n))+2)*((n+size-1)/size))
	}
	ports := []saisim.PortID{0, 1, 2, 3}
	r.lossless(p, ports, max(1, uint64(float64(cells)*factor)), seed%2 == 0)
	load, senders, frames := 0.4+0.6*g.Float64(), make([]sender, len(ports)), uint64(0)
	for now := r.Now(); now < 150_000; now += step {
		r.Advance(now)
		for _, o := range r.outs {
			if int(o.port) < len(ports) && o.data[0] == 1 {
				senders[o.port].heard = append(senders[o.port].heard, o)
				senders[o.port].asked.add(o.at, binary.BigEndian.Uint16(o.data[18+6:]))
			}
		}
		r.outs = r.outs[:0]
		for i := range senders {
			s := &senders[i]
			for len(s.heard) > 0 && s.heard[0].at+delay+saisim.Cycle(64*perByte) <= now {
				s.paused = now + saisim.Cycle(float64(binary.BigEndian.Uint16(s.heard[0].data[18+6:]))*64*perByte)
				s.heard = s.heard[1:]
			}
			if now < s.free || now < s.paused {
				continue
			}
			frame := withTOS(3<<2, 60+g.IntN(most-59))
			s.free = now + saisim.Cycle(wire(len(frame))/load*(0.5+g.Float64()))
			if err := r.Receive(ports[i], now+delay, saisim.Frame{Data: frame}); err != nil {
				t.Fatal(err)
			}
			frames++
		}
	}
	for _, o := range r.drain() {
		if int(o.port) < len(ports) && o.data[0] == 1 {
			senders[o.port].asked.add(o.at, binary.BigEndian.Uint16(o.data[18+6:]))
		}
	}
	for i, id := range ports {
		c, _ := r.PortCounters(id)
		dropped += c.Dropped[drop.PriorityGroup]
		n := r.PauseCounts(id)
		pauses += n.Tx[3].Frames
		if s := r.GroupState(id, 3); s.Cells != 0 || s.Paused || n.Tx[2].Frames != 0 {
			t.Errorf("sender %d: group %+v, flow control %+v", i, s, n)
		}
		if n.Tx[3].Cycles != senders[i].asked.sum {
			t.Errorf("sender %d is paused for %d cycles, counted are %d", i, senders[i].asked.sum, n.Tx[3].Cycles)
		}
	}
	if b := r.FrameCounts(); b.Sent+b.Dropped[drop.PriorityGroup] < frames {
		t.Errorf("of %d frames, %d were sent and %d dropped by groups: %+v", frames, b.Sent, dropped, b)
	}
	return dropped, pauses
}

// With headroom for everything that arrives until a sender pauses, no packet of a lossless priority is dropped. With a
// quarter of it, some are.
func TestHeadroomIsLossless(t *testing.T) {
	lost, pauses := uint64(0), uint64(0)
	cases := randtest.Cases{Count: 12}
	run := randtest.Run(t, cases, func(t *testing.T, seed uint64) {
		n, sent := lossyCells(t, seed, 1)
		if pauses += sent; n > 0 {
			t.Errorf("%d packets are dropped, want none", n)
		}
		n, _ = lossyCells(t, seed, 0.25)
		lost += n
	})
	if !run.Whole(cases) {
		return
	}
	if lost == 0 || pauses < 100 {
		t.Errorf("%d packets are dropped without enough headroom, and %d frames pause senders; want many", lost, pauses)
	}
}

// saiport.h: durations are those of the quanta in frames of flow control. A frame replaces what is left of the pause
// before it: that time did not pass. ON2OFF counts the frames that end a pause.
func TestPauseDurations(t *testing.T) {
	p := profile.Default()
	r := newRig(t, p)
	const port, priority, quanta = 5, 3, 1000
	span := saisim.Cycle(quanta * 512 * p.ClockHz / (uint64(p.Default[0].Mbps) * 1_000_000))
	frame := func(quanta uint16) saisim.Frame {
		b := make([]byte, 60)
		copy(b, "\x01\x80\xc2\x00\x00\x01\x02\x00\x00\x00\x00\x09\x88\x08\x01\x01")
		b[17] = 1 << priority
		binary.BigEndian.PutUint16(b[18+2*priority:], quanta)
		return saisim.Frame{Data: b}
	}
	type sent struct {
		quanta uint16
		halves saisim.Cycle // time until the next frame, in halves of the pause's duration
	}
	const of = sai.StatID(2 * priority)
	k := sai.Obj(sai.ObjectTypePort, r.oid(port))
	for _, tt := range []struct {
		what                   string
		sent                   []sent
		frames, halves, ending uint64
	}{
		{"a pause lasts for its quanta", []sent{{quanta, 4}}, 1, 2, 0},
		{"a frame ends nothing where no pause is", []sent{{0, 2}}, 2, 2, 0},
		{"a frame ends half of a pause", []sent{{quanta, 1}, {0, 2}}, 4, 3, 1},
		{"a frame begins a pause again", []sent{{quanta, 1}, {quanta, 4}}, 6, 6, 1},
	} {
		for _, x := range tt.sent {
			noError(t, r.Receive(port, r.Now(), frame(x.quanta)))
			r.Advance(r.Now() + x.halves*span/2)
		}
		got := [4]uint64{
			r.stat(k, sai.PortStatPfc0RxPkts+of), r.stat(k, sai.PortStatPfc0RxPauseDuration+of),
			r.stat(k, sai.PortStatPfc0RxPauseDurationUs+of), r.stat(k, sai.PortStatPfc0On2offRxPkts+priority),
		}
		microseconds := tt.halves * uint64(span) / 2 * 1_000_000 / p.ClockHz
		if want := [4]uint64{tt.frames, tt.halves * quanta / 2, microseconds, tt.ending}; got != want {
			t.Errorf("%s: frames, quanta, microseconds and frames that end pauses: %d, want %d", tt.what, got, want)
		}
	}
}
