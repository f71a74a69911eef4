package extension

import (
	"encoding/json"
	"math/bits"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/burst"
)

// A burstWindow reads the records of bursts. It is not configuration.
type burstWindow struct {
	of    *Chip
	entry map[string]json.RawMessage
	from  uint64
}

func (w *burstWindow) Apply(text []byte) error {
	next := burstWindow{of: w.of}
	if len(text) > 0 {
		var r burst.Request
		var err error
		if next.entry, err = readExtension(text, burst.AttrRead, &r); err != nil {
			return err
		}
		next.from = r.From
	}
	*w = next
	return nil
}

func (w *burstWindow) Leave() {}

// Read returns the object's entry with the records.
func (w *burstWindow) Read() sai.Value {
	r := w.of.Engine.Bursts(w.from, burst.MaxRecords)
	to := burst.Reading{
		Started: w.of.Start.UnixNano(), Ended: r.Ended, First: r.First, List: []burst.Record{}, Open: []burst.Record{},
		Opened: len(r.Open),
	}
	for i := range r.List {
		to.List = append(to.List, w.record(&r.List[i]))
	}
	for i := range r.Open[:min(len(r.Open), burst.MaxOpen)] {
		to.Open = append(to.Open, w.record(&r.Open[i]))
	}
	return writeValues(w.entry, extensionValue{burst.AttrBursts, valueJSON, to})
}

func (w *burstWindow) record(b *engine.Burst) burst.Record {
	clock := w.of.Engine.Clock()
	at := func(c engine.Cycle) int64 { return nanos(clock.At(c)) }
	begin, end := clock.Status(b.Begin), clock.Status(b.End)
	r := burst.Record{
		Port: b.Number, Queue: b.Queue, Index: b.Index, State: burst.Ended, High: b.Limits.High, Low: b.Limits.Low,
		Begin: at(b.Begin), End: at(b.End), PeakAt: at(b.PeakAt), Cycles: uint64(b.End - b.Begin),
		Unsynced: !begin.Synchronised || !end.Synchronised || clock.SetBetween(b.Begin, b.End),
		Peak:     b.Peak, Packets: b.Packets, Bytes: b.Bytes, Standing: b.Standing, Dropped: b.Dropped,
		DroppedBytes: b.DroppedBytes, Flows: []burst.Flow{}, Rest: b.Rest,
	}
	hi, lo := bits.Mul64(r.Cycles, 1e9)
	if hz := w.of.Profile.ClockHz; hi < hz {
		r.Duration, _ = bits.Div64(hi, lo, hz)
	}
	switch {
	case b.Open:
		r.State = burst.Open
	case b.Cut:
		r.State = burst.Cut
	}
	for _, f := range b.Flows {
		x := burst.Flow{SrcPort: f.SrcPort, DstPort: f.DstPort, Protocol: f.Protocol, Bytes: f.Bytes, Over: f.Over}
		if f.Src.IsValid() {
			x.Src, x.Dst = f.Src.String(), f.Dst.String()
		} else {
			x.Src, x.Dst, x.EtherType = sai.MAC(f.SMAC).String(), sai.MAC(f.DMAC).String(), f.EtherType
		}
		r.Flows = append(r.Flows, x)
	}
	return r
}

// nanos returns a time of day in ns since 1970.
func nanos(t tailstamp.Timestamp) int64 { return int64(t.Seconds)*1e9 + int64(t.Nanoseconds) }
