package collector

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// Bounds of what a Records remembers. Anything beyond is still counted, without detail.
const (
	maxRecordGroups = 1 << 16 // distinct records of a plan
	maxRecordFlows  = 1 << 16 // flows of a plan that had drops
	maxUnknownPlans = 256
)

// DefaultPorts is how many ports of arrival and fates a Records counts unless it is told, those of each distinct record
// apart: some 50 bytes each.
const DefaultPorts = 1 << 18

// recordRoom is what there is room for still, of all plans together.
type recordRoom struct {
	ports     int    // ports of arrival and fates of a record that are counted
	latencies budget // bytes of distributions
	memory    int64  // of it at the beginning
}

// counted counts one more of a key, which must be known or have room; false: it has not.
func counted[K comparable](m map[K]int64, key K, room *int) bool {
	if m[key] == 0 {
		if *room == 0 {
			return false
		}
		*room--
	}
	m[key]++
	return true
}

// Records gathers what records of table recording say, for each plan on its own.
// Memory grows, to a bound, with distinct records, their ports, latencies and fates, and flows that had drops; not with
// the packets. What is beyond a bound is counted, and the report says so. Not safe for concurrent use.
type Records struct {
	plans   map[uint32]*planRecords
	order   []uint32 // of the plans, as they were given
	unknown map[uint32]int64
	further int64 // records of more plans than that
	room    *recordRoom
	names   map[string]string // of labels of ACL rules
	frames  int64
	cut     int64
	other   int64
	wrong   int64 // records that do not fit their plan
	// only takes packets of flows whose text has this; leftOut counts the others.
	only    string
	leftOut int64
}

// planRecords are the records of one plan.
type planRecords struct {
	decoder *recordplan.Decoder
	groups  map[recordKey]*recordGroup
	flows   map[dropKey]int64
	kinds   map[kindKey]int64
	known   map[string]bool // paths that are not new
	exact   bool            // all latencies are kept
	// alone says that records are decoded by their bits alone.
	alone   bool
	room    *recordRoom
	packets int64
	// Packets with records, flows or kinds that there was no room for.
	beyondGroups, beyondFlows, beyondKinds int64
}

// A recordGroup is all packets with the same record that ended alike.
type recordGroup struct {
	bits    []byte
	told    recordplan.Told
	answer  recordplan.Answer
	packets int64
	latency distribution
	fates   map[string]int64
	inputs  map[uint16]int64
	// Packets with fates and ports of arrival that there was no room for.
	beyondFates, beyondInputs int64
}

// A dropKey is why packets of a flow were dropped, and where.
type dropKey struct {
	flow   Flow
	isFlow bool
	record recordKey
	trap   string
	port   uint16 // out
	by     string // entries, by its identities
}

// NewRecords returns a collector for records of some plans, whose ids must differ.
func NewRecords(plans ...*record.Plan) (*Records, error) {
	c := &Records{plans: map[uint32]*planRecords{}, unknown: map[uint32]int64{}, room: &recordRoom{}}
	c.Bound(0, 0)
	for _, p := range plans {
		if c.plans[p.ID] != nil {
			continue // the same plan, as its id is a checksum
		}
		d, err := recordplan.NewDecoder(p)
		if err != nil {
			return nil, err
		}
		c.plans[p.ID] = &planRecords{
			decoder: d, groups: map[recordKey]*recordGroup{}, flows: map[dropKey]int64{}, kinds: map[kindKey]int64{},
			known: map[string]bool{}, room: c.room,
		}
		c.order = append(c.order, p.ID)
	}
	if len(c.order) == 0 {
		return nil, fmt.Errorf("no plan: records say nothing without the plan that they follow")
	}
	return c, nil
}

// Only ignores packets of flows whose text, such as "TCP 192.0.2.1:1234 > 192.0.2.2:80", does not
// contain flow.
func (c *Records) Only(flow string) { c.only = flow }

// Bound says how many ports of arrival and fates are counted at most, those of each distinct record apart (0:
// [DefaultPorts]), and how many bytes all distributions of latencies take together (0: [DefaultMemory]). It must be
// called before anything is added.
func (c *Records) Bound(ports int, memory int64) {
	memory = cmp.Or(memory, DefaultMemory)
	*c.room = recordRoom{ports: cmp.Or(ports, DefaultPorts), latencies: budget{left: memory}, memory: memory}
}

// Exact has every different latency kept from now on, so that all percentiles are exact, while there is memory.
func (c *Records) Exact() {
	for _, p := range c.plans {
		p.exact = true
	}
}

// BitsAlone has records decoded by their bits alone from now on, whatever else they tell of their packets: how these
// ended, at which port and queue, by which trap, and what the frame is.
func (c *Records) BitsAlone() {
	for _, p := range c.plans {
		p.alone = true
	}
}

// asked is what the decoder is told of a packet.
func (c *planRecords) asked(told recordplan.Told) recordplan.Told {
	if c.alone {
		return recordplan.Told{}
	}
	return told
}

// Name gives names to labels of ACL rules, by which identities have them.
func (c *Records) Name(labels map[string]string) { c.names = labels }

// Know marks the paths of an earlier report, by the same plans, as not new.
func (c *Records) Know(r *RecordReport) {
	for _, p := range r.Plans {
		if own := c.plans[p.ID]; own != nil {
			for _, path := range p.Paths {
				own.known[path.key] = true
			}
		}
	}
}

// Add takes in a frame without its FCS. length is its length on the wire; the record of one that is
// cut is lost. It is false if the frame has no record of a known plan.
func (c *Records) Add(frame []byte, length int) (DecodedPacket, bool) {
	c.frames++
	if len(frame) < length {
		c.cut++
		return DecodedPacket{}, false
	}
	p, ok := FindRecord(frame)
	if !ok {
		c.other++
		return DecodedPacket{}, false
	}
	return c.add(p)
}

// AddPayload takes in a UDP payload, as read from a socket.
func (c *Records) AddPayload(payload []byte, from netip.Addr) (DecodedPacket, bool) {
	c.frames++
	p, ok := RecordedPacket{Exporter: from, Encapsulation: "udp"}.read(payload)
	if !ok {
		c.other++
		return DecodedPacket{}, false
	}
	return c.add(p)
}

func (c *Records) add(p RecordedPacket) (DecodedPacket, bool) {
	plan := c.plans[p.Plan]
	if plan == nil {
		if _, ok := c.unknown[p.Plan]; ok || len(c.unknown) < maxUnknownPlans {
			c.unknown[p.Plan]++
		} else {
			c.further++
		}
		return DecodedPacket{}, false
	}
	if c.only != "" {
		if flow, ok := p.Flow(); !ok || !strings.Contains(flow.String(), c.only) {
			c.leftOut++
			return DecodedPacket{}, false
		}
	}
	d, ok := c.decode(p, record.NotOf(p.Frame))
	if !ok {
		c.wrong++
		return DecodedPacket{}, false
	}
	plan.add(&d)
	return d, true
}

// decode says what a record says, of a packet that is in none of some classes; false if it does not fit its plan, or
// there is none.
func (c *Records) decode(p RecordedPacket, not record.Classes) (DecodedPacket, bool) {
	plan := c.plans[p.Plan]
	if plan == nil {
		return DecodedPacket{}, false
	}
	told := recordplan.Tell(plan.decoder.Plan().Graph, &p.Record)
	if len(plan.decoder.Plan().Graph.Only) > 0 {
		told.Not = not
	}
	answer, err := plan.decoder.Decode(p.Bits, plan.asked(told))
	if err != nil {
		return DecodedPacket{}, false
	}
	d := DecodedPacket{RecordedPacket: p, Answer: answer, told: told, names: c.names}
	d.Found, _ = p.Known()
	if t, ok := plan.decoder.Plan().Graph.Trap(&p.Record); ok {
		d.trap = t.Name
	}
	return d, true
}

func (c *planRecords) add(p *DecodedPacket) {
	c.packets++
	if p.Why != 0 {
		c.drop(p)
	}
	is := recordKey{string(p.Bits), p.told}
	if k := (kindKey{p.kind(), is}); c.kinds[k] > 0 || len(c.kinds) < maxKinds {
		c.kinds[k]++
	} else {
		c.beyondKinds++
	}
	g := c.groups[is]
	if g == nil {
		if len(c.groups) == maxRecordGroups {
			c.beyondGroups++
			return
		}
		key := pathOf(&p.Answer).key
		p.New, c.known[key] = !c.known[key], true
		g = &recordGroup{
			bits: []byte(is.bits), told: is.told, answer: p.Answer,
			latency: distribution{exact: c.exact, room: &c.room.latencies},
			fates:   map[string]int64{}, inputs: map[uint16]int64{},
		}
		c.groups[is] = g
	}
	g.packets++
	if !counted(g.fates, p.Fate(), &c.room.ports) {
		g.beyondFates++
	}
	if !counted(g.inputs, p.InPort, &c.room.ports) {
		g.beyondInputs++
	}
	if latency, ok := p.Latency(); ok {
		g.latency.add(int64(latency))
	}
}

// drop notes a dropped packet for its flow.
func (c *planRecords) drop(p *DecodedPacket) {
	flow, ok := p.Flow()
	key := dropKey{flow: flow, isFlow: ok, record: recordKey{string(p.Bits), p.told}, trap: p.trap, port: p.OutPort,
		by: p.by(decisive)}
	if _, known := c.flows[key]; !known && len(c.flows) == maxRecordFlows {
		c.beyondFlows++
		return
	}
	c.flows[key]++
}

// sorted lists the groups, those of most packets first.
func (c *planRecords) sorted() []*recordGroup {
	list := make([]*recordGroup, 0, len(c.groups))
	for _, g := range c.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *recordGroup) int {
		return cmp.Or(cmp.Compare(b.packets, a.packets), slices.Compare(a.bits, b.bits),
			cmp.Compare(a.told.End, b.told.End), cmp.Compare(a.told.Not, b.told.Not),
			cmp.Compare(a.told.Trap, b.told.Trap), cmp.Compare(a.told.Met, b.told.Met),
			cmp.Compare(a.told.Outcomes, b.told.Outcomes))
	})
	return list
}
