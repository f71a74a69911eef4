package truth

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// A Report holds the exact values of a group. Bytes are lengths with FCS.
type Report struct {
	Frames         uint64      `json:"frames"` // frames that entered the network
	Bytes          uint64      `json:"bytes"`
	Copies         int64       `json:"copies"` // copies beyond the first of each frame
	Delivered      uint64      `json:"delivered"`
	DeliveredBytes uint64      `json:"delivered_bytes"`
	ToCPU          uint64      `json:"to_cpu"`
	Lost           []LossCount `json:"lost"`
	InFlight       int64       `json:"in_flight"`
	Delay          Delay       `json:"delay"` // delay of delivered frames
	Paths          []PathCount `json:"paths"`
	Flows          []Flow      `json:"flows,omitempty"`
	FlowsLeftOut   uint64      `json:"flows_left_out,omitempty"` // frames of flows beyond Group.MaxFlows
	Deliveries     []Delivery  `json:"deliveries,omitempty"`
}

// A Loss is where and why a copy was lost. A frame that a link lost is counted at the link's receiving end.
type Loss struct {
	Node   string `json:"node"`
	Port   string `json:"port"`
	Reason string `json:"reason"`
}

// A LossCount is the number of copies lost at one place for one reason.
type LossCount struct {
	Loss
	Count uint64 `json:"count"`
}

// A Delay summarises one-way delays. The quantiles are at most a sixteenth too large, and never too small. If there are
// no delays, all values are absent, not 0.
type Delay struct {
	Count  uint64 `json:"count"`
	MinPs  uint64 `json:"min_ps,omitempty"`
	MeanPs uint64 `json:"mean_ps,omitempty"`
	MaxPs  uint64 `json:"max_ps,omitempty"`
	// SumPs is exact if it is below 2^64.
	SumPs uint64 `json:"sum_ps,omitempty"`
	P50Ps uint64 `json:"p50_ps,omitempty"`
	P99Ps uint64 `json:"p99_ps,omitempty"`
	// Buckets holds the non-empty buckets.
	Buckets []Bucket `json:"buckets,omitempty"`
}

// A Bucket counts the delays that are at most its length and exceed the length of the bucket before.
type Bucket struct {
	UpToPs uint64 `json:"up_to_ps"`
	Count  uint64 `json:"count"`
}

// A PathCount is the number of copies delivered over a path, for example "sw1:Ethernet0>Ethernet4".
type PathCount struct {
	Path  string `json:"path"`
	Count uint64 `json:"count"`
}

// A Flow holds the exact values of one flow of a group. A field is empty if the group does not divide flows by it.
type Flow struct {
	In        string `json:"in,omitempty"`
	VLAN      uint16 `json:"vlan,omitempty"`
	Src       string `json:"src,omitempty"`
	Dst       string `json:"dst,omitempty"`
	Protocol  uint8  `json:"protocol,omitempty"`
	SrcPort   uint16 `json:"src_port,omitempty"`
	DstPort   uint16 `json:"dst_port,omitempty"`
	DSCP      uint8  `json:"dscp,omitempty"`
	Frames    uint64 `json:"frames"`
	Bytes     uint64 `json:"bytes"`
	Delivered uint64 `json:"delivered"`
	ToCPU     uint64 `json:"to_cpu"`
	Lost      uint64 `json:"lost"`
	Delay     Delay  `json:"delay"`
}

// A Delivery is a copy that left the network.
type Delivery struct {
	Frame   uint64 `json:"frame"`
	At      Time   `json:"at"`
	DelayPs uint64 `json:"delay_ps"`
}

// Reports returns the exact values of every group by name, at this instant.
func (o *Oracle) Reports() map[string]Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]Report{}
	for _, g := range o.groups {
		all[g.Name] = g.report()
	}
	return all
}

func (g *group) report() Report {
	r := Report{
		Frames: g.frames, Bytes: g.bytes, Copies: g.copies, Delivered: g.delivered, DeliveredBytes: g.deliveredBytes,
		ToCPU: g.toCPU, InFlight: g.inFlight, Delay: g.delay.report(), FlowsLeftOut: g.leftOut,
		Lost: []LossCount{}, Paths: []PathCount{},
	}
	for l, n := range g.lost {
		r.Lost = append(r.Lost, LossCount{l, n})
	}
	slices.SortFunc(r.Lost, func(a, b LossCount) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Reason, b.Reason))
	})
	byPath := map[string]uint64{}
	for h, n := range g.paths {
		byPath[h.String()] += n
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		r.Paths = append(r.Paths, PathCount{path, byPath[path]})
	}
	keys := slices.Collect(maps.Keys(g.flows))
	slices.SortFunc(keys, func(a, b key) int { return a.compare(&b) })
	for _, k := range keys {
		r.Flows = append(r.Flows, k.report(g.Flows, g.flows[k]))
	}
	if g.KeepDelays > 0 {
		g.trim()
		r.Deliveries = slices.Clone(g.kept)
	}
	return r
}

func (k *key) report(by FlowKey, f *flow) Flow {
	r := Flow{
		In: k.in, VLAN: k.vlan, Protocol: k.proto, SrcPort: k.sport, DstPort: k.dport, DSCP: k.dscp,
		Frames: f.frames, Bytes: f.bytes, Delivered: f.delivered, ToCPU: f.toCPU, Lost: f.losts, Delay: f.delay.report(),
	}
	address := func(b [16]byte) string {
		a := netip.AddrFrom16(b)
		if k.ip == 4 {
			a = a.Unmap()
		}
		return a.String()
	}
	if k.ip != 0 && by&BySrc != 0 {
		r.Src = address(k.src)
	}
	if k.ip != 0 && by&ByDst != 0 {
		r.Dst = address(k.dst)
	}
	return r
}

func (d *delays) report() Delay {
	r := Delay{Count: d.n, MinPs: d.min, MeanPs: d.mean(), MaxPs: d.max, SumPs: d.sumLo}
	if d.buckets == nil || d.n == 0 {
		return r
	}
	r.P50Ps, r.P99Ps = d.quantile(1, 2), d.quantile(99, 100)
	for i, n := range d.buckets {
		if n > 0 {
			r.Buckets = append(r.Buckets, Bucket{bucketEnd(i), n})
		}
	}
	return r
}
