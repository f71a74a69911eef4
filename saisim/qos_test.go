package saisim_test

import (
	"fmt"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// queue returns the QUEUE object of a port.
func (r *rig) queue(id saisim.PortID, i int) sai.OID {
	r.Helper()
	return r.get(sai.ObjectTypePort, r.oid(id), sai.PortAttrQoSQueueList).(sai.OIDs)[i]
}

func dscpMap(pairs ...uint8) (m sai.QoSMap) {
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, sai.QoSMapEntry{Key: sai.QoSMapParams{DSCP: pairs[i]}, Value: sai.QoSMapParams{TC: pairs[i+1]}})
	}
	return m
}

// withTOS returns an IPv4 frame from host 1 to host 2 with a correct header checksum.
func withTOS(tos byte, n int) []byte {
	f := udpFrame(1, 2, n)
	f[15] = tos
	f[24], f[25] = 0, 0
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(f[i])<<8 + uint32(f[i+1])
	}
	sum = sum&0xffff + sum>>16
	f[24], f[25] = ^byte(sum>>8), ^byte(sum)
	return f
}

// validSum reports whether the IPv4 header of an untagged frame has a correct checksum.
func validSum(f []byte) bool {
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(f[i])<<8 + uint32(f[i+1])
	}
	return sum&0xffff+sum>>16 == 0xffff
}

// Settings that imply another kind of queue, and thresholds without a meaning, are refused.
func TestQoSRefusals(t *testing.T) {
	r := newRig(t, profile.Small()) // cells of 64 bytes
	all := uint64(r.Profile().Buffer.Cells) * 64
	pool := r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress, sai.BufferPoolAttrSize,
		sai.Uint(6400))
	for i, tt := range []struct {
		want sai.Status
		t    sai.ObjectType
		a    []any
	}{
		{sai.StatusInvalidParameter, sai.ObjectTypeScheduler, []any{sai.SchedulerAttrSchedulingType, sai.SchedulingTypeDwrr,
			sai.SchedulerAttrSchedulingWeight, sai.Uint(0)}},
		{sai.StatusInvalidParameter, sai.ObjectTypeWRED, []any{sai.WREDAttrGreenEnable, sai.Bool(true),
			sai.WREDAttrGreenMinThreshold, sai.Uint(10), sai.WREDAttrGreenMaxThreshold, sai.Uint(10)}},
		{sai.StatusInvalidParameter, sai.ObjectTypeQoSMap, []any{sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC,
			sai.QoSMapAttrMapToValueList, dscpMap(64, 1)}},
		{sai.StatusInvalidParameter, sai.ObjectTypeQoSMap, []any{sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC,
			sai.QoSMapAttrMapToValueList, dscpMap(6, 16)}},
		{sai.StatusNotSupported, sai.ObjectTypeQoSMap, []any{sai.QoSMapAttrType, sai.QoSMapTypeTCAndColorToDot1p,
			sai.QoSMapAttrMapToValueList, sai.QoSMap{}}},
		{sai.StatusInvalidParameter, sai.ObjectTypeBufferPool, []any{sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
			sai.BufferPoolAttrSize, sai.Uint(63)}},
		{sai.StatusInvalidParameter, sai.ObjectTypeBufferPool, []any{sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
			sai.BufferPoolAttrSize, sai.Uint(all - 6400 + 64)}},
		{sai.StatusInvalidParameter, sai.ObjectTypeBufferProfile, []any{sai.BufferProfileAttrPoolID, pool,
			sai.BufferProfileAttrReservedBufferSize, sai.Uint(1 << 40),
			sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic, sai.BufferProfileAttrSharedStaticTh,
			sai.Uint(64)}},
		{sai.StatusNotSupported, sai.ObjectTypeQueue, []any{sai.QueueAttrType, sai.QueueTypeUnicast,
			sai.QueueAttrPort, r.oid(0), sai.QueueAttrIndex, sai.Uint(9),
			sai.QueueAttrParentSchedulerNode, r.oid(0)}},
	} {
		_, err := r.Create(r.Context(), tt.t, attrs(tt.a...))
		if got, ok := sai.StatusOf(err); !ok || got != tt.want {
			t.Errorf("%d: %s: %v, want %v", i, tt.t, err, tt.want)
		}
	}
}

// Packets in a strict-priority queue overtake others. A full queue marks ECN-capable packets, with a correct checksum,
// and drops all other packets.
func TestPriorityAndMarks(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	dscp := r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC, sai.QoSMapAttrMapToValueList,
		dscpMap(46, 3))
	wred := r.create(sai.ObjectTypeWRED, sai.WREDAttrGreenEnable, sai.Bool(true), sai.WREDAttrGreenMinThreshold,
		sai.Uint(1999),
		sai.WREDAttrGreenMaxThreshold, sai.Uint(2000), sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll)
	high := r.create(sai.ObjectTypeScheduler, sai.SchedulerAttrSchedulingType, sai.SchedulingTypeStrict)
	r.set(sai.ObjectTypeQueue, r.queue(1, 3), sai.QueueAttrSchedulerProfileID, high)
	r.set(sai.ObjectTypeQueue, r.queue(1, 0), sai.QueueAttrWREDProfileID, wred)
	for _, in := range []saisim.PortID{0, 2, 3} {
		r.set(sai.ObjectTypePort, r.oid(in), sai.PortAttrQoSDSCPToTCMap, dscp)
	}
	at := r.Now()
	send := func(in saisim.PortID, tos byte) {
		if err := r.Receive(in, at, saisim.Frame{Data: withTOS(tos, 1000), ID: uint64(tos)}); err != nil {
			t.Fatal(err)
		}
	}
	// Two ports send five frames each, one after the other, to a third.
	for range 5 {
		send(0, 0)
		send(2, 1)
	}
	send(3, 46<<2) // arrives together with the first frame, and overtakes waiting frames
	var ids []uint64
	for _, o := range r.drain() {
		ids = append(ids, uint64(o.data[15]))
		if !validSum(o.data) {
			t.Errorf("a frame with TOS %#x leaves with a wrong checksum", o.data[15])
		}
	}
	q, _ := r.QueueState(1, 0)
	// Every 1024 bytes one frame leaves and two arrive, A with TOS 0 and B with ECT(1):
	//
	//	A1 leaves; B1 and DSCP 46 wait.
	//	DSCP 46 leaves; A2 finds 1000 bytes; B2 finds 2000 and is marked.
	//	B1 leaves; A3 finds 2000 and is dropped; B3 finds 2000 and is marked.
	//	A2 leaves; A4 is dropped, B4 marked. B2 leaves; A5 is dropped, B5 marked. B3, B4 and B5 leave.
	if want := "[0 184 1 0 3 3 3 3]"; fmt.Sprint(ids) != want {
		t.Errorf("TOS of the frames that left: %v, want %s (dropped %d, marked %d)", ids, want, q.DroppedWRED, q.Marked)
	}
	if q.Marked != 4 || q.DroppedWRED != 3 {
		t.Errorf("marked %d and dropped %d, want 4 and 3", q.Marked, q.DroppedWRED)
	}
	got, err := r.Stats(r.Context(), sai.Obj(sai.ObjectTypeQueue, r.queue(1, 0)),
		[]sai.StatID{sai.QueueStatPackets, sai.QueueStatDroppedPackets, sai.QueueStatWREDECNMarkedPackets})
	if err != nil || got[0] != 7 || got[1] != 3 || got[2] != 4 {
		t.Errorf("statistics %v, %v", got, err)
	}
	r.balanced()
}

// Cells of one pool are not available to other pools.
func TestBufferPools(t *testing.T) {
	p := profile.Small()
	p.Buffer = profile.Buffer{CellBytes: 100, Cells: 100}
	r := newRig(t, p)
	r.send(1, udpFrame(2, 1, 60))
	pool := r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress, sai.BufferPoolAttrSize,
		sai.Uint(3000))
	profile := r.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeDynamic, sai.BufferProfileAttrSharedDynamicTh,
		sai.Int(0))
	r.set(sai.ObjectTypeQueue, r.queue(1, 0), sai.QueueAttrBufferProfileID, profile)
	at := r.Now()
	for range 10 {
		for _, in := range []saisim.PortID{0, 2, 3, 4, 5} {
			if err := r.Receive(in, at, saisim.Frame{Data: withTOS(0, 1000)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.drain()
	q, _ := r.QueueState(1, 0)
	// 30 cells, frames of 10: with alpha 1 the second finds 20 free cells and makes
	// the queue 20; the third would find 10 free and make it 30.
	if q.MaxCells != 20 || q.DroppedTail == 0 || q.DroppedFull != 0 {
		t.Errorf("at most %d cells, %d dropped by the threshold and %d for want of cells; want 20, some, none", q.MaxCells,
			q.DroppedTail, q.DroppedFull)
	}
	r.set(sai.ObjectTypeQueue, r.queue(1, 0), sai.QueueAttrBufferProfileID, sai.NullOID)
	r.remove(sai.ObjectTypeBufferProfile, profile)
	r.remove(sai.ObjectTypeBufferPool, pool)
	r.balanced()
}

// Marks are at the place of the IP header: behind tags, and in the traffic class of IPv6.
func TestMarks(t *testing.T) {
	payload := udp(1, 2, 20)
	v6 := append(u16(0x86dd), 0x60, 0x10, 0, 0) // ECT(1) is bit 4 of the second byte
	v6 = append(v6, u16(uint16(len(payload)))...)
	v6 = append(append(v6, 17, 64), make([]byte, 32)...)
	v4 := withTOS(1, 60)[12:]
	for _, tt := range []struct {
		name  string
		frame []byte
		at    int // offset of the byte that is compared
		want  byte
	}{
		{"IPv4", eth(host(2), host(1), v4), 15, 3},
		{"tagged IPv4", eth(host(2), host(1), tag(0x8100, 1), v4), 15, 3}, // the tag is removed as the frame leaves
		{"IPv6", eth(host(2), host(1), v6, payload), 15, 0x30},
		{"two tags", eth(host(2), host(1), tag(0x8100, 1), tag(0x8100, 5), v4), 19, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.send(1, udpFrame(2, 1, 60))
			wred := r.create(sai.ObjectTypeWRED, sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll,
				sai.WREDAttrGreenMinThreshold, sai.Uint(0), sai.WREDAttrGreenMaxThreshold, sai.Uint(1))
			r.set(sai.ObjectTypeQueue, r.queue(1, 0), sai.QueueAttrWREDProfileID, wred)
			at := r.Now()
			for _, in := range []saisim.PortID{0, 2, 3} { // the third finds one frame waiting: at Max
				if err := r.Receive(in, at, saisim.Frame{Data: tt.frame}); err != nil {
					t.Fatal(err)
				}
			}
			outs := r.drain()
			last := outs[len(outs)-1].data
			if last[tt.at] != tt.want {
				t.Errorf("%x: byte %d is %#x, want %#x", last, tt.at, last[tt.at], tt.want)
			}
			if tt.at == 15 && tt.want == 3 && !validSum(last) {
				t.Errorf("%x: wrong checksum", last)
			}
		})
	}
}
