package chipload

import (
	"fmt"

	"tamtam/sai"
	"tamtam/saisim"
)

// sample enables sampling on each port: one packet in the given number of received ones.
func (s *calls) sample(ports []sai.OID, one uint32) {
	sampler := s.create(sai.ObjectTypeSamplepacket, sai.Attr{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(one)},
		sai.Attr{ID: sai.SamplepacketAttrType, Value: sai.SamplepacketTypeSlowPath})
	for _, oid := range ports {
		s.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrIngressSamplepacketEnable, sampler)
	}
}

// datagramHead is the part of a packet that an sFlow datagram contains, in bytes.
const datagramHead = 128

// report registers a listener for drops, which copies the part of each packet that a datagram contains.
func (t *Feed) report() {
	var head [datagramHead]byte
	t.chip.OnDrop(func(d *saisim.Drop) {
		copy(head[:], d.Data)
		t.reported++
	})
}

// checkSamples returns an error unless the numbers of samples and of reported drops fit the load.
func (t *Feed) checkSamples() error {
	l := t.load
	if l.OneIn > 0 { // gaps are random, from 1 to twice the rate, so their sum is near its mean
		want := uint64(t.next) / uint64(l.OneIn)
		if want > 100 && (t.sampled < want*3/4 || t.sampled > want*5/4) || t.sampled > 2*want+100 {
			return fmt.Errorf("%+v: %d samples of %d packets, want about %d", l, t.sampled, t.next, want)
		}
	}
	if l.Reported && l.Dropped > 0 && t.reported != uint64(t.next/l.Dropped) {
		return fmt.Errorf("%+v: told of %d drops, want %d", l, t.reported, t.next/l.Dropped)
	}
	return nil
}
