package packettrace

import (
	"fmt"
	"slices"

	"tamtam/saisim"
)

// A Burst is a burst of a queue while a packet waited there, so it is why the packet was late, or dropped.
type Burst struct {
	Queue    string      `json:"queue"` // port:number
	Index    uint64      `json:"index"` // number among the queue's bursts since the start of the chip
	Begin    string      `json:"begin"`
	Duration uint64      `json:"duration"` // ns, until now if it is open
	Open     bool        `json:"open,omitempty"`
	Peak     uint64      `json:"peak"`  // bytes
	Bytes    uint64      `json:"bytes"` // of all packets that were in the queue during the burst
	Flows    []BurstFlow `json:"flows"` // those with the most bytes first
	Rest     uint64      `json:"rest"`  // bytes that each other flow has at most; 0 means that there is no other
}

// A BurstFlow is a flow in a burst. It has at most Bytes, and at least Bytes - Over.
type BurstFlow struct {
	Flow  string `json:"flow"`
	Bytes uint64 `json:"bytes"`
	Over  uint64 `json:"over,omitempty"`
}

// burstsOf returns the bursts of a packet's queue between the cycle in which it was queued and that of its end.
func (n *names) burstsOf(chip *saisim.Chip, k *saisim.Kept, all *saisim.BurstReading) (list []Burst) {
	if !k.Queued {
		return nil
	}
	for _, b := range slices.Concat(all.List, all.Open) {
		if b.Port != k.Port || b.Queue != k.Queue || b.End < k.QueuedAt || b.Begin > k.At {
			continue
		}
		x := Burst{
			Queue: fmt.Sprintf("%s:%d", n.port(b.Port), b.Queue), Index: b.Index, Begin: n.time(chip, b.Begin), Open: b.Open,
			Duration: uint64(chip.TimeOfDay(b.End).Sub(chip.TimeOfDay(b.Begin))), Peak: b.Peak, Bytes: b.Bytes, Rest: b.Rest,
			Flows: []BurstFlow{},
		}
		for _, f := range b.Flows {
			x.Flows = append(x.Flows, BurstFlow{textOfFlow(f.FlowID), f.Bytes, f.Over})
		}
		list = append(list, x)
	}
	return list
}

func textOfFlow(f saisim.FlowID) string {
	if !f.Src.IsValid() {
		return fmt.Sprintf("%x > %x ether-type %#04x", f.SMAC, f.DMAC, f.EtherType)
	}
	proto := f.Protocol
	flow := saisim.Flow{Src: f.Src, Dst: f.Dst, Proto: &proto}
	if f.SrcPort != 0 || f.DstPort != 0 {
		flow.SrcPort, flow.DstPort = &f.SrcPort, &f.DstPort
	}
	return flowText(flow)
}
