package saisim_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A sampledChip collects the samples that the CPU gets.
type sampledChip struct {
	*dut
	samples []saisim.Out
	data    [][]byte
}

func newSampledChip(t testing.TB) *sampledChip {
	s := &sampledChip{dut: newDUT(t)}
	s.boot()
	s.SetOutput(func(o *saisim.Out) {
		if o.Trap == config.TrapSample {
			s.samples, s.data = append(s.samples, *o), append(s.data, bytes.Clone(o.Data))
		}
	})
	return s
}

// receive makes a port receive a frame n times.
func (s *sampledChip) receive(port saisim.PortID, frame []byte, n int) {
	s.Helper()
	for range n {
		if err := s.Receive(port, s.Now()+100, saisim.Frame{Data: frame}); err != nil {
			s.Fatal(err)
		}
		s.Advance(s.Now() + 2000)
	}
}

func (s *sampledChip) sampler(rate int, with ...any) sai.Key {
	return sai.Obj(sai.ObjectTypeSamplepacket,
		s.create(sai.ObjectTypeSamplepacket, append([]any{sai.SamplepacketAttrSampleRate, sai.Uint(rate)}, with...)...))
}

// saisamplepacket.h, saiport.h: sampling of received or of leaving frames, its rate, and the metadata for the CPU.
func TestSAISamples(t *testing.T) {
	const in, out = sai.PortAttrIngressSamplepacketEnable, sai.PortAttrEgressSamplepacketEnable
	s := newSampledChip(t)
	every := s.sampler(1, sai.SamplepacketAttrType, sai.SamplepacketTypeSlowPath)
	frame := eth(host(8), host(9), make([]byte, 100))

	s.set(s.port(0), in, every.OID)
	s.receive(0, frame, 2)
	if len(s.samples) != 2 || !bytes.Equal(s.data[0], frame) {
		t.Fatalf("%d samples of 2 frames, the first of which is %x", len(s.samples), s.data)
	}
	flooded := len(s.Ports()) - 1
	if got := s.samples[1].Sample; got.Rate != 1 || got.Pool != 2 || int(got.Copies) != flooded || got.Egress ||
		got.Dropped {
		t.Errorf("the second of flooded frames is %+v", got)
	}
	s.receive(0, eth(host(8), []byte{1, 0, 0, 0, 0, 9}, make([]byte, 46)), 1)
	if got := s.samples[2].Sample; !got.Dropped || got.Why != drop.SourceAddress || got.Copies != 0 {
		t.Errorf("a frame that is dropped is %+v", got)
	}
	s.receive(1, eth(host(9), host(8), make([]byte, 46)), 1)
	s.receive(0, frame, 1) // to host 8, now at port 1
	if got := s.samples[3].Sample; len(s.samples) != 4 || got.Port != 1 || got.Copies != 1 || got.VLAN != 1 {
		t.Errorf("%d samples, a frame to one port is %+v", len(s.samples), got)
	}

	s.set(s.port(0), in, sai.NullOID)
	s.set(s.port(1), out, every.OID)
	s.set(every, sai.SamplepacketAttrTruncateSize, sai.Uint(64))
	s.set(every, sai.SamplepacketAttrTruncateEnable, sai.Bool(true))
	s.receive(0, frame, 1)
	if o := s.samples[4]; !o.Sample.Egress || o.Sample.Port != 1 || o.In != 0 || o.Len != len(frame) ||
		len(s.data[4]) != 64 {
		t.Errorf("as it leaves, cut: %+v", o)
	}
	s.wantStatus("in use", s.Remove(context.Background(), every), sai.StatusObjectInUse)
	s.set(s.port(1), out, sai.NullOID)
	s.remove(every)

	const n = 4000
	s.samples = nil
	four := s.sampler(4, sai.SamplepacketAttrMode, sai.SamplepacketModeExclusive)
	s.set(s.port(0), in, four.OID)
	s.receive(0, frame, n)
	// A gap is 1 to 7 with equal probability, so its variance is 4: 1,000 gaps are within six times 63 of 4,000 frames.
	if got := len(s.samples); got < n/4-100 || got > n/4+100 {
		t.Errorf("%d samples of %d frames, want one in 4", got, n)
	}
	if b := s.FrameCounts(); !b.Balanced() {
		t.Errorf("%+v", b)
	}
}

// Ports that share a sampler are sampled as one. Otherwise each port is sampled separately.
func TestSAISampleModes(t *testing.T) {
	frame := eth(host(8), host(9), make([]byte, 46))
	for mode, want := range map[sai.Enum]string{
		sai.SamplepacketModeShared: "1 2 3", sai.SamplepacketModeExclusive: "1 1 2",
	} {
		s := newSampledChip(t)
		x := s.sampler(1, sai.SamplepacketAttrMode, mode)
		for p := range saisim.PortID(2) {
			s.set(s.port(p), sai.PortAttrIngressSamplepacketEnable, x.OID)
		}
		s.receive(0, frame, 1)
		s.receive(1, frame, 1)
		s.receive(0, frame, 1)
		if len(s.samples) != 3 {
			t.Fatalf("%d samples of 3 frames", len(s.samples))
		}
		if got := fmt.Sprint(s.samples[0].Sample.Pool, s.samples[1].Sample.Pool, s.samples[2].Sample.Pool); got != want {
			t.Errorf("mode %d: numbers %s, want %s", mode, got, want)
		}
	}
}

// Samples take the path of their trap, which can have no other effect on them, and those that its policer drops are
// counted.
func TestSAISampleTrap(t *testing.T) {
	s := newSampledChip(t)
	policer := s.create(sai.ObjectTypePolicer, sai.PolicerAttrMeterType, sai.MeterTypePackets, sai.PolicerAttrMode,
		sai.PolicerModeSrTcm, sai.PolicerAttrCbs, sai.Uint(2), sai.PolicerAttrRedPacketAction, sai.PacketActionDrop)
	group := s.create(sai.ObjectTypeHostifTrapGroup, sai.HostifTrapGroupAttrQueue, sai.Uint(3))
	trap := sai.Obj(sai.ObjectTypeHostifTrap, s.create(sai.ObjectTypeHostifTrap,
		sai.HostifTrapAttrTrapType, sai.HostifTrapTypeSamplepacket, sai.HostifTrapAttrPacketAction, sai.PacketActionTrap,
		sai.HostifTrapAttrTrapGroup, group))
	s.set(s.port(0), sai.PortAttrIngressSamplepacketEnable, s.sampler(1).OID)
	frame := eth(host(8), host(9), make([]byte, 46))
	s.receive(0, frame, 1)
	s.set(sai.Obj(sai.ObjectTypeHostifTrapGroup, group), sai.HostifTrapGroupAttrPolicer, policer)
	s.receive(0, frame, 4) // tokens suffice for two of them
	s.set(sai.Obj(sai.ObjectTypeHostifTrapGroup, group), sai.HostifTrapGroupAttrPolicer, sai.NullOID)
	s.receive(0, frame, 1)
	if len(s.samples) != 4 || s.samples[0].Queue != 3 || s.samples[3].Sample.Lost != 2 || s.samples[3].Sample.Pool != 6 {
		t.Errorf("%d samples, want 4, of which the last knows of 2 that are lost and 6 in all: %+v", len(s.samples),
			s.samples)
	}
	if n := s.FrameCounts().Dropped[drop.Policer]; n != 2 {
		t.Errorf("%d dropped by the policer, want 2", n)
	}
	for _, action := range []sai.Enum{sai.PacketActionForward, sai.PacketActionDrop} {
		err := s.Set(context.Background(), trap, sai.Attr{ID: sai.HostifTrapAttrPacketAction, Value: action})
		s.wantStatus("action", err, sai.StatusNotSupported)
	}
}

// saiacl.h: an entry samples the packets that hit it, separately, and in addition to the sampler of the port.
func TestSAISampleEntries(t *testing.T) {
	s := newSampledChip(t)
	every, rare := s.sampler(1), s.sampler(1<<31)
	frame := eth(host(9), host(8), make([]byte, 46))
	table := func(stage, action sai.Enum) sai.OID {
		return s.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, stage, sai.ACLTableAttrFieldSrcMAC, sai.Bool(true),
			sai.ACLTableAttrACLActionTypeList, sai.Enums{action, sai.ACLActionTypeCounter, sai.ACLActionTypePacketAction})
	}
	const in, out = sai.ACLEntryAttrActionIngressSamplepacketEnable, sai.ACLEntryAttrActionEgressSamplepacketEnable
	ingress := table(sai.ACLStageIngress, sai.ACLActionTypeIngressSamplepacketEnable)
	egress := table(sai.ACLStageEgress, sai.ACLActionTypeEgressSamplepacketEnable)
	counter := s.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, ingress, sai.ACLCounterAttrLabel,
		sai.Text("T|web"))
	from8 := sai.Match(sai.MAC(host(8)), sai.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	e := sai.Obj(sai.ObjectTypeACLEntry, s.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, ingress,
		sai.ACLEntryAttrFieldSrcMAC, from8,
		in, sai.Do(every.OID), sai.ACLEntryAttrActionCounter, sai.Do(counter)))
	s.set(s.port(0), sai.PortAttrIngressACL, ingress)
	s.receive(0, eth(host(9), host(7), make([]byte, 46)), 3) // these hit no entry
	s.receive(0, frame, 2)
	if len(s.samples) != 2 || s.samples[1].Sample.Pool != 2 || s.samples[1].Sample.Entry != config.ID(e.OID) ||
		s.samples[1].Sample.Rule != "T|web" || s.samples[1].Sample.Egress {
		t.Fatalf("of two packets that hit: %d samples, %+v", len(s.samples), s.samples)
	}
	s.set(s.port(0), sai.PortAttrIngressSamplepacketEnable, every.OID)
	s.receive(0, frame, 1)
	if n := len(s.samples); n != 4 || s.samples[2].Sample.Entry != config.None || s.samples[3].Sample.Pool != 3 {
		t.Fatalf("chosen by port and entry: %d samples, %+v", n, s.samples)
	}
	s.set(s.port(0), sai.PortAttrIngressSamplepacketEnable, sai.NullOID)

	s.set(e, in, sai.Do(rare.OID)) // changes the rate and keeps the pool
	s.receive(0, frame, 5)
	s.set(e, in, sai.Do(every.OID))
	s.set(e, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
	s.receive(0, frame, 1)
	if got := s.samples[4].Sample; len(s.samples) != 5 || got.Pool != 9 || !got.Dropped || got.Why != drop.ACL {
		t.Errorf("dropped by the entry: %+v", got)
	}
	s.wantStatus("in use", s.Remove(context.Background(), every), sai.StatusObjectInUse)
	s.remove(e)

	s.receive(1, eth(host(8), host(9), make([]byte, 46)), 1) // host 9 is at port 1
	x := sai.Obj(sai.ObjectTypeACLEntry, s.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, egress, out,
		sai.Do(every.OID)))
	s.set(s.port(1), sai.PortAttrEgressACL, egress)
	s.receive(0, frame, 1)
	s.set(x, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
	s.receive(0, frame, 1)
	if n := len(s.samples); n != 7 {
		t.Fatalf("%d samples, want 7", n)
	}
	if got := s.samples[5].Sample; !got.Egress || got.Port != 1 || got.Pool != 1 || got.Rule != "" ||
		got.Entry != config.ID(x.OID) {
		t.Errorf("as it leaves: %+v", got)
	}
	if got := s.samples[6].Sample; !got.Dropped || got.Why != drop.EgressACL || got.Copies != 0 || got.Port != 1 {
		t.Errorf("dropped as it leaves: %+v", got)
	}
	if b := s.FrameCounts(); !b.Balanced() {
		t.Errorf("%+v", b)
	}
	s.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, egress, in,
		sai.Do(every.OID))
	s.refuseCreate(sai.StatusNotSupported, sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrFieldSrcMAC, sai.Bool(true), sai.ACLTableAttrACLActionTypeList,
		sai.Enums{sai.ACLActionTypeEgressSamplepacketEnable})
}

func TestSAISampleRefusals(t *testing.T) {
	s := newSampledChip(t)
	rate := func(n int) []any { return []any{sai.SamplepacketAttrSampleRate, sai.Uint(n)} }
	const cut = sai.SamplepacketAttrTruncateEnable
	s.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypeSamplepacket, rate(0)...)
	s.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypeSamplepacket, rate(1<<31+1)...)
	s.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypeSamplepacket,
		append(rate(9), cut, sai.Bool(true), sai.SamplepacketAttrTruncateSize, sai.Uint(13))...)
	s.refuseCreate(sai.StatusNotSupported, sai.ObjectTypeSamplepacket,
		append(rate(9), sai.SamplepacketAttrType, sai.SamplepacketTypeMirrorSession)...)
}
