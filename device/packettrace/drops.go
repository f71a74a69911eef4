package packettrace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/query"
)

// A DropsRequest selects how drops are counted.
type DropsRequest struct {
	By   string `json:"by,omitempty"`   // reason, port, rule or flow; "" means reason
	Last *int   `json:"last,omitempty"` // how many of the last drops are listed; nil means 10
	// Where is a filter of package query. Then the rows and the last drops are those of the kept drops that it selects.
	Where string `json:"where,omitempty"`
	// Complete is an unfinished filter. Then the answer is how it may continue.
	Complete *string `json:"complete,omitempty"`
}

// A DropsAnswer accounts for drops. By reason and port it contains all drops, as the port counters do. By rule and flow
// it contains only the drops that the chip still keeps.
type DropsAnswer struct {
	By        string `json:"by"`
	Since     string `json:"since"`     // when the chip was made; nothing is known of any chip before it
	Total     uint64 `json:"total"`     // number of drops since then
	Kept      uint64 `json:"kept"`      // the last drops, of which every detail is known
	Forgotten uint64 `json:"forgotten"` // older drops, which no row by rule or flow has
	// Lost counts frames that were lost between an interface and its port, before they reached the chip. The rows do
	// not contain them, but the ports' drop counters do.
	Lost uint64 `json:"lost,omitempty"`
	// Keeps is "drops", or "all" if the chip keeps other packets too. Others counts these packets, like Kept and
	// Forgotten count drops.
	Keeps           string `json:"keeps"`
	OthersKept      uint64 `json:"others-kept"`
	OthersForgotten uint64 `json:"others-forgotten"`
	// Matched counts the kept drops that the filter selects, and Unknown those of which its outcome is unknown, since a
	// value is. They are nil without a filter.
	Matched *uint64   `json:"matched,omitempty"`
	Unknown *uint64   `json:"unknown,omitempty"`
	Rows    []DropRow `json:"rows"`
	Last    []End     `json:"last"` // newest first
}

// A DropRow counts drops with a common name.
type DropRow struct {
	Name    string            `json:"name"`
	Count   uint64            `json:"count"`
	Text    string            `json:"text,omitempty"`
	Reasons map[string]uint64 `json:"reasons,omitempty"`
}

// NoPort is the name of the row by port with the drops at no present port.
const NoPort = "no port that is there now"

// mostRows is the largest number of rows in an answer. Further rows are added up in one.
const mostRows = 1000

// drops answers a JSON request for drops.
func (b *fateReader) drops(ctx context.Context, r *swss.Redis, chip *saisim.Chip, request string) ([]byte, error) {
	var q DropsRequest
	if err := decode(request, &q); err != nil {
		return nil, err
	}
	if q.Complete != nil {
		return json.Marshal(keptDrops.Complete(*q.Complete, nil))
	}
	a, err := b.Drops(ctx, r, chip, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// options returns the request's options, or their defaults.
func (q *DropsRequest) options() (by string, last int, err error) {
	by, last = cmp.Or(q.By, "reason"), or(q.Last, lastEnds)
	if !slices.Contains([]string{"reason", "port", "rule", "flow"}, by) {
		return "", 0, fmt.Errorf("by is %.80q, want reason, port, rule or flow", q.By)
	}
	if last < 0 || last > mostEnds {
		return "", 0, fmt.Errorf("last is %d, want 0 to %d", last, mostEnds)
	}
	return by, last, nil
}

// Drops answers a DropsRequest. r contains the names; nil means that there are none.
func (b *fateReader) Drops(
	ctx context.Context, r *swss.Redis, chip *saisim.Chip, q DropsRequest,
) (*DropsAnswer, error) {
	by, last, err := q.options()
	if err != nil {
		return nil, err
	}
	filter, err := keptDrops.Filter(q.Where)
	if err != nil {
		return nil, err
	}
	a := &DropsAnswer{By: by, Keeps: schema.KeepDrops, Rows: []DropRow{}, Last: []End{}}
	n, err := b.newNames(ctx, r, chip)
	if err != nil {
		return nil, err
	}
	a.Since = n.time(chip, 0)
	var ends []saisim.Kept
	var state saisim.RingState
	rows := sums{of: map[string]*DropRow{}}
	chip.Why(func(v *saisim.WhyView) {
		all, ports := v.Dropped()
		for _, x := range all {
			a.Total += x
		}
		state, a.Lost = v.Drops, v.LostIn()
		a.OthersKept, a.OthersForgotten = v.Ends.Kept-v.Ends.Forgotten, v.Ends.Forgotten
		if v.WatchesAll() {
			a.Keeps = schema.KeepAll
		}
		switch a.By {
		case "reason":
			rows.byReason(all)
		case "port":
			rows.byPort(n, all, ports)
		}
	})
	a.Kept, a.Forgotten = state.Kept-state.Forgotten, state.Forgotten
	of := map[string]func(*saisim.Kept) string{"rule": n.rule, "flow": flowOf}[a.By]
	switch {
	case filter.String() != "":
		rows = sums{of: map[string]*DropRow{}}
		if ends, err = a.selectDrops(ctx, n, chip, filter, state.Kept, &rows, last); err != nil {
			return nil, err
		}
	case of != nil:
		a.Kept = chip.EachDrop(0, state.Kept, func(k *saisim.Kept) bool {
			rows.add(of(k), k.Why, 1)
			return true
		})
		a.Forgotten = state.Kept - a.Kept // the chip may have forgotten some drops since then
	}
	if filter.String() == "" {
		chip.EachDrop(state.Kept-min(state.Kept, uint64(last)), state.Kept, func(k *saisim.Kept) bool {
			ends = append(ends, k.Clone())
			return true
		})
	}
	a.Rows = rows.sorted()
	for _, k := range newest(ends, last) {
		a.Last = append(a.Last, n.end(chip, &k))
	}
	return a, nil
}

// selectDrops adds the kept drops that a filter selects to rows, and returns the last ones of them. It returns an error
// if ctx ends before.
func (a *DropsAnswer) selectDrops(ctx context.Context, n *names, chip *saisim.Chip, filter *query.Filter[keptDrop],
	to uint64, rows *sums, last int,
) (ends []saisim.Kept, err error) {
	var seen uint64
	var matched, unknown uint64
	name := map[string]func(*saisim.Kept) string{
		"rule": n.rule, "flow": flowOf, "reason": func(k *saisim.Kept) string { return k.Why.String() },
		"port": func(k *saisim.Kept) string { return n.port(k.Port) },
	}[a.By]
	a.Kept = chip.EachDrop(0, to, func(k *saisim.Kept) bool {
		if err = tooSlow(ctx, seen, to); err != nil {
			return false
		}
		seen++
		d := n.keptDrop(k)
		switch filter.Match(&d) {
		case query.Unknown:
			unknown++
		case query.Yes:
			matched++
			rows.add(name(k), k.Why, 1)
			if ends = append(ends, k.Clone()); len(ends) > 2*last {
				ends = slices.Delete(ends, 0, len(ends)-last)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	a.Forgotten, a.Matched, a.Unknown = to-a.Kept, &matched, &unknown
	if a.By == "reason" {
		for _, r := range rows.of {
			r.Text = textOfReason(r.Name)
			r.Reasons = nil
		}
	}
	return ends, nil
}

// tooSlow returns the error of a filter that has compared some of the drops when ctx has ended. It looks at ctx before
// the first drop, and then once in 256.
func tooSlow(ctx context.Context, seen, all uint64) error {
	if seen%256 != 0 || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("where: the filter is too slow: %d of %d drops were compared within %v: want one with fewer or "+
		"simpler comparisons", seen, all, answerLimit)
}

// textOfReason returns the text of a reason by its name.
func textOfReason(name string) string {
	for r := range drop.NumReasons {
		if r.String() == name {
			return r.Text()
		}
	}
	return ""
}

func flowOf(k *saisim.Kept) string {
	if f, ok := saisim.FlowOf(k.Data, k.Len); ok {
		return flowText(f)
	}
	return "no IP, or not whole"
}

// sums holds at most mostRows rows by name, and one row for the sum of all further rows.
type sums struct{ of map[string]*DropRow }

func (s *sums) add(name string, why drop.Reason, by uint64) {
	row := s.of[name]
	if row == nil && len(s.of) >= mostRows {
		name = "all others"
		row = s.of[name]
	}
	if row == nil {
		row = &DropRow{Name: name, Reasons: map[string]uint64{}}
		s.of[name] = row
	}
	row.Count += by
	row.Reasons[why.String()] += by
}

func (s *sums) byReason(all [drop.NumReasons]uint64) {
	for why, x := range all {
		if x > 0 {
			w := drop.Reason(why)
			s.of[w.String()] = &DropRow{Name: w.String(), Count: x, Text: w.Text()}
		}
	}
}

// byPort adds the ports' counters, and a row for drops that no existing port has counted.
func (s *sums) byPort(n *names, all [drop.NumReasons]uint64, ports map[saisim.PortID]saisim.PortCounters) {
	for id, c := range ports {
		for why, x := range c.Dropped {
			if x > 0 {
				s.add(n.port(id), drop.Reason(why), x)
				all[why] -= x
			}
		}
	}
	for why, x := range all {
		if x > 0 {
			s.add(NoPort, drop.Reason(why), x)
		}
	}
}

// sorted returns the rows, the largest first.
func (s *sums) sorted() []DropRow {
	rows := []DropRow{}
	for _, r := range s.of {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b DropRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// rule returns the entry that decided a drop, with its kind, or the reason if no entry decided it.
func (n *names) rule(k *saisim.Kept) string {
	at := func(table string) *saisim.Finding {
		for i := range slices.Backward(k.Path) {
			if f := &k.Path[i]; f.Table == table {
				return f
			}
		}
		return nil
	}
	switch k.Why {
	case drop.ACL, drop.EgressACL:
		if e := n.droppers(k); e != "" {
			return e
		}
	case drop.Blackhole, drop.Route, drop.NoRoute, drop.NoNextHop:
		for _, table := range []string{"chip.ipv4_route", "chip.ipv6_route"} {
			if f := at(table); f != nil && f.Hit {
				return "route " + schema.Dest{VRF: n.otherVRF(f.In), Prefix: f.Prefix}.String()
			}
		}
	case drop.Neighbor, drop.NoNeighbor:
		if f := at("chip.next_hop"); f != nil {
			return fmt.Sprintf("neighbour %s at %s", f.Prefix.Addr(), n.rifName(f))
		}
	case drop.FDB:
		if f := at("chip.fdb"); f != nil {
			return fmt.Sprintf("address %s in Vlan%d", f.MAC, f.VLAN)
		}
	case drop.Decap:
		if f := at(saisim.TableTunnel); f != nil {
			return "tunnel to " + f.Prefix.Addr().String()
		}
		if f := at(saisim.TableDecap); f != nil {
			return fmt.Sprintf("header with FlowMonID %d to %s", f.Number, f.Prefix.Addr())
		}
	case drop.Trap:
		if f := at("chip.trap"); f != nil {
			return "trap " + f.Trap.String()
		}
	case drop.Policer:
		if f := at(saisim.TablePolicer); f != nil {
			return "policer " + n.name(f.Entry)
		}
	case drop.PriorityGroup:
		if f := at(saisim.TableGroup); f != nil {
			return fmt.Sprintf("priority group %s:%d with %d cells", n.port(f.Port), f.Queue, f.Number)
		}
	case drop.Buffer, drop.QueueLimit, drop.WRED, drop.TrimQueue:
		return fmt.Sprintf("queue %s:%d", n.port(k.Port), k.Queue)
	}
	return "no entry: " + k.Why.String()
}

// droppers returns the ACL rules that drop a packet.
func (n *names) droppers(k *saisim.Kept) string {
	table := map[bool]string{true: "chip.egress_acl", false: "chip.acl"}[k.Why == drop.EgressACL]
	var all []string
	for i := range k.Path {
		if f := &k.Path[i]; f.Table == table && f.Drop {
			all = append(all, "ACL rule "+n.name(f.Entry))
		}
	}
	return strings.Join(all, ", ")
}

// gone returns the name of a deleted object, if that is remembered, or its id.
func (n *names) gone(id config.ID) string {
	if name, ok := n.was.name(id); ok {
		return name + " (gone)"
	}
	return id.String() + " (gone, or without a name)"
}

// decode parses a JSON request. It rejects unknown fields.
func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("%.80s is %s, want %s", wrong.Field, wrong.Value, wrong.Type)
		}
		return fmt.Errorf("request: %.200s", err) // the error may quote a name of any length
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("request: there is something behind it, want one object")
	}
	return nil
}
