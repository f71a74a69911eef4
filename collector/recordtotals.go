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

// Limits of the state of a Records. Anything beyond is counted without detail.
const (
	maxRecordGroups = 1 << 16 // maximum number of distinct records of a plan
	maxRecordFlows  = 1 << 16 // maximum number of flows of a plan that had drops
	maxUnknownPlans = 256
)

// DefaultPorts is the default maximum number of counted ingress ports and fates, separately for each distinct record.
// Each needs about 50 bytes.
const DefaultPorts = 1 << 18

// recordRoom is the remaining capacity of all plans together.
type recordRoom struct {
	ports     int    // number of ingress ports and fates of records that can still be counted
	latencies budget // remaining bytes of distributions
	memory    int64  // initial value of latencies in bytes
}

// counted increments the count of a key. It returns false if the key is new and room is exhausted.
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

// Records evaluates records of table recording, separately for each plan. Memory grows, up to a limit, with distinct
// records, their ports, latencies and fates, and flows that had drops. It does not grow with packets. Data beyond a
// limit are counted and reported. It is not safe for concurrent use.
type Records struct {
	plans   map[uint32]*planRecords
	order   []uint32 // plan ids in the given order
	unknown map[uint32]int64
	further int64 // number of records of further unknown plans
	room    *recordRoom
	names   map[string]string // names of ACL rules by label
	frames  int64
	cut     int64
	other   int64
	wrong   int64 // number of records that do not fit their plan
	// only is a text that the flows of evaluated packets contain. leftOut counts the packets of other flows.
	only    string
	leftOut int64
}

// planRecords holds the records of one plan.
type planRecords struct {
	decoder *recordplan.Decoder
	groups  map[recordKey]*recordGroup
	flows   map[dropKey]int64
	kinds   map[kindKey]int64
	known   map[string]bool // paths that do not count as new
	exact   bool            // true to keep all latencies
	// alone means that decoding uses only the bits of records.
	alone   bool
	room    *recordRoom
	packets int64
	// Packets whose records, flows or kinds exceeded the limits.
	beyondGroups, beyondFlows, beyondKinds int64
}

// A recordGroup is all packets with the same record and the same further knowledge.
type recordGroup struct {
	bits     []byte
	reported recordplan.Knowledge
	answer   recordplan.Answer
	packets  int64
	latency  distribution
	fates    map[string]int64
	inputs   map[uint16]int64
	// Packets whose fates and ingress ports exceeded the limits.
	beyondFates, beyondInputs int64
}

// A dropKey is the reason and place of a flow's drops.
type dropKey struct {
	flow   Flow
	isFlow bool
	record recordKey
	trap   string
	port   uint16 // egress port
	by     string // entries that the packet hit, by its identities
}

// NewRecords returns a Records for some plans. Duplicate ids are ignored.
func NewRecords(plans ...*record.Plan) (*Records, error) {
	c := &Records{plans: map[uint32]*planRecords{}, unknown: map[uint32]int64{}, room: &recordRoom{}}
	c.Bound(0, 0)
	for _, p := range plans {
		if c.plans[p.ID] != nil {
			continue // the plan is the same, because its id is a checksum
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
		return nil, fmt.Errorf("no plan: records cannot be decoded without the plan that they follow")
	}
	return c, nil
}

// Only ignores packets of flows whose text, such as "TCP 192.0.2.1:1234 > 192.0.2.2:80", does not contain flow.
func (c *Records) Only(flow string) { c.only = flow }

// Bound sets the maximum number of counted ingress ports and fates, separately for each distinct record, and the
// maximum bytes of all latency distributions. Zero means [DefaultPorts] and [DefaultMemory]. It must be called before
// anything is added.
func (c *Records) Bound(ports int, memory int64) {
	memory = cmp.Or(memory, DefaultMemory)
	*c.room = recordRoom{ports: cmp.Or(ports, DefaultPorts), latencies: budget{left: memory}, memory: memory}
}

// Exact keeps every distinct latency from now on, while memory allows, so that all percentiles are exact.
func (c *Records) Exact() {
	for _, p := range c.plans {
		p.exact = true
	}
}

// BitsAlone makes decoding use only the bits of records from now on. It ignores their further knowledge about packets:
// the end, port and queue, the trap, and the frame.
func (c *Records) BitsAlone() {
	for _, p := range c.plans {
		p.alone = true
	}
}

// asked returns the knowledge that is passed to the decoder.
func (c *planRecords) asked(knowledge recordplan.Knowledge) recordplan.Knowledge {
	if c.alone {
		return recordplan.Knowledge{}
	}
	return knowledge
}

// Name sets the names of ACL rules. labels maps the label in an identity to the rule's name.
func (c *Records) Name(labels map[string]string) { c.names = labels }

// Know marks the paths of an earlier report with the same plans as not new.
func (c *Records) Know(r *RecordReport) {
	for _, p := range r.Plans {
		if own := c.plans[p.ID]; own != nil {
			for _, path := range p.Paths {
				own.known[path.key] = true
			}
		}
	}
}

// Add adds a frame without its FCS. length is its length on the wire. The record of a truncated frame is lost. Add
// returns false if the frame has no record of a known plan.
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

// AddPayload adds a UDP payload, as read from a socket.
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

// decode decodes a record, of a packet that has none of the classes in not. It returns false if the record does not fit
// its plan, or has no plan.
func (c *Records) decode(p RecordedPacket, not record.Classes) (DecodedPacket, bool) {
	plan := c.plans[p.Plan]
	if plan == nil {
		return DecodedPacket{}, false
	}
	knowledge := recordplan.KnowledgeOf(plan.decoder.Plan().Graph, &p.Record)
	if len(plan.decoder.Plan().Graph.Only) > 0 {
		knowledge.Not = not
	}
	answer, err := plan.decoder.Decode(p.Bits, plan.asked(knowledge))
	if err != nil {
		return DecodedPacket{}, false
	}
	d := DecodedPacket{RecordedPacket: p, Answer: answer, reported: knowledge, names: c.names}
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
	is := recordKey{string(p.Bits), p.reported}
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
			bits: []byte(is.bits), reported: is.reported, answer: p.Answer,
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

// drop counts a dropped packet for its flow.
func (c *planRecords) drop(p *DecodedPacket) {
	flow, ok := p.Flow()
	key := dropKey{flow: flow, isFlow: ok, record: recordKey{string(p.Bits), p.reported}, trap: p.trap, port: p.OutPort,
		by: p.by(decisive)}
	if _, known := c.flows[key]; !known && len(c.flows) == maxRecordFlows {
		c.beyondFlows++
		return
	}
	c.flows[key]++
}

// sorted returns the groups, those with most packets first.
func (c *planRecords) sorted() []*recordGroup {
	list := make([]*recordGroup, 0, len(c.groups))
	for _, g := range c.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *recordGroup) int {
		return cmp.Or(cmp.Compare(b.packets, a.packets), slices.Compare(a.bits, b.bits),
			cmp.Compare(a.reported.End, b.reported.End), cmp.Compare(a.reported.Not, b.reported.Not),
			cmp.Compare(a.reported.Trap, b.reported.Trap), cmp.Compare(a.reported.Met, b.reported.Met),
			cmp.Compare(a.reported.Outcomes, b.reported.Outcomes))
	})
	return list
}
