package packettrace

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/swss"
)

// Limits of queries. A flow is watched for watchFor after a request. An answer contains the last lastEnds packets by
// default, and at most mostEnds.
const (
	watchFor  = 10 * time.Minute
	lastEnds  = 10
	mostEnds  = 1000
	mostKnown = 100_000 // largest number of names that are remembered
)

// A FlowRequest selects a flow.
type FlowRequest struct {
	Src      string  `json:"src"`
	Dst      string  `json:"dst"`
	Protocol string  `json:"protocol,omitempty"` // nil or "" means any
	SrcPort  *uint16 `json:"src-port,omitempty"` // nil means any
	DstPort  *uint16 `json:"dst-port,omitempty"` // nil means any
	Last     *int    `json:"last,omitempty"`     // number of packets to list
}

// A FlowAnswer describes the fates of a flow's packets.
type FlowAnswer struct {
	Flow string `json:"flow"`
	// DropsSince is the time since which all drops of the flow are known.
	DropsSince    string `json:"drops-since"`
	DropsComplete bool   `json:"drops-complete"` // no drop was forgotten since the switch started
	WatchedSince  string `json:"watched-since"`  // time from which packets are known that were not dropped
	EndsComplete  bool   `json:"ends-complete"`  // none of those was forgotten
	// Unclear counts further packets with these addresses, but with headers longer than the kept part of the frame.
	// So it is unknown whether they have the requested protocol and ports.
	Unclear int `json:"unclear,omitempty"`
	// Damaged counts further packets with an invalid IP header (checksum or length), and other addresses or none.
	// They may belong to any flow.
	Damaged int        `json:"damaged,omitempty"`
	Fates   []FlowFate `json:"fates"`
	Packets []End      `json:"packets"` // the last packets, newest first
}

// A FlowFate counts the packets of a flow with the same fate.
type FlowFate struct {
	Fate    string `json:"fate"`
	Out     string `json:"out,omitempty"`
	Count   int    `json:"count"`
	AtLeast bool   `json:"at-least"` // others may have been forgotten
	First   string `json:"first"`
	Last    string `json:"last"`
	at      saisim.Cycle
}

// An End describes how a packet, or a copy of it, ended.
type End struct {
	Time    string   `json:"time"`
	Cycle   uint64   `json:"cycle"`
	In      string   `json:"in"`
	Fate    string   `json:"fate"` // sent, to-cpu or dropped
	Why     string   `json:"why,omitempty"`
	Text    string   `json:"text,omitempty"` // the reason as a sentence
	Out     string   `json:"out,omitempty"`
	Queue   *uint8   `json:"queue,omitempty"`
	Depth   *uint32  `json:"depth,omitempty"` // bytes in the queue before it
	Wait    *uint64  `json:"wait,omitempty"`  // ns from the queue to its end
	Bytes   int      `json:"bytes"`
	Copy    uint32   `json:"copy"`
	Mirror  bool     `json:"mirror,omitempty"`
	Flow    string   `json:"flow,omitempty"`
	Rule    string   `json:"rule,omitempty"` // the entry that decided a drop
	Frame   string   `json:"frame"`          // its first bytes
	Lookups []Lookup `json:"lookups"`
	Unknown []string `json:"unknown,omitempty"` // the unknown parts of its lookups
	Bursts  []Burst  `json:"bursts,omitempty"`  // bursts of its queue while it waited there
}

// A fateReader answers requests about the fates of packets, also several at a time. It remembers the names of deleted
// entries.
type fateReader struct {
	mu    sync.Mutex
	names map[config.ID]string
}

// name returns the remembered name of an object; ok is false if there is none.
func (b *fateReader) name(id config.ID) (name string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, ok = b.names[id]
	return name, ok
}

// remember adds names of objects.
func (b *fateReader) remember(names map[config.ID]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.names) > mostKnown {
		clear(b.names)
	}
	maps.Copy(b.names, names)
}

func (q *FlowRequest) flow() (f saisim.Flow, last int, err error) {
	asked := Request{Src: q.Src, Dst: q.Dst, Protocol: q.Protocol, SrcPort: q.SrcPort, DstPort: q.DstPort}
	src, dst, err := asked.addresses()
	if err != nil {
		return f, 0, fmt.Errorf("%s", strings.TrimSuffix(err.Error(), ", or the whole packet as frame"))
	}
	f = saisim.Flow{Src: src, Dst: dst, SrcPort: q.SrcPort, DstPort: q.DstPort}
	if q.Protocol != "" {
		p, err := asked.protocol(dst.Is4())
		if err != nil {
			return f, 0, err
		}
		// the protocols whose ports the chip's parser reads
		const want = "tcp, udp, 33 (DCCP), 132 (SCTP) or 136 (UDP-Lite)"
		if err := asked.portsFit(p, want, protoTCP, protoUDP, 33, 132, 136); err != nil {
			return f, 0, err
		}
		f.Proto = &p
	}
	if last = or(q.Last, lastEnds); last < 1 || last > mostEnds {
		return f, 0, fmt.Errorf("last is %d, want 1 to %d", last, mostEnds)
	}
	return f, last, nil
}

// whyFlow answers a JSON request for a flow's packets, and makes the chip watch them from now on.
func (b *fateReader) whyFlow(ctx context.Context, r *swss.Redis, chip *saisim.Chip, request string) ([]byte, error) {
	var q FlowRequest
	if err := decode(request, &q); err != nil {
		return nil, err
	}
	a, err := b.Flow(ctx, r, chip, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// Flow answers a FlowRequest. r contains the names; nil means that there are none.
func (b *fateReader) Flow(ctx context.Context, r *swss.Redis, chip *saisim.Chip, q FlowRequest) (*FlowAnswer, error) {
	f, last, err := q.flow()
	if err != nil {
		return nil, err
	}
	a := &FlowAnswer{Flow: flowText(f), Fates: []FlowFate{}, Packets: []End{}}
	var ends []saisim.Kept
	var since, oldest saisim.Cycle
	var state [2]saisim.RingState
	var count tally
	chip.Why(func(v *saisim.WhyView) {
		state = [2]saisim.RingState{v.Drops, v.Ends}
		since, err = v.WatchFlow(&f, chip.CycleAt(watchFor))
	})
	if err != nil {
		return nil, err
	}
	accept := func(k *saisim.Kept) bool {
		if k.Mirror {
			return true
		}
		if f.May(k.Data, k.Len) {
			a.Unclear++
		}
		if f.Has(k.Data, k.Len) {
			count.add(k)
			ends = append(ends, k.Clone())
			if len(ends) >= 4*mostEnds {
				ends = newest(ends, last)
			}
		} else if f.Damaged(k.Data, k.Len) {
			a.Damaged++
		}
		return true
	}
	first := true
	drops := chip.EachDrop(0, state[0].Kept, func(k *saisim.Kept) bool {
		if first {
			oldest, first = k.At, false
		}
		return accept(k)
	})
	ends = newest(ends, last)
	others := chip.EachEnd(0, state[1].Kept, accept)
	n, err := b.newNames(ctx, r, chip)
	if err != nil {
		return nil, err
	}
	a.DropsComplete, a.EndsComplete = drops == state[0].Kept, others == state[1].Kept
	if a.DropsComplete {
		oldest = 0
	}
	a.DropsSince, a.WatchedSince = n.time(chip, oldest), n.time(chip, since)
	a.report(n, chip, count, since)
	bursts := chip.Bursts(0, saisim.MaxBursts)
	for _, k := range newest(ends, last) {
		e := n.end(chip, &k)
		e.Bursts = n.burstsOf(chip, &k, &bursts)
		a.Packets = append(a.Packets, e)
	}
	return a, nil
}

// report adds the counted fates to the answer. Packets that were not dropped are known only since cycle since.
func (a *FlowAnswer) report(n *names, chip *saisim.Chip, count tally, since saisim.Cycle) {
	for _, x := range count.all {
		fate := FlowFate{Fate: x.what, Count: x.n, First: n.time(chip, x.first), Last: n.time(chip, x.last), at: x.last}
		if x.what != fateCPU && x.port != saisim.CPUPort {
			fate.Out = n.port(x.port)
		}
		fate.AtLeast = !a.EndsComplete || x.first < since // the flow was watched before, but with a gap
		if strings.HasPrefix(x.what, fateDropped) {
			fate.AtLeast = !a.DropsComplete
		}
		fate.AtLeast = fate.AtLeast || a.Unclear > 0 || a.Damaged > 0
		a.Fates = append(a.Fates, fate)
	}
}

// newest returns at most last of the newest ends, sorted from newest to oldest.
func newest(ends []saisim.Kept, last int) []saisim.Kept {
	slices.SortStableFunc(ends, func(a, b saisim.Kept) int {
		switch {
		case a.At != b.At:
			return map[bool]int{true: -1, false: 1}[a.At > b.At]
		case a.Number != b.Number:
			return map[bool]int{true: -1, false: 1}[a.Number > b.Number]
		}
		return int(b.Copy) - int(a.Copy)
	})
	return ends[:min(last, len(ends))]
}

// A tally counts ends by fate and port.
type tally struct{ all []*tallied }

type tallied struct {
	what        string
	port        saisim.PortID
	n           int
	first, last saisim.Cycle
}

func (t *tally) add(k *saisim.Kept) {
	what, port := fateOf(k), k.Port
	for _, x := range t.all {
		if x.what == what && x.port == port {
			x.n++
			x.first, x.last = min(x.first, k.At), max(x.last, k.At)
			return
		}
	}
	t.all = append(t.all, &tallied{what, port, 1, k.At, k.At})
}

// fateOf returns the fate of an end as a short text.
func fateOf(k *saisim.Kept) string {
	switch k.What {
	case saisim.MomentSent:
		return fateSent
	case saisim.MomentPunted:
		if k.Punted {
			return fateCPU + " only: " + k.Why.String()
		}
		return fateCPU
	}
	return fateDropped + ": " + k.Why.String()
}

// newNames returns the current names, and the remembered names of deleted objects.
func (b *fateReader) newNames(ctx context.Context, r *swss.Redis, chip *saisim.Chip) (*names, error) {
	tables := chip.Tables(config.PortTable, config.LAGTable, config.VLANTable, config.BridgePortTable,
		config.InterfaceTable, config.ACLEntryTable)
	n, err := newNames(ctx, r, tables, chip.PortName)
	if err != nil {
		return nil, err
	}
	n.was = b
	b.remember(n.of)
	return n, nil
}

func (n *names) time(chip *saisim.Chip, at saisim.Cycle) string {
	return chip.TimeOfDay(at).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// end returns the text form of an end.
func (n *names) end(chip *saisim.Chip, k *saisim.Kept) End {
	e := End{
		Time: n.time(chip, k.At), Cycle: uint64(k.At), In: n.port(k.In), Bytes: k.Len, Copy: k.Copy, Mirror: k.Mirror,
		Fate: fateDropped, Frame: hex.EncodeToString(k.Data), Lookups: []Lookup{},
	}
	switch k.What {
	case saisim.MomentSent:
		e.Fate = fateSent
	case saisim.MomentPunted:
		e.Fate = fateCPU
	}
	if k.What == saisim.MomentDropped || k.Punted {
		e.Why, e.Text = k.Why.String(), k.Why.Text()
	}
	if k.Port != saisim.CPUPort {
		e.Out = n.port(k.Port)
	}
	if k.Queued {
		e.Queue, e.Depth = &k.Queue, &k.Depth
		wait := uint64(chip.TimeOfDay(k.At).Sub(chip.TimeOfDay(k.QueuedAt)))
		e.Wait = &wait
	}
	if f, ok := saisim.FlowOf(k.Data, k.Len); ok {
		e.Flow = flowText(f)
	}
	e.Lookups = append(e.Lookups, n.lookups(k.Path)...)
	if k.What == saisim.MomentDropped {
		e.Rule = n.rule(k)
	}
	for _, x := range []struct {
		is   saisim.Unkept
		text string
	}{
		{saisim.UnkeptProgram, "which entries of some tables of the program it has met"},
		{saisim.UnkeptEgress, "what it has met in the tables of the egress pipe"},
		{saisim.UnkeptMore, "what it has met beyond these"},
		{saisim.UnkeptEntry, "which bridge port its source was at"},
	} {
		if k.Unkept&x.is != 0 {
			e.Unknown = append(e.Unknown, x.text)
		}
	}
	return e
}

// flowText returns a flow as text.
func flowText(f saisim.Flow) string {
	at := func(a netip.Addr, port *uint16) string {
		if port == nil {
			return a.String()
		}
		return netip.AddrPortFrom(a, *port).String()
	}
	text := at(f.Src, f.SrcPort) + " > " + at(f.Dst, f.DstPort)
	if f.Proto == nil {
		return text
	}
	switch *f.Proto {
	case protoTCP:
		return text + " tcp"
	case protoUDP:
		return text + " udp"
	case protoICMP, protoICMPv6:
		return text + " icmp"
	}
	return fmt.Sprintf("%s protocol %d", text, *f.Proto)
}
