package saisim_test

import (
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
)

// A shapedPort is a chip whose port 1, with host 2, is shaped. A cycle is 0.8 ns, and a byte on the wire takes a cycle.
// Frames have 1000 bytes, with FCS and gap 1024 cycles on the wire.
type shapedPort struct{ *rig }

func newShapedPort(t *testing.T) shapedPort {
	r := bareRig(t, profile.Small())
	for _, id := range []saisim.PortID{0, 1, 2} {
		r.up(id)
	}
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrQoSDefaultTC, sai.Uint(1))
	r.send(1, udpFrame(2, 9, 64))
	return shapedPort{r}
}

// parts returns objects of port 1, such as its queues.
func (s shapedPort) parts(list sai.AttrID) sai.OIDs {
	return s.get(sai.ObjectTypePort, s.oid(1), list).(sai.OIDs)
}

func (s shapedPort) queue(i int) sai.OID { return s.parts(sai.PortAttrQoSQueueList)[i] }

func (s shapedPort) scheduler(pairs ...any) sai.OID {
	return s.create(sai.ObjectTypeScheduler, pairs...)
}

// leave sends frames from ports 0 and 2, back to back. It returns when those of each port leave by port 1, in cycles
// after the first frame of port 0.
func (s shapedPort) leave(fromZero, fromTwo int) (zero, two []uint64) {
	s.Helper()
	for i := range max(fromZero, fromTwo) {
		if i < fromZero {
			noError(s, s.Receive(0, s.Now(), saisim.Frame{Data: udpFrame(1, 2, 1000)}))
		}
		if i < fromTwo {
			noError(s, s.Receive(2, s.Now(), saisim.Frame{Data: udpFrame(3, 2, 1000)}))
		}
	}
	outs := s.drain()
	first := uint64(0)
	for _, o := range outs {
		if o.in == 0 && first == 0 {
			first = uint64(o.at)
		}
	}
	for _, o := range outs {
		if o.in == 0 {
			zero = append(zero, uint64(o.at)-first)
		} else {
			two = append(two, uint64(o.at)-first)
		}
	}
	return zero, two
}

func (s shapedPort) wantTimes(what string, got []uint64, want ...uint64) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%s: frames leave at %v, want %v", what, got, want)
	}
}

// MAX_BANDWIDTH_RATE of a queue's scheduler limits the queue exactly: bytes of frames with FCS, or packets.
func TestSAIShapedQueue(t *testing.T) {
	const gigabit = 125_000_000 // a tenth of a byte per cycle
	s := newShapedPort(t)
	times, _ := s.leave(4, 0)
	s.wantTimes("without a shaper", times, 0, 1024, 2048, 3072)
	shaper := s.scheduler(sai.SchedulerAttrMaxBandwidthRate, sai.Uint(gigabit))
	s.set(sai.ObjectTypeQueue, s.queue(0), sai.QueueAttrSchedulerProfileID, shaper)
	times, _ = s.leave(4, 0)
	s.wantTimes("1 Gb/s without a burst", times, 0, 10_040, 20_080, 30_120)
	s.Advance(s.Now() + 100_000)
	s.set(sai.ObjectTypeScheduler, shaper, sai.SchedulerAttrMaxBandwidthBurstRate, sai.Uint(3000))
	s.Advance(s.Now() + 100_000) // the bucket fills
	// Tokens left by the frames: 1996, 1094.4, 192.8 and -708.8, which takes 7088 cycles.
	times, _ = s.leave(5, 0)
	s.wantTimes("1 Gb/s with a burst", times, 0, 1024, 2048, 3072, 10_160)
	s.set(sai.ObjectTypeScheduler, shaper, sai.SchedulerAttrMaxBandwidthRate, sai.Uint(1000))
	s.set(sai.ObjectTypeScheduler, shaper, sai.SchedulerAttrMeterType, sai.MeterTypePackets)
	s.set(sai.ObjectTypeScheduler, shaper, sai.SchedulerAttrMaxBandwidthBurstRate, sai.Uint(0))
	times, _ = s.leave(3, 0)
	s.wantTimes("1000 packets per second", times, 0, 1_250_000, 2_500_000)
	s.set(sai.ObjectTypeScheduler, shaper, sai.SchedulerAttrMaxBandwidthRate, sai.Uint(0))
	times, _ = s.leave(3, 0)
	s.wantTimes("no rate", times, 0, 1024, 2048)
	s.refused(sai.StatusInvalidParameter, sai.ObjectTypeScheduler, sai.SchedulerAttrMaxBandwidthBurstRate,
		sai.Uint(engine.MaxBurst(profile.Small().ClockHz)+1))
}

// A queue that its shaper holds leaves the port to the others. The port's own shaper holds all of them.
func TestSAIShapedPort(t *testing.T) {
	s := newShapedPort(t)
	shaper := s.scheduler(sai.SchedulerAttrMaxBandwidthRate, sai.Uint(125_000_000))
	s.set(sai.ObjectTypeQueue, s.queue(0), sai.QueueAttrSchedulerProfileID, shaper)
	zero, two := s.leave(2, 3)
	s.wantTimes("the queue with a shaper", zero, 0, 10_040)
	s.wantTimes("the queue without one", two, 1024, 2048, 3072)
	s.set(sai.ObjectTypeQueue, s.queue(0), sai.QueueAttrSchedulerProfileID, sai.NullOID)
	s.set(sai.ObjectTypePort, s.oid(1), sai.PortAttrQoSSchedulerProfileID, shaper)
	s.Advance(s.Now() + 100_000)
	zero, two = s.leave(2, 2)
	all := slices.Sorted(slices.Values(slices.Concat(zero, two)))
	s.wantTimes("the port with a shaper", all, 0, 10_040, 20_080, 30_120)
}

// Each queue has a scheduler group of its own, below the port, whose scheduler replaces that of the queue.
func TestSAISchedulerGroups(t *testing.T) {
	s := newShapedPort(t)
	groups := s.parts(sai.PortAttrQoSSchedulerGroupList)
	n := s.get(sai.ObjectTypePort, s.oid(1), sai.PortAttrQoSNumberOfSchedulerGroups)
	if n != sai.Uint(len(groups)) || len(groups) != len(s.parts(sai.PortAttrQoSQueueList)) {
		t.Fatalf("%v scheduler groups, a list of %d, want one for each queue", n, len(groups))
	}
	const group = sai.ObjectTypeSchedulerGroup
	for i, oid := range groups {
		for id, want := range map[sai.AttrID]sai.Value{
			sai.SchedulerGroupAttrChildCount: sai.Uint(1), sai.SchedulerGroupAttrChildList: sai.OIDs{s.queue(i)},
			sai.SchedulerGroupAttrPortID: s.oid(1), sai.SchedulerGroupAttrParentNode: s.oid(1),
			sai.SchedulerGroupAttrLevel: sai.Uint(0), sai.SchedulerGroupAttrMaxChilds: sai.Uint(1),
		} {
			if got := s.get(group, oid, id); sai.Text(textOf(id, got)) != sai.Text(textOf(id, want)) {
				t.Errorf("group %d: %s is %v, want %v", i, id, got, want)
			}
		}
		if got := s.get(sai.ObjectTypeQueue, s.queue(i), sai.QueueAttrParentSchedulerNode); got != oid {
			t.Errorf("the parent of queue %d is %v, want its group, %v", i, got, oid)
		}
	}
	s.wantStatus(s.Set(s.Context(), sai.Obj(group, groups[0]), sai.Attr{ID: sai.SchedulerGroupAttrParentNode,
		Value: groups[1]}), sai.StatusNotSupported)
	s.wantStatus(s.Set(s.Context(), sai.Obj(sai.ObjectTypeQueue, s.queue(0)), sai.Attr{
		ID: sai.QueueAttrParentSchedulerNode, Value: groups[1]}), sai.StatusNotSupported)
	s.refused(sai.StatusNotSupported, group, sai.SchedulerGroupAttrPortID, s.oid(1), sai.SchedulerGroupAttrLevel,
		sai.Uint(0), sai.SchedulerGroupAttrMaxChilds, sai.Uint(1), sai.SchedulerGroupAttrParentNode, s.oid(1))
	s.refused(sai.StatusNotSupported, sai.ObjectTypeQueue, sai.QueueAttrType, sai.QueueTypeUnicast, sai.QueueAttrPort,
		s.oid(1), sai.QueueAttrIndex, sai.Uint(15), sai.QueueAttrParentSchedulerNode, groups[0])
	s.wantStatus(s.Remove(s.Context(), sai.Obj(group, groups[0])), sai.StatusNotSupported)
	shaper := s.scheduler(sai.SchedulerAttrMaxBandwidthRate, sai.Uint(125_000_000))
	s.set(group, groups[0], sai.SchedulerGroupAttrSchedulerProfileID, shaper)
	s.set(sai.ObjectTypeQueue, s.queue(0), sai.QueueAttrSchedulerProfileID, s.scheduler())
	times, _ := s.leave(2, 0)
	s.wantTimes("the group with a shaper", times, 0, 10_040)
	s.set(group, groups[0], sai.SchedulerGroupAttrSchedulerProfileID, sai.NullOID)
	times, _ = s.leave(2, 0)
	s.wantTimes("the queue without one", times, 0, 1024)
	// A list without room is a question for its length.
	got, err := s.Get(s.Context(), sai.Obj(group, groups[0]), []sai.Attr{sai.Want(sai.SchedulerGroupAttrChildList, 0)})
	s.wantStatus(err, sai.StatusBufferOverflow)
	if len(got) != 1 {
		t.Fatalf("a list without room: %v, want its items", got)
	}
	if n, _ := sai.ListLen(got[0].Value); n != 1 {
		t.Errorf("a list without room has %d items, want 1", n)
	}
}

func textOf(id sai.AttrID, v sai.Value) string {
	text, _ := sai.FormatValue(id, v)
	return text
}

// Each colour has its own thresholds. A port's map of DSCPs defines the colour of received packets; others are green.
func TestSAIColours(t *testing.T) {
	s := newShapedPort(t)
	queue := s.queue(0)
	s.set(sai.ObjectTypeQueue, queue, sai.QueueAttrSchedulerProfileID,
		s.scheduler(sai.SchedulerAttrMaxBandwidthRate, sai.Uint(125_000_000))) // so that frames wait
	colours := func(kind sai.Enum, key, value sai.QoSMapParams) sai.OID {
		return s.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, kind, sai.QoSMapAttrMapToValueList,
			sai.QoSMap{{Key: key, Value: value}})
	}
	s.set(sai.ObjectTypePort, s.oid(0), sai.PortAttrQoSDSCPToColorMap, colours(sai.QoSMapTypeDSCPToColor,
		sai.QoSMapParams{DSCP: 46}, sai.QoSMapParams{Color: sai.PacketColorRed}))
	s.set(sai.ObjectTypePort, s.oid(2), sai.PortAttrQoSDefaultTC, sai.Uint(0))
	s.set(sai.ObjectTypePort, s.oid(2), sai.PortAttrQoSDot1pToColorMap, colours(sai.QoSMapTypeDot1pToColor,
		sai.QoSMapParams{Dot1p: 5}, sai.QoSMapParams{Color: sai.PacketColorYellow}))
	// A queue that holds a packet drops red ones and marks yellow ones.
	s.set(sai.ObjectTypeQueue, queue, sai.QueueAttrWREDProfileID, s.create(sai.ObjectTypeWRED,
		sai.WREDAttrRedEnable, sai.Bool(true), sai.WREDAttrRedMinThreshold, sai.Uint(0),
		sai.WREDAttrRedMaxThreshold, sai.Uint(1), sai.WREDAttrRedDropProbability, sai.Uint(100),
		sai.WREDAttrYellowEnable, sai.Bool(false), sai.WREDAttrYellowMinThreshold, sai.Uint(0),
		sai.WREDAttrYellowMaxThreshold, sai.Uint(1), sai.WREDAttrYellowDropProbability, sai.Uint(100),
		sai.WREDAttrECNMarkMode, sai.ECNMarkModeYellow))
	s.refused(sai.StatusInvalidParameter, sai.ObjectTypeWRED, sai.WREDAttrYellowEnable, sai.Bool(true),
		sai.WREDAttrYellowMinThreshold, sai.Uint(9), sai.WREDAttrYellowMaxThreshold, sai.Uint(9))
	const ect = 2
	green := changed(udpFrame(1, 2, 1000), 15, ect)
	red, yellow := changed(green, 15, 46<<2|ect), tagged(5<<13, changed(udpFrame(3, 2, 1000), 15, ect))
	for _, in := range []frameAt{{0, green}, {0, green}, {0, red}, {0, green}} {
		noError(t, s.Receive(in.port, s.Now(), saisim.Frame{Data: in.data}))
	}
	s.Advance(s.Now() + 4000)
	noError(t, s.Receive(2, s.Now(), saisim.Frame{Data: yellow}))
	if outs := s.drain(); len(outs) != 4 {
		t.Errorf("%v leave, want all but the red one", outs)
	}
	for id, want := range map[sai.StatID]uint64{
		sai.QueueStatPackets: 4, sai.QueueStatGreenPackets: 3, sai.QueueStatYellowPackets: 1, sai.QueueStatRedPackets: 0,
		sai.QueueStatDroppedPackets: 1, sai.QueueStatGreenDroppedPackets: 0, sai.QueueStatRedDroppedPackets: 1,
		sai.QueueStatRedDroppedBytes: 1004, sai.QueueStatRedWREDDroppedPackets: 1,
		sai.QueueStatYellowWREDECNMarkedPackets: 1, sai.QueueStatGreenWREDECNMarkedPackets: 0,
		sai.QueueStatYellowBytes: 1008,
	} {
		got, err := s.Stats(s.Context(), sai.Obj(sai.ObjectTypeQueue, queue), []sai.StatID{id})
		if err != nil || got[0] != want {
			t.Errorf("%s is %v (%v), want %d", id, got, err, want)
		}
	}
}
