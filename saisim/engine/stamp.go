package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
)

func (c *core) applyTAMInt(r config.TAMInt, gone bool) {
	if gone {
		if x := at[*ifaInt](c, r.ID); x != nil {
			x.reports = nil
		}
		delete(c.ids, r.ID)
		return
	}
	if r.IFA.On {
		c.applyIFA(r)
		return
	}
	c.ids[r.ID] = &tamInt{switchID: r.SwitchID}
}

const minFrame = minWire - fcsLen

// stampable decides whether a record can be appended to a copy of length bytes, without FCS, as it leaves. mtu is the
// egress port's MTU for such frames, with FCS, or 0 for the CPU.
func stampable(pk *packet, length int, mtu uint32) stampResult {
	switch {
	case pk.endUnknown():
		return stampCut
	case pk.usual: // TCP or UDP
	case pk.h.flags&flagEthernet2 == 0:
		return stampNotEthernet2
	case !pk.h.stampable():
		return stampNotTCPUDP
	}
	if mtu > 0 && uint32(stampedLen(length))+fcsLen > mtu {
		return stampMTU
	}
	return stampDone
}

// stampedLen returns the length, without FCS, of a frame with one more record.
func stampedLen(length int) int { return max(length, minFrame) + tailstamp.Size }

// appendRecord pads the frame b, which is in c.spares.scratch, and appends the record. If the egress cycle is 0, the
// record has no egress time.
func (c *core) appendRecord(b []byte, a *stampAction, pk *packet, out uint16, egress Cycle) []byte {
	for len(b) < minFrame {
		b = append(b, 0)
	}
	n := len(b)
	b = b[:n+tailstamp.Size]
	r := tailstamp.Record{SwitchID: a.switchID, InPort: pk.inN, OutPort: out}
	var s stay
	if egress == 0 {
		r.Flags = tailstamp.NoEgress
		s.in, s.unsync = c.timeOfDay(pk.rx)
	} else {
		s = c.stayFrom(pk.rx, egress)
	}
	r.Ingress, r.Egress = s.in, s.out
	if s.unsync {
		r.Flags |= tailstamp.Unsynchronised
	}
	if s.set {
		r.Flags |= tailstamp.ClockSet
	}
	r.Put((*[tailstamp.Size]byte)(b[n:]))
	return b
}
