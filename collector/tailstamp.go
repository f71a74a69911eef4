package collector

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// TailStamp gathers what the tail-stamp records of frames say about their flows.
type TailStamp struct {
	frames, cut, stamped, records int64
	mirrored                      int64 // frames that came as copies in ERSPAN
	reported                      int64 // in reports
	flows                         map[Flow]*flowStamps
	exact                         bool
	room                          budget // of the distributions
	memory                        int64  // of it at the beginning
	most, paths, hops             int    // paths of flows kept apart at most, those that are, and their hops
	beyond                        int64  // frames with records of others
	passed                        []byte // the path of the frame at hand
	odd                           oddities
	// read returns the records of a frame, the hops of IFA that they were read from, if they were, and the frame without
	// what they were found in.
	read func(frame []byte, captured time.Time) (tailstamp.Tail, []ifa.Hop, []byte)
	// reports says that frames may come in reports of a terminator.
	reports bool
}

// oddities count what is behind datagrams besides padding and records at their place.
type oddities struct {
	skipped   int64 // bytes that belong to no record
	skippedIn int64 // frames that have such bytes
	searched  int64 // records that were found by search
	noLength  int64 // frames of IP whose end is not known
}

// add counts what was found in a frame.
func (o *oddities) add(t *tailstamp.Tail) {
	if t.Skipped > 0 {
		o.skippedIn++
		o.skipped += int64(t.Skipped)
	}
	for _, r := range t.Records {
		if r.Flags&tailstamp.Searched != 0 {
			o.searched++
		}
	}
}

// flowStamps is what is known of one flow. A flow whose frames took several routes has several paths.
type flowStamps struct {
	frames      int64 // of all its paths
	beyond      int64 // of those that there was no room for
	first, last time.Time
	paths       map[string]*pathStamps
}

type pathStamps struct {
	frames   int64
	hops     []hopStamps
	delays   []distribution // from departure at hop i-1 to arrival at hop i; of hop 0 nothing
	endToEnd distribution   // empty for one hop, which is the whole
}

type hopStamps struct {
	record                             tailstamp.Record // for its switch and ports
	latency                            distribution
	noEgress, unsynchronised, unusable int64
	clockSet                           int64     // of which no time counts
	searched                           int64     // records that were found by search
	queue                              queueSeen // of IFA
}

// DefaultPaths is how many paths of flows a TailStamp keeps apart unless it is told: some 3 kB each with eight hops,
// besides the distributions, which have a budget.
const DefaultPaths = 1 << 16

// hopsEach is how many hops there is room for on the average of these paths. leastPaths have room always: a packet
// whose TTL falls makes no more hops than theirs, while one that somebody made up may have thousands of records.
const (
	hopsEach   = 8
	leastPaths = 256 / hopsEach
)

// NewTailStamp returns a collector that has seen nothing. It keeps so many paths of flows apart at most (0:
// DefaultPaths), with hopsEach hops on the average: those that it sees first. All distributions of latencies take so
// many bytes of memory together at most (0: DefaultMemory); those that find it spent say so. If exact is true every
// different latency is kept while there is memory, so that all percentiles are exact: some 40 bytes for each.
func NewTailStamp(paths int, memory int64, exact bool) *TailStamp {
	memory = cmp.Or(memory, DefaultMemory)
	return &TailStamp{
		flows: make(map[Flow]*flowStamps), most: cmp.Or(paths, DefaultPaths), exact: exact,
		memory: memory, room: budget{left: memory}, read: stamps,
	}
}

// Add takes in one frame without its frame check sequence, captured at the given time, and returns the
// records that it carries, oldest first. length is its length on the wire; one that is cut lacks its
// end, where records would be. Of a frame that a mirror session sent as ERSPAN the mirrored one counts.
func (c *TailStamp) Add(frame []byte, captured time.Time, length int) []tailstamp.Record {
	c.frames++
	if len(frame) < length {
		c.cut++
		return nil
	}
	if inner, ok := c.unwrap(frame); ok {
		frame = inner
		if tailstamp.Shortened(frame) {
			c.cut++
			return nil
		}
	}
	tail, hops, frame := c.read(frame, captured)
	records := tail.Records
	if len(records) == 0 {
		if tailstamp.EndUnknown(frame) {
			c.odd.noLength++
		}
		return nil
	}
	c.odd.add(&tail)
	c.stamped++
	c.records += int64(len(records))
	key, _ := ParseFlow(frame) // records are found behind IP only
	flow, path := c.find(key, records, captured)
	if flow != nil {
		flow.add(captured)
	}
	if path != nil {
		path.add(records, hops)
		return records
	}
	c.beyond++
	if flow != nil {
		flow.beyond++
	}
	return records
}

// A StampedFrame is a frame with records.
type StampedFrame struct {
	Number  int64 // among those of the capture, or that were read
	Time    time.Time
	Flow    Flow
	Records []tailstamp.Record // oldest first
	Skipped int                // bytes behind the datagram that belong to no record
	hops    []ifa.Hop          // that these were read from, or nil
}

// Residence is departure minus arrival at a hop, in nanoseconds; false: it is not known.
func Residence(r tailstamp.Record) (int64, bool) {
	if clockSet(r) {
		return 0, false
	}
	return difference(ingress(r), egress(r))
}

// LinkDelay is the arrival at a hop minus the departure at the one before it, in nanoseconds, by the clocks of both;
// false: it is not known.
func LinkDelay(before, r tailstamp.Record) (int64, bool) {
	if clockSet(before) || clockSet(r) {
		return 0, false
	}
	return difference(egress(before), ingress(r))
}

// wholeDelay is the departure from the last hop minus the arrival at the first, in nanoseconds; false: it is not known.
func wholeDelay(records []tailstamp.Record) (int64, bool) {
	first, last := records[0], records[len(records)-1]
	if clockSet(first) || clockSet(last) {
		return 0, false
	}
	return difference(ingress(first), egress(last))
}

// clockSet reports whether the times of a record are by two clocks. Then none of them counts: which of the two is right
// is not known.
func clockSet(r tailstamp.Record) bool { return r.Flags&tailstamp.ClockSet != 0 }

// EgressTime is when a frame left a hop; false: it was not taken.
func EgressTime(r tailstamp.Record) (tailstamp.Timestamp, bool) {
	t := egress(r)
	return t, !t.IsZero()
}

// find returns a flow and the path of its that records passed, new ones if need be; nil: there is no room for the path,
// or for both.
func (c *TailStamp) find(key Flow, records []tailstamp.Record, captured time.Time) (*flowStamps, *pathStamps) {
	flow := c.flows[key]
	c.passed = appendPath(c.passed[:0], records)
	if flow != nil {
		if path := flow.paths[string(c.passed)]; path != nil {
			return flow, path
		}
	}
	hops := c.hops + len(records)
	if c.paths == c.most || (hops-1)/hopsEach >= max(c.most, leastPaths) {
		return flow, nil
	}
	c.paths++
	c.hops = hops
	if flow == nil {
		flow = &flowStamps{first: captured, last: captured, paths: make(map[string]*pathStamps)}
		c.flows[key] = flow
	}
	path := newPath(records, distribution{exact: c.exact, room: &c.room})
	flow.paths[string(c.passed)] = path
	return flow, path
}

func (f *flowStamps) add(captured time.Time) {
	f.frames++
	if captured.IsZero() {
		return
	}
	if f.first.IsZero() || captured.Before(f.first) {
		f.first = captured
	}
	if captured.After(f.last) {
		f.last = captured
	}
}

// appendPath appends the names of the switches and ports that records passed.
func appendPath(b []byte, records []tailstamp.Record) []byte {
	for _, r := range records {
		for _, n := range [...]uint64{uint64(r.SwitchID), uint64(r.InPort), uint64(r.OutPort)} {
			b = append(strconv.AppendUint(b, n, 10), ' ')
		}
	}
	return b
}

// newPath is a path with distributions that are as empty as the one given.
func newPath(records []tailstamp.Record, empty distribution) *pathStamps {
	p := &pathStamps{
		hops: make([]hopStamps, len(records)), delays: make([]distribution, len(records)), endToEnd: empty,
	}
	for i, r := range records {
		p.hops[i] = hopStamps{record: r, latency: empty}
		p.delays[i] = empty
	}
	return p
}

func (p *pathStamps) add(records []tailstamp.Record, hops []ifa.Hop) {
	p.frames++
	for i, r := range records {
		hop := &p.hops[i]
		if i < len(hops) {
			hop.queue.add(&hops[i])
		}
		if r.Flags&tailstamp.Unsynchronised != 0 {
			hop.unsynchronised++
		}
		if r.Flags&tailstamp.Searched != 0 {
			hop.searched++
		}
		switch latency, ok := Residence(r); {
		case clockSet(r):
			hop.clockSet++
		case ok:
			hop.latency.add(latency)
		case egress(r).IsZero():
			hop.noEgress++
		default:
			hop.unusable++
		}
		if i > 0 {
			if delay, ok := LinkDelay(records[i-1], r); ok {
				p.delays[i].add(delay)
			}
		}
	}
	if len(records) == 1 {
		return // the whole is the hop
	}
	if whole, ok := wholeDelay(records); ok {
		p.endToEnd.add(whole)
	}
}

func ingress(r tailstamp.Record) tailstamp.Timestamp { return r.Ingress }

// egress is zero when the record says that it was not taken.
func egress(r tailstamp.Record) tailstamp.Timestamp {
	if r.Flags&tailstamp.NoEgress != 0 {
		return tailstamp.Timestamp{}
	}
	return r.Egress
}

// difference returns to-from in nanoseconds, which may be negative. It is false when a timestamp
// was not taken, is not a time of day, or is too far from the other for 64 bits.
func difference(from, to tailstamp.Timestamp) (int64, bool) {
	const most = uint64(1) << 32 // seconds
	if from.IsZero() || to.IsZero() || from.Nanoseconds >= 1e9 || to.Nanoseconds >= 1e9 ||
		max(from.Seconds, to.Seconds)-min(from.Seconds, to.Seconds) > most {
		return 0, false
	}
	return int64(to.Sub(from)), true
}

// Report is what a TailStamp has gathered. Its JSON form is what tamtam decode prints.
type Report struct {
	File    string `json:"file,omitempty"`
	Frames  int64  `json:"frames"`
	Stamped int64  `json:"stamped"` // frames with at least one record
	Records int64  `json:"records"`
	Plain   int64  `json:"without_record"`
	// Missed are frames of a live interface that were lost before they could be read: of them nothing is known.
	Missed uint64 `json:"lost_before_read,omitempty"`
	Cut    int64  `json:"cut"` // by the snap length, or a mirror session, so that records may be missing
	// Mirrored are frames that came as copies in ERSPAN.
	Mirrored int64 `json:"mirrored,omitempty"`
	// Reported are frames that came in reports of a terminator of IFA.
	Reported int64 `json:"reported,omitempty"`
	// NoLength are frames of IP whose length field is 0 or cannot be right: records are not looked for in them.
	NoLength int64 `json:"ip_length_unknown,omitempty"`
	// Skipped are bytes behind datagrams, in SkippedIn frames, that are neither padding nor belong to a record, such as an
	// undeclared FCS. Searched are records that were found by search because of such bytes.
	Skipped   int64 `json:"skipped_bytes,omitempty"`
	SkippedIn int64 `json:"frames_with_skipped_bytes,omitempty"`
	Searched  int64 `json:"records_found_by_search,omitempty"`
	// Beyond are stamped frames of flows, or paths of them, that there was no room for.
	Beyond int64 `json:"beyond,omitempty"`
	// Unranked is how many hops, links and wholes below do not know their percentiles, since Memory was spent.
	Unranked int64        `json:"percentiles_unknown,omitempty"`
	Memory   int64        `json:"memory_bytes"`
	kept     int          // paths
	Flows    []FlowReport `json:"flows"`
	Error    string       `json:"error,omitempty"` // why the file could not be read to its end
}

// FlowReport is one flow of a Report.
type FlowReport struct {
	Flow        Flow   `json:"-"`
	Protocol    string `json:"protocol"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	SourcePort  uint16 `json:"source_port"`
	DestPort    uint16 `json:"destination_port"`
	Later       bool   `json:"later_fragments,omitempty"` // ports unknown
	Frames      int64  `json:"frames"`
	Beyond      int64  `json:"beyond,omitempty"` // frames of paths that there was no room for
	// First and Last are when frames were captured; zero: the capture does not have the times.
	First time.Time    `json:"first,omitzero"`
	Last  time.Time    `json:"last,omitzero"`
	Paths []PathReport `json:"paths"`
}

// PathReport is one path that frames of a flow took: hop 1 first.
type PathReport struct {
	Frames   int64       `json:"frames"`
	Hops     []HopReport `json:"hops"`
	EndToEnd Summary     `json:"end_to_end"` // from arrival at the first hop to departure from the last
}

// HopReport is one switch on a path.
type HopReport struct {
	SwitchID       uint32   `json:"switch_id"`
	InPort         string   `json:"in_port"`
	OutPort        string   `json:"out_port"`
	Latency        Summary  `json:"latency"`                // departure minus arrival
	Delay          *Summary `json:"delay_from_previous"`    // arrival minus departure from the hop before; null at hop 1
	NoEgress       int64    `json:"no_egress_time"`         // frames without a latency, since they went to the CPU
	Unsynchronised int64    `json:"clock_not_synchronised"` // frames whose times this switch does not vouch for
	// ClockSet are frames that were in this switch when its clock was set: of their times here none counts.
	ClockSet int64 `json:"clock_set,omitempty"`
	Unusable int64 `json:"unusable_times,omitempty"`
	Searched int64 `json:"found_by_search,omitempty"` // frames whose record was not at its place
	// Queues are those that hops of IFA name, QueueBytes what was in them as frames came to them; nil: not known.
	Queues     []int        `json:"queues,omitempty"`
	QueueBytes *QueueReport `json:"queue_bytes,omitempty"`
}

// unwrap returns the frame in one that carries it to a collector, and counts it.
func (c *TailStamp) unwrap(frame []byte) ([]byte, bool) {
	inner, ok := Mirrored(frame)
	if ok {
		c.mirrored++
	} else if c.reports {
		if inner, ok = Reported(frame); ok {
			c.reported++
		}
	}
	return inner, ok
}

// Report sums up what was added so far: the flow with most frames first, then by address.
func (c *TailStamp) Report() Report {
	r := Report{Frames: c.frames, Stamped: c.stamped, Records: c.records, Cut: c.cut, Beyond: c.beyond,
		kept: c.paths, Mirrored: c.mirrored, Reported: c.reported,
		NoLength: c.odd.noLength, Skipped: c.odd.skipped, SkippedIn: c.odd.skippedIn, Searched: c.odd.searched,
		Plain: c.frames - c.stamped - c.cut, Memory: c.memory, Flows: []FlowReport{}}
	for key, flow := range c.flows {
		f := flow.report(key)
		for _, p := range f.Paths {
			r.Unranked += p.unranked()
		}
		r.Flows = append(r.Flows, f)
	}
	slices.SortFunc(r.Flows, func(a, b FlowReport) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), a.Flow.compare(b.Flow))
	})
	return r
}

func (f *flowStamps) report(key Flow) FlowReport {
	r := FlowReport{
		Flow: key, Protocol: protocolName(key.Protocol),
		Source: key.Source.String(), Destination: key.Destination.String(),
		SourcePort: key.SourcePort, DestPort: key.DestPort, Later: key.LaterFragment,
		Frames: f.frames, Beyond: f.beyond, First: f.first, Last: f.last,
	}
	keys := make([]string, 0, len(f.paths))
	for k := range f.paths {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.paths[b].frames, f.paths[a].frames), cmp.Compare(a, b))
	})
	for _, k := range keys {
		r.Paths = append(r.Paths, f.paths[k].report())
	}
	return r
}

func (p *pathStamps) report() PathReport {
	r := PathReport{Frames: p.frames, EndToEnd: p.endToEnd.summary()}
	if len(p.hops) == 1 {
		r.EndToEnd = p.hops[0].latency.summary()
	}
	for i := range p.hops {
		hop := &p.hops[i]
		h := HopReport{
			SwitchID: hop.record.SwitchID,
			InPort:   portName(hop.record.InPort, "none"), OutPort: portName(hop.record.OutPort, "CPU"),
			Latency: hop.latency.summary(), NoEgress: hop.noEgress, Unsynchronised: hop.unsynchronised, Unusable: hop.unusable,
			ClockSet: hop.clockSet,
			Searched: hop.searched,
		}
		h.Queues, h.QueueBytes = hop.queue.report()
		if i > 0 {
			delay := p.delays[i].summary()
			h.Delay = &delay
		}
		r.Hops = append(r.Hops, h)
	}
	return r
}

// portName returns EthernetN, or other for a number that stands for no front panel port.
func portName(n uint16, other string) string {
	if n == tailstamp.NoPort {
		return other
	}
	return "Ethernet" + strconv.Itoa(int(n))
}
