package chipload

import (
	"fmt"

	"tamtam/sai"
	"tamtam/saisim"
)

// sample has each port sampled, of one in so many packets that come in.
func (s *calls) sample(ports []sai.OID, one uint32) {
	sampler := s.create(sai.ObjectTypeSamplepacket, sai.Attr{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(one)},
		sai.Attr{ID: sai.SamplepacketAttrType, Value: sai.SamplepacketTypeSlowPath})
	for _, oid := range ports {
		s.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrIngressSamplepacketEnable, sampler)
	}
}

// datagramHead is how much of a packet a datagram of sFlow has.
const datagramHead = 128

// tell has somebody told of drops, who takes of each what a datagram has.
func (t *Feed) tell() {
	var head [datagramHead]byte
	t.chip.OnDrop(func(d *saisim.Drop) {
		copy(head[:], d.Data)
		t.told++
	})
}

// checkSamples returns an error unless there were samples as the load says, and each drop was told.
func (t *Feed) checkSamples() error {
	l := t.load
	if l.OneIn > 0 { // gaps are random, from 1 to twice the rate: of many the sum is near its mean
		want := uint64(t.next) / uint64(l.OneIn)
		if want > 100 && (t.sampled < want*3/4 || t.sampled > want*5/4) || t.sampled > 2*want+100 {
			return fmt.Errorf("%+v: %d samples of %d packets, want about %d", l, t.sampled, t.next, want)
		}
	}
	if l.Told && l.Dropped > 0 && t.told != uint64(t.next/l.Dropped) {
		return fmt.Errorf("%+v: told of %d drops, want %d", l, t.told, t.next/l.Dropped)
	}
	return nil
}
