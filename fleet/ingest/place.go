package ingest

import (
	"encoding/binary"

	"tamtam/fleet/event"
)

// Events of one flow that entered at one place are assigned to one partition, whatever their source, in all processes.
// So the worker that joins them sees all captures of a frame along its path.

func ofFrame(f *event.Frame) uint64 {
	h := mix(binary.BigEndian.Uint64(f.Flow.Source[8:]), binary.BigEndian.Uint64(f.Flow.Destination[8:]))
	if f.Flow.Form&event.IPv6 != 0 {
		h = mix(h, binary.BigEndian.Uint64(f.Flow.Source[:]))
		h = mix(h, binary.BigEndian.Uint64(f.Flow.Destination[:]))
	}
	h = mix(h, uint64(f.Flow.SourcePort)<<24|uint64(f.Flow.DestPort)<<8|uint64(f.Flow.Protocol))
	x := &f.Hops[0]
	return mix(h, uint64(x.Switch)<<32|uint64(x.In)<<16|uint64(x.Out)) >> 32
}

func ofDrop(d *event.Drop) uint64 { return ofTexts(d.Switch, d.Port, d.Reason, d.Rule, d.Flow) }

func ofSketch(s *event.Sketch) uint64 { return ofTexts(s.Switch, s.Task, s.Key) }

func ofTexts(texts ...string) uint64 {
	h := uint64(odd)
	for _, text := range texts {
		for i := range len(text) {
			h = mix(h, uint64(text[i]))
		}
		h = mix(h, uint64(len(text)))
	}
	return h >> 32
}

// odd is 2^64 divided by the golden ratio.
const odd = 0x9e3779b97f4a7c15

func mix(h, v uint64) uint64 {
	h = (h ^ v) * odd
	return h ^ h>>29
}
