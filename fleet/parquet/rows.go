package parquet

import "tamtam/collector/result"

// The columns of files. Unknown values are null, never 0. Times and latencies are in nanoseconds, as in package result.

// windowRow holds the columns of a row's window.
type windowRow struct {
	Start  int64 `parquet:"window_start_ns,delta"`
	Length int64 `parquet:"window_length_ns,dict"`
}

type hopRow struct {
	windowRow
	Flow     string   `parquet:"flow,dict"`
	Path     string   `parquet:"path,dict"`
	Index    int32    `parquet:"hop,dict"`
	Switch   uint32   `parquet:"switch_id,dict"`
	In       uint32   `parquet:"in_port,dict"`
	Out      uint32   `parquet:"out_port,dict"`
	Packets  int64    `parquet:"packets"`
	Unknown  int64    `parquet:"packets_residence_unknown"`
	Resident int64    `parquet:"residence_count"`
	Sum      *int64   `parquet:"residence_sum_ns"`
	Min      *int64   `parquet:"residence_min_ns"`
	Max      *int64   `parquet:"residence_max_ns"`
	Buckets  []uint32 `parquet:"residence_buckets,list"`
	Link     int64    `parquet:"link_count"`
	LinkSum  *int64   `parquet:"link_sum_ns"`
	LinkMin  *int64   `parquet:"link_min_ns"`
	LinkMax  *int64   `parquet:"link_max_ns"`
	LinkBuck []uint32 `parquet:"link_buckets,list"`
	Flags    uint32   `parquet:"flags"`
}

func known[T any](v T, is bool) *T {
	if !is {
		return nil
	}
	return &v
}

func or[T any](v *T, null T) T {
	if v == nil {
		return null
	}
	return *v
}

// distribution returns a distribution from its columns; the first bucket is that of the smallest latency.
func distribution(count int64, sum, least, most *int64, buckets []uint32) result.Distribution {
	d := result.Distribution{Count: count, Sum: or(sum, 0), Min: or(least, 0), Max: or(most, 0), Buckets: buckets}
	if count > 0 {
		d.First = result.Bucket(d.Min)
	}
	return d
}

func fromHop(h *result.Hop) hopRow {
	r, l := h.Resident, h.Link
	return hopRow{
		windowRow: windowRow{Start: h.Window.Start, Length: h.Window.Length}, Flow: h.Flow, Path: h.Path,
		Index: int32(h.Index), Switch: h.Switch, In: uint32(h.In), Out: uint32(h.Out), Packets: h.Packets, Unknown: h.Unknown,
		Resident: r.Count, Sum: known(r.Sum, r.Count > 0), Min: known(r.Min, r.Count > 0), Max: known(r.Max, r.Count > 0),
		Buckets: r.Buckets,
		Link:    l.Count, LinkSum: known(l.Sum, l.Count > 0), LinkMin: known(l.Min, l.Count > 0),
		LinkMax: known(l.Max, l.Count > 0), LinkBuck: l.Buckets, Flags: uint32(h.Flags),
	}
}

func (r *hopRow) row() result.Hop {
	return result.Hop{
		Window: result.Window{Start: r.Start, Length: r.Length}, Flow: r.Flow, Path: r.Path, Index: int(r.Index),
		Switch: r.Switch, In: uint16(r.In), Out: uint16(r.Out), Packets: r.Packets, Unknown: r.Unknown,
		Resident: distribution(r.Resident, r.Sum, r.Min, r.Max, r.Buckets),
		Link:     distribution(r.Link, r.LinkSum, r.LinkMin, r.LinkMax, r.LinkBuck), Flags: result.Flags(r.Flags),
	}
}

type dropRow struct {
	Start   int64  `parquet:"window_start_ns,delta"`
	Length  int64  `parquet:"window_length_ns,dict"`
	Switch  string `parquet:"switch,dict"`
	Port    string `parquet:"port,dict"`
	Queue   *int32 `parquet:"queue"` // -2 if the packet was in no queue
	Reason  string `parquet:"reason,dict"`
	Rule    string `parquet:"rule,dict"`
	Flow    string `parquet:"flow,dict"`
	Packets int64  `parquet:"packets"`
	First   int64  `parquet:"first_ns"`
	Last    int64  `parquet:"last_ns"`
	Source  string `parquet:"source,dict"`
	Flags   uint32 `parquet:"flags"`
}

func fromDrop(d *result.Drop) dropRow {
	return dropRow{
		Start: d.Window.Start, Length: d.Window.Length, Switch: d.Switch, Port: d.Port,
		Queue: known(int32(d.Queue), d.Queue != result.UnknownQueue), Reason: d.Reason, Rule: d.Rule, Flow: d.Flow,
		Packets: d.Packets,
		First:   d.First, Last: d.Last, Source: d.Source, Flags: uint32(d.Flags),
	}
}

func (r *dropRow) row() result.Drop {
	return result.Drop{
		Window: result.Window{Start: r.Start, Length: r.Length}, Switch: r.Switch, Port: r.Port,
		Queue: int(or(r.Queue, result.UnknownQueue)), Reason: r.Reason, Rule: r.Rule, Flow: r.Flow, Packets: r.Packets,
		First: r.First, Last: r.Last, Source: r.Source, Flags: result.Flags(r.Flags),
	}
}

// placeRow identifies the flow and the switches between which a loss is.
type placeRow struct {
	Flow    string `parquet:"flow,dict"`
	Cluster string `parquet:"cluster,dict"`
	From    string `parquet:"from,dict"`
	To      string `parquet:"to,dict"`
}

type lossRow struct {
	placeRow
	Period   uint64   `parquet:"period"`
	Start    int64    `parquet:"window_start_ns,delta"`
	Length   int64    `parquet:"window_length_ns,dict"`
	Status   string   `parquet:"status,dict"`
	Sent     *int64   `parquet:"sent"`
	Received *int64   `parquet:"received"`
	Lost     *int64   `parquet:"lost"`
	Delay    int64    `parquet:"delay_count"`
	Sum      *int64   `parquet:"delay_sum_ns"`
	Min      *int64   `parquet:"delay_min_ns"`
	Max      *int64   `parquet:"delay_max_ns"`
	Buckets  []uint32 `parquet:"delay_buckets,list"`
	Mean     *int64   `parquet:"mean_delay_ns"`
	MeanSum  *string  `parquet:"mean_delay_sum_ns"` // a decimal number of up to 128 bits
	NoMean   *string  `parquet:"mean_delay_unknown,dict"`
	Detail   string   `parquet:"detail,dict"`
	Flags    uint32   `parquet:"flags"`
}

func fromLoss(l *result.Loss) lossRow {
	d := l.Delay
	return lossRow{
		placeRow: placeRow{Flow: l.Flow, Cluster: l.Cluster, From: l.From, To: l.To}, Period: l.Period,
		Start: l.Window.Start, Length: l.Window.Length, Status: l.Status, Sent: known(l.Sent, l.Known || l.Excess),
		Received: known(l.Received, l.Known || l.Excess),
		Lost:     known(l.Lost, l.Known), Delay: d.Count, Sum: known(d.Sum, d.Count > 0), Min: known(d.Min, d.Count > 0),
		Max: known(d.Max, d.Count > 0), Buckets: d.Buckets, Mean: known(l.Mean.Delay, l.Mean.Known),
		MeanSum: known(l.Mean.Sum, l.Mean.Sum != ""), NoMean: known(l.Mean.Unknown, l.Mean.Unknown != ""),
		Detail: l.Detail, Flags: uint32(l.Flags),
	}
}

func (r *lossRow) row() result.Loss {
	return result.Loss{
		Flow: r.Flow, Cluster: r.Cluster, From: r.From, To: r.To, Period: r.Period,
		Window: result.Window{Start: r.Start, Length: r.Length}, Status: r.Status, Known: r.Lost != nil,
		Excess: r.Lost == nil && r.Sent != nil, Sent: or(r.Sent, 0), Received: or(r.Received, 0), Lost: or(r.Lost, 0),
		Delay: distribution(r.Delay, r.Sum, r.Min, r.Max, r.Buckets),
		Mean: result.MeanDelay{Known: r.Mean != nil, Delay: or(r.Mean, 0), Sum: or(r.MeanSum, ""),
			Unknown: or(r.NoMean, "")},
		Detail: r.Detail, Flags: result.Flags(r.Flags),
	}
}

type journeyRow struct {
	Time      int64     `parquet:"time_ns,delta"`
	Flow      string    `parquet:"flow,dict"`
	Key       string    `parquet:"key"`
	From      string    `parquet:"from,dict"`
	Hops      []stepRow `parquet:"hops,list"`
	End       string    `parquet:"end,dict"`
	Ambiguous bool      `parquet:"ambiguous"`
	Candidate int32     `parquet:"candidate"`
	Of        int32     `parquet:"candidates"`
	Flags     uint32    `parquet:"flags"`
}

type stepRow struct {
	Parent    int32  `parquet:"parent"`
	Switch    string `parquet:"switch"`
	In        string `parquet:"in_port"`
	Out       string `parquet:"out_port"`
	Arrival   *int64 `parquet:"arrival_ns"`
	Departure *int64 `parquet:"departure_ns"`
	Queue     *int32 `parquet:"queue"`
	Depth     *int64 `parquet:"depth_bytes"`
	Tables    string `parquet:"tables"`
	Dropped   string `parquet:"dropped"`
	Perhaps   string `parquet:"perhaps"`
}

func fromJourney(j *result.Journey) journeyRow {
	r := journeyRow{
		Time: j.Time, Flow: j.Flow, Key: j.Key, From: j.From,
		End: j.End, Ambiguous: j.Ambiguous, Candidate: int32(j.Candidate),
		Of: int32(j.Of), Flags: uint32(j.Flags),
	}
	for _, h := range j.Hops {
		r.Hops = append(r.Hops, stepRow{
			Parent: int32(h.Parent), Switch: h.Switch, In: h.In, Out: h.Out, Arrival: known(h.Arrival, h.Arrival != 0),
			Departure: known(h.Departure, h.Departure != 0), Queue: known(int32(h.Queue), h.Queue >= 0),
			Depth: known(h.Depth, h.Depth >= 0), Tables: h.Tables, Dropped: h.Dropped, Perhaps: h.Perhaps,
		})
	}
	return r
}

func (r *journeyRow) row() result.Journey {
	j := result.Journey{
		Time: r.Time, Flow: r.Flow, Key: r.Key, From: r.From, End: r.End, Ambiguous: r.Ambiguous, Candidate: int(r.Candidate),
		Of: int(r.Of), Flags: result.Flags(r.Flags),
	}
	for _, h := range r.Hops {
		j.Hops = append(j.Hops, result.JourneyHop{
			Parent: int(h.Parent), Switch: h.Switch, In: h.In, Out: h.Out, Arrival: or(h.Arrival, 0),
			Departure: or(h.Departure, 0), Queue: int(or(h.Queue, -1)), Depth: or(h.Depth, -1), Tables: h.Tables,
			Dropped: h.Dropped, Perhaps: h.Perhaps,
		})
	}
	return j
}

type sketchRow struct {
	Start    *int64   `parquet:"start_ns"`
	Time     int64    `parquet:"time_ns,delta"`
	Switch   string   `parquet:"switch,dict"`
	Task     string   `parquet:"task,dict"`
	Key      string   `parquet:"key"`
	Estimate float64  `parquet:"estimate"`
	Low      *float64 `parquet:"bound_low"`
	High     *float64 `parquet:"bound_high"`
	Truth    *float64 `parquet:"truth"`
	Flags    string   `parquet:"flags,dict"`
}

func fromSketch(s *result.Sketch) sketchRow {
	return sketchRow{
		Start: known(s.Start, s.Start != 0), Time: s.Time, Switch: s.Switch, Task: s.Task, Key: s.Key,
		Estimate: s.Estimate, Low: known(s.Low, s.Bounded), High: known(s.High, s.Bounded),
		Truth: known(s.Truth, s.Known), Flags: s.Flags,
	}
}

func (r *sketchRow) row() result.Sketch {
	return result.Sketch{
		Start: or(r.Start, 0), Time: r.Time, Switch: r.Switch, Task: r.Task, Key: r.Key, Estimate: r.Estimate,
		Low: or(r.Low, 0), High: or(r.High, 0), Bounded: r.Low != nil, Truth: or(r.Truth, 0), Known: r.Truth != nil,
		Flags: r.Flags,
	}
}

type sourceRow struct {
	Name      string `parquet:"source,dict"`
	Kind      string `parquet:"kind,dict"`
	Batches   int64  `parquet:"batches"`
	Events    int64  `parquet:"events"`
	Lost      int64  `parquet:"batches_lost"`
	Twice     int64  `parquet:"batches_twice"`
	Bad       int64  `parquet:"batches_bad"`
	Late      int64  `parquet:"events_late"`
	LeftOut   int64  `parquet:"events_left_out"`
	Latest    *int64 `parquet:"latest_ns"`
	Reported  *int64 `parquet:"told_ns"`
	Silent    bool   `parquet:"silent"`
	Number    uint64 `parquet:"number"`
	Watermark int64  `parquet:"promise_ns"`
}

func fromSource(s *result.Source) sourceRow {
	return sourceRow{
		Name: s.Name, Kind: s.Kind, Batches: s.Batches, Events: s.Events, Lost: s.Lost, Twice: s.Twice, Bad: s.Bad,
		Late: s.Late, LeftOut: s.LeftOut, Latest: known(s.Latest, s.Latest != 0),
		Reported: known(s.ReportedUntil, s.ReportedUntil != 0),
		Silent:   s.Silent, Number: s.Number, Watermark: s.Watermark,
	}
}

func (r *sourceRow) row() result.Source {
	return result.Source{
		Name: r.Name, Kind: r.Kind, Batches: r.Batches, Events: r.Events, Lost: r.Lost, Twice: r.Twice, Bad: r.Bad,
		Late: r.Late, LeftOut: r.LeftOut,
		Latest: or(r.Latest, 0), ReportedUntil: or(r.Reported, 0), Silent: r.Silent, Number: r.Number, Watermark: r.Watermark,
	}
}

type amendRow struct {
	From  int64  `parquet:"from_ns"`
	To    int64  `parquet:"to_ns"`
	Flags uint32 `parquet:"flags"`
}

func fromAmend(a *result.Amend) amendRow {
	return amendRow{From: a.From, To: a.To, Flags: uint32(a.Flags)}
}

func (r *amendRow) row() result.Amend {
	return result.Amend{From: r.From, To: r.To, Flags: result.Flags(r.Flags)}
}
