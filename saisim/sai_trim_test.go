package saisim_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A trimRig is a chip whose port 1 has a queue 0 for at most two cells of 64 bytes, which trims. Host 2 is at port 1.
type trimRig struct {
	*rig
	pool, buffer sai.OID
}

func newTrimRig(t *testing.T) *trimRig {
	r := &trimRig{rig: newRig(t, profile.Small())}
	r.pool = r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
		sai.BufferPoolAttrSize, sai.Uint(6400))
	r.buffer = r.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, r.pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
		sai.BufferProfileAttrSharedStaticTh, sai.Uint(128),
		sai.BufferProfileAttrPacketAdmissionFailAction, sai.BufferProfilePacketAdmissionFailActionDropAndTrim)
	r.set(sai.ObjectTypeQueue, r.queue(1, 0), sai.QueueAttrBufferProfileID, r.buffer)
	r.trim(sai.SwitchAttrPacketTrimQueueIndex, sai.Uint(3))
	r.trim(sai.SwitchAttrPacketTrimDSCPValue, sai.Uint(48))
	r.send(1, udpFrame(2, 1, 60))
	return r
}

// trim sets an attribute of the switch.
func (r *trimRig) trim(id sai.AttrID, v sai.Value) { r.set(sai.ObjectTypeSwitch, r.sw, id, v) }

// through sends a frame from host 1 to host 2, and returns it as it leaves, nil if it does not.
func (r *trimRig) through(frame []byte) []byte {
	r.Helper()
	for _, o := range r.send(0, frame) {
		if o.port == 1 {
			return o.data
		}
	}
	return nil
}

// counts returns what a queue of port 1 has counted: dropped, trimmed, trimmed and sent, trimmed and dropped.
func (r *trimRig) counts(queue int) (n [4]uint64) {
	r.Helper()
	got, err := r.Stats(context.Background(), sai.Obj(sai.ObjectTypeQueue, r.queue(1, queue)), []sai.StatID{
		sai.QueueStatDroppedPackets, sai.QueueStatTrimPackets, sai.QueueStatTxTrimPackets, sai.QueueStatDroppedTrimPackets})
	if err != nil {
		r.Fatal(err)
	}
	return [4]uint64(got)
}

// saibuffer.h, saiswitch.h: a packet that its queue does not admit is cut, gets a DSCP, and leaves by another queue.
// Its IP header has the new length and a correct checksum. Queue, port and switch count it.
func TestSAITrim(t *testing.T) {
	r := newTrimRig(t)
	f := r.through(withTOS(46<<2|1, 1000))
	if len(f) != 128 || f[15] != 48<<2|1 || binary.BigEndian.Uint16(f[16:]) != 128-14 || !validSum(f) {
		t.Fatalf("out came %d bytes: %x", len(f), f)
	}
	if f = r.through(withTOS(46<<2, 129)); len(f) != 128 {
		t.Errorf("of 129 bytes, %d are left", len(f))
	}
	if want := [4]uint64{2, 2, 2, 0}; r.counts(0) != want || r.counts(3) != [4]uint64{} {
		t.Errorf("queue 0 has counted %d, want %d; queue 3 %d", r.counts(0), want, r.counts(3))
	}
	for id, want := range map[sai.StatID]uint64{sai.PortStatTrimPackets: 2, sai.PortStatTxTrimPackets: 2,
		sai.PortStatDroppedTrimPackets: 0, sai.PortStatIfOutDiscards: 2} {
		if n := r.stat(sai.Obj(sai.ObjectTypePort, r.oid(1)), id); n != want {
			t.Errorf("%s is %d, want %d", id, n, want)
		}
	}
	if b := r.FrameCounts(); b.Dropped != (saisim.FrameCounts{}).Dropped {
		t.Errorf("trimmed packets are not lost: %+v", b)
	}

	// The queue of trimmed packets may be full, too.
	r.trim(sai.SwitchAttrPacketTrimQueueIndex, sai.Uint(0))
	r.trim(sai.SwitchAttrPacketTrimSize, sai.Uint(200))
	if f := r.through(withTOS(0, 1000)); f != nil {
		t.Errorf("out came %x", f)
	}
	got, err := r.Stats(context.Background(), sai.Obj(sai.ObjectTypeSwitch, r.sw),
		[]sai.StatID{sai.SwitchStatTxTrimPackets, sai.SwitchStatDroppedTrimPackets})
	if err != nil || got[0] != 2 || got[1] != 1 || r.counts(0) != [4]uint64{4, 3, 2, 1} {
		t.Errorf("the switch has counted %d (%v), queue 0 %d", got, err, r.counts(0))
	}

	// A short packet keeps its length.
	r.trim(sai.SwitchAttrPacketTrimQueueIndex, sai.Uint(3))
	if f := r.through(withTOS(0, 150)); len(f) != 150 || f[15] != 48<<2 ||
		binary.BigEndian.Uint16(f[16:]) != 150-14 || !validSum(f) {
		t.Errorf("out came %d bytes: %x", len(f), f)
	}
}

// The new DSCP may be that of a traffic class, by the map of the port, and the queue that of the traffic class.
func TestSAITrimMaps(t *testing.T) {
	r := newTrimRig(t)
	r.trim(sai.SwitchAttrPacketTrimDSCPResolutionMode, sai.PacketTrimDSCPResolutionModeFromTC)
	r.trim(sai.SwitchAttrPacketTrimTCValue, sai.Uint(5))
	if f := r.through(withTOS(46<<2, 1000)); f == nil || f[15] != 46<<2 {
		t.Errorf("without a map, out came %x, want DSCP 46", f)
	}
	of := func(tc, queue, dscp uint8) sai.QoSMap {
		return sai.QoSMap{{Key: sai.QoSMapParams{TC: tc}, Value: sai.QoSMapParams{DSCP: dscp, Queue: queue}}}
	}
	dscp := r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeTCAndColorToDSCP,
		sai.QoSMapAttrMapToValueList, of(5, 0, 10))
	r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrQoSTCAndColorToDSCPMap, dscp)
	if f := r.through(withTOS(46<<2, 1000)); f == nil || f[15] != 10<<2 {
		t.Errorf("out came %x, want DSCP 10", f)
	}
	if f := r.through(withTOS(46<<2, 60)); f == nil || f[15] != 46<<2 {
		t.Errorf("out came %x, which was not trimmed, want DSCP 46", f)
	}
	r.trim(sai.SwitchAttrPacketTrimQueueResolutionMode, sai.PacketTrimQueueResolutionModeDynamic)
	r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrQoSTCToQueueMap, r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType,
		sai.QoSMapTypeTCToQueue, sai.QoSMapAttrMapToValueList, of(5, 2, 0)))
	before, _ := r.QueueState(1, 2)
	r.through(withTOS(46<<2, 1000))
	if after, _ := r.QueueState(1, 2); after.Dequeued != before.Dequeued+1 {
		t.Errorf("queue 2 has sent %d, then %d", before.Dequeued, after.Dequeued)
	}
	r.refused(sai.StatusInvalidParameter, sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeTCAndColorToDSCP,
		sai.QoSMapAttrMapToValueList, of(5, 0, 64))
}

// Multicasts, floods, packets without IP, and packets of an ACL entry are not trimmed, but dropped.
func TestSAITrimOnlyUnicast(t *testing.T) {
	r := newTrimRig(t)
	unknown, group, other := withTOS(0, 1000), withTOS(0, 1000), withTOS(0, 1000)
	unknown[5], group[0] = 99, 1
	binary.BigEndian.PutUint16(other[12:], 0x88b5)
	for what, f := range map[string][]byte{"a flood": unknown, "a multicast": group, "a frame without IP": other} {
		before := r.counts(0)
		r.through(f)
		if n := r.counts(0); n[1] != before[1] || n[0] != before[0]+1 {
			t.Errorf("%s: queue 0 has counted %d, then %d", what, before, n)
		}
	}
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrFieldDSCP, sai.Bool(true))
	entry := r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1),
		sai.ACLEntryAttrFieldDSCP, sai.Match(sai.Uint(8), sai.Uint(63)),
		sai.ACLEntryAttrActionPacketTrimDisable, sai.Do(sai.Bool(true)))
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressACL, table)
	if f := r.through(withTOS(8<<2, 1000)); f != nil {
		t.Errorf("with an entry that disables trimming, out came %x", f)
	}
	if r.through(withTOS(9<<2, 1000)) == nil {
		t.Error("a packet that hits no entry was not trimmed")
	}
	r.set(sai.ObjectTypeACLEntry, entry, sai.ACLEntryAttrActionPacketTrimDisable, sai.Do(sai.Bool(false)))
	if r.through(withTOS(8<<2, 1000)) == nil {
		t.Error("a packet was not trimmed though its entry does not disable that")
	}
	r.set(sai.ObjectTypeBufferProfile, r.buffer, sai.BufferProfileAttrPacketAdmissionFailAction,
		sai.BufferProfilePacketAdmissionFailActionDrop)
	if f := r.through(withTOS(9<<2, 1000)); f != nil {
		t.Errorf("the profile drops, but out came %x", f)
	}
}

// Values that the chip cannot have, and profiles that trim where nothing is trimmed, are refused with what is right.
func TestSAITrimRefusals(t *testing.T) {
	r := newTrimRig(t)
	refuses := func(typ sai.ObjectType, oid sai.OID, id sai.AttrID, v sai.Value, says string) {
		t.Helper()
		err := r.Set(context.Background(), sai.Obj(typ, oid), sai.Attr{ID: id, Value: v})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s set to %v: %v, want an error with %q", id, v, err, says)
		}
	}
	for id, x := range map[sai.AttrID]struct {
		v    sai.Uint
		says string
	}{
		sai.SwitchAttrPacketTrimSize:       {85, "bytes 85, want 86 to 9412"},
		sai.SwitchAttrPacketTrimDSCPValue:  {64, "DSCP 64, want 0 to 63"},
		sai.SwitchAttrPacketTrimTCValue:    {16, "traffic class 16, want 0 to 15"},
		sai.SwitchAttrPacketTrimQueueIndex: {4, "queue 4, want 0 to 3"},
	} {
		refuses(sai.ObjectTypeSwitch, r.sw, id, x.v, x.says)
	}
	refuses(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrPacketTrimSize, sai.Uint(9413), "want 86 to 9412")
	refuses(sai.ObjectTypePort, r.oid(2), sai.PortAttrQoSEgressBufferProfileList, sai.OIDs{r.buffer}, "only queues trim")
	drops := r.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, r.pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
		sai.BufferProfileAttrSharedStaticTh, sai.Uint(128))
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrQoSEgressBufferProfileList, sai.OIDs{drops})
	refuses(sai.ObjectTypeBufferProfile, drops, sai.BufferProfileAttrPacketAdmissionFailAction,
		sai.BufferProfilePacketAdmissionFailActionDropAndTrim, "only queues trim")
	ingress := r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeIngress,
		sai.BufferPoolAttrSize, sai.Uint(6400))
	r.refused(sai.StatusInvalidParameter, sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, ingress,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
		sai.BufferProfileAttrSharedStaticTh, sai.Uint(128),
		sai.BufferProfileAttrPacketAdmissionFailAction, sai.BufferProfilePacketAdmissionFailActionDropAndTrim)
}

// The history of a trimmed packet contains the queue that has trimmed it, its new length, and its next queue.
func TestTrimIsTraced(t *testing.T) {
	r := newTrimRig(t)
	var moments []saisim.Moment
	r.SetObserver(func(m saisim.Moment) { moments = append(moments, m) })
	r.through(withTOS(0, 1000))
	var trimmed, queued *saisim.Moment
	for i := range moments {
		switch m := &moments[i]; m.What {
		case saisim.MomentTrimmed:
			trimmed = m
		case saisim.MomentQueued:
			queued = m
		}
	}
	if trimmed == nil || trimmed.Queue != 0 || trimmed.Len != 128 || queued == nil || queued.Queue != 3 ||
		queued.Len != 128 {
		t.Errorf("trimmed: %+v; queued: %+v", trimmed, queued)
	}
}

// The packet path allocates no memory for trimmed packets.
func TestTrimAllocatesNothing(t *testing.T) {
	r := newTrimRig(t)
	frame := withTOS(0, 1000)
	sent := 0
	r.SetOutput(func(o *saisim.Out) { sent++ })
	trim := func() {
		if err := r.Receive(0, r.Now(), saisim.Frame{Data: frame}); err != nil {
			t.Fatal(err)
		}
		for at, ok := r.NextEvent(); ok; at, ok = r.NextEvent() {
			r.Advance(at)
		}
	}
	for range 100 {
		trim()
	}
	if n := testing.AllocsPerRun(500, trim); n > 0 || r.counts(0)[2] != uint64(sent) {
		t.Errorf("%v allocations for each of %d packets, of which %d were trimmed", n, sent, r.counts(0)[2])
	}
}
